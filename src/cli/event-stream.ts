/**
 * NAME      event-stream - the stream of the API, as a client
 * DESCRIPTION
 *   Goes on after the last event that was handled, however often it is cut off, and
 *   says so each time. What another try can not mend ends it: a key that is not
 *   good, a wrong filter.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../base/fault.js'
import { type ApiCall, openCall, readAnswer } from './api.js'
import { Refusal } from './exit.js'

export interface Told {
  readonly id: string
  readonly type: string
  readonly data: string
}

interface Listening {
  readonly base: string
  readonly call: Omit<ApiCall, 'method' | 'body'>
  readonly signal: AbortSignal
  readonly tell: (told: Told) => Promise<void>
  readonly say: (text: string) => void
}

const FIRST_WAIT_MS = 2_000
const MOST_LINE = 1024 ** 2

/** Blocks as they come (HTML standard, section 9.2.6). */
async function* blocksOf(answer: IncomingMessage): AsyncGenerator<Readonly<Record<string, string>>> {
  let rest = ''
  let fields: Record<string, string> = {}
  answer.setEncoding('utf8')
  for await (const text of answer) {
    const lines = (rest + text).split(/\r?\n/)
    rest = lines.pop() ?? ''
    if (rest.length > MOST_LINE) throw new Refusal(69, 'the server does not speak server-sent events')
    for (const line of lines) {
      if (line === '') {
        yield fields
        fields = {}
        continue
      }
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (name !== '') fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`
    }
  }
}

const isFinal = (error: unknown): boolean => error instanceof Fault && !error.row.retryable

/** Runs until the signal; rejects with what another try can not mend. */
export const listenTo = async ({ base, call, signal, tell, say }: Listening): Promise<void> => {
  const place = { mark: null as string | null, waitMs: FIRST_WAIT_MS }
  const hear = async (): Promise<void> => {
    const last: Record<string, string> = place.mark === null ? {} : { 'last-event-id': place.mark }
    const headers = { ...call.headers, ...last }
    const answer = await openCall(new URL(`${base}${call.path}`), { ...call, headers, method: 'GET' }, null)
    const stop = (): void => void answer.destroy()
    signal.addEventListener('abort', stop, { once: true })
    try {
      if (answer.statusCode !== 200) await readAnswer(base, answer)
      say(place.mark === null ? 'listening; ^C ends' : 'connected again; going on where it was')
      for await (const { id, event, data, retry } of blocksOf(answer)) {
        if (retry !== undefined) place.waitMs = Number(retry) || FIRST_WAIT_MS
        if (data !== undefined) await tell({ id: id ?? '', type: event ?? '', data })
        place.mark = id ?? place.mark
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
  while (!signal.aborted) {
    const why = await hear().then(
      () => 'the server has ended the stream',
      (error: Error) => {
        if (isFinal(error)) throw error
        return error.message
      },
    )
    if (signal.aborted) return
    say(`cut off: ${why}; trying again in ${Math.ceil(place.waitMs / 1000)} s`)
    await sleep(place.waitMs, undefined, { signal }).catch(() => {})
  }
}
