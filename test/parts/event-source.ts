/**
 * A client of server-sent events, reading as the HTML standard has it (section
 * 9.2.6), on a socket of its own so that a test can also stop reading.
 */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { eventually } from './eventually.js'

export interface Heard {
  readonly id: string
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is told
  readonly data: any
}

export class EventSource {
  readonly answer: IncomingMessage
  readonly events: Heard[] = []
  /** Values of `retry`, and how many comments came. */
  readonly retries: number[] = []
  comments = 0
  lastId = ''
  /** True once the server has ended it, false when it was cut. */
  isComplete: boolean | null = null
  readonly #outgoing: ClientRequest

  constructor(outgoing: ClientRequest, answer: IncomingMessage) {
    this.#outgoing = outgoing
    this.answer = answer
    let rest = ''
    let fields: Record<string, string[]> = {}
    answer.setEncoding('utf8')
    answer.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') {
          this.#dispatch(fields)
          fields = {}
        } else if (line.startsWith(':')) this.comments++
        else {
          const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
          fields[name] = [...(fields[name] ?? []), value]
        }
      }
    })
    answer.on('close', () => {
      this.isComplete = answer.complete
    })
    answer.on('error', () => {})
  }

  #dispatch({ id, event, data, retry }: Record<string, string[]>): void {
    if (retry) this.retries.push(Number(retry[0]))
    if (id) this.lastId = id[0] ?? ''
    if (!data) return
    this.events.push({ id: this.lastId, type: event?.[0] ?? 'message', data: JSON.parse(data.join('\n')) })
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type)
  }

  /** Waits until so many events have come. */
  async heard(count: number): Promise<readonly Heard[]> {
    const seen = () => this.types
    await eventually(`${count} events`, () => this.events.length >= count, { seen })
    return this.events
  }

  /** Whether the server has ended it, or it was cut. */
  ended(): Promise<boolean> {
    // not events.once: that rejects when it is cut
    const closed = new Promise<void>((resolve) => {
      this.answer.once('close', () => resolve())
    })
    return (this.isComplete === null ? closed : Promise.resolve()).then(() => this.isComplete === true)
  }

  close(): void {
    this.#outgoing.destroy()
  }
}

export type Headers = Readonly<Record<string, string>>

/** The stream, or the answer that is none. */
export const listen = async (url: string, key: string, headers: Headers = {}): Promise<EventSource> => {
  const outgoing = request(url, { headers: { authorization: `Bearer ${key}`, ...headers }, agent: false })
  outgoing.end()
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  outgoing.on('error', () => {})
  return new EventSource(outgoing, answer)
}
