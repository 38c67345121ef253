/**
 * NAME      frame - the blocks of a stream of server-sent events
 * DESCRIPTION
 *   As the HTML standard has them (section 9.2): fields, each on a line, and an empty
 *   line. A block without data moves the client's last id and tells nothing, so a
 *   beat brings a filtered stream on. JSON has no line ends of its own.
 */
import { loggedEvent } from '../../record/event.js'
import type { MarkCodec } from '../../record/mark.js'
import type { LogRow } from '../../store/port/log.js'

/** Milliseconds after which a client comes back. */
const RETRY_MS = 2_000

const block = (id: string, type: string, data: unknown): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`

export const eventBlock = (marks: MarkCodec, row: LogRow): string =>
  block(marks.write(row.mark, row.accountId), row.type, loggedEvent(row))

/** The first of every stream: who loses it before an event came goes on from here all the same. */
export const opening = (id: string): string => `retry: ${RETRY_MS}\nid: ${id}\n\n`

export const beat = (id: string): string => `:\nid: ${id}\n\n`

/** The last one, when the server goes: clients come back one by one. */
export const parting = (): string => `retry: ${RETRY_MS + Math.floor(Math.random() * RETRY_MS)}\n\n`

/** What lay between a mark and the oldest one is not told any more. */
export const gap = (after: string, oldest: string): string =>
  block(oldest, 'log.gap', { object: 'log_gap', type: 'log.gap', after, oldest })

/** No more mails than fit on a screen. */
const LAST = 20

/** Many events as one: how many of each type, and the newest event of each of the last mails. */
export class Merged {
  #count = 0
  readonly #types = new Map<string, number>()
  readonly #last = new Map<string, LogRow>()

  add(row: LogRow): void {
    this.#count++
    this.#types.set(row.type, (this.#types.get(row.type) ?? 0) + 1)
    const about = row.emailId ?? row.id
    // what was told last stands last
    this.#last.delete(about)
    this.#last.set(about, row)
    if (this.#last.size > LAST) this.#last.delete(this.#last.keys().next().value ?? '')
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  text(id: string): string {
    return block(id, 'log.merged', {
      object: 'log_merged',
      type: 'log.merged',
      count: this.#count,
      types: Object.fromEntries(this.#types),
      last: [...this.#last.values()].reverse().map(loggedEvent),
    })
  }
}
