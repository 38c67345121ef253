/**
 * NAME      window - the newest part of the log, read once for all streams
 * DESCRIPTION
 *   Holds the last records that were read, the newest 8 MiB of them written out, and the
 *   marks between them. Who stands at one of these marks takes from here what comes
 *   next; streams with one filter at one place get the very same bytes. Who stands
 *   nowhere in here must read for himself.
 */
import type { MarkCodec } from '../../record/mark.js'
import type { Followed, LogFilter, LogRow } from '../../store/port/log.js'
import { eventBlock, Merged } from './frame.js'
import { matcherOf } from './matches.js'

/** What one stream wants to see; streams with equal keys want the same. */
export interface View {
  readonly key: string
  readonly filter: LogFilter
  readonly wants: (row: LogRow) => boolean
  /** Milliseconds between merged events; null: each event by itself. */
  readonly merge: number | null
}

export const viewOf = (filter: LogFilter, merge: number | null): View => ({
  key: JSON.stringify([filter, merge]),
  filter,
  wants: matcherOf(filter),
  merge,
})

/** Bytes for a client, null when there is nothing it wants, and the mark behind them. */
export interface Taken {
  readonly chunk: Buffer | null
  readonly mark: string
}

interface Entry {
  /** null: a mark with no record of its own. */
  readonly row: LogRow | null
  readonly mark: string
  text: string | null
}

/** A stream holds no more than this, and the one event that passes it. */
const MOST_BYTES = 32_768
const MOST_ENTRIES = 4_000
/** What is written out is kept up to here, the newest; who comes later has it written again. */
const MOST_TEXT = 8 * 1024 ** 2

export class Window {
  readonly #marks: MarkCodec
  #entries: Entry[] = []
  /** How many entries have left. */
  #gone = 0
  readonly #places = new Map<string, number>()
  readonly #taken = new Map<string, Taken>()
  /** Entries whose text is kept, and its length. */
  readonly #written = new Set<Entry>()
  #length = 0

  constructor(marks: MarkCodec) {
    this.#marks = marks
  }

  /** The mark behind all that is here. */
  get mark(): string {
    return this.#entries.at(-1)?.mark ?? ''
  }

  /** Empties it, and begins at a mark. */
  reset(mark: string): void {
    this.#gone += this.#entries.length
    this.#entries = []
    this.#places.clear()
    for (const entry of this.#written) this.#forget(entry)
    this.#push({ row: null, mark, text: null })
  }

  #push(entry: Entry): void {
    this.#taken.clear()
    this.#entries.push(entry)
    this.#places.set(entry.mark, this.#gone + this.#entries.length)
  }

  /** What follows the mark of this window. */
  add({ rows, mark }: Followed): void {
    for (const row of rows) this.#push({ row, mark: row.mark, text: null })
    if (mark !== this.mark) this.#push({ row: null, mark, text: null })
    const over = this.#entries.length - MOST_ENTRIES
    if (over <= 0) return
    for (const entry of this.#entries.splice(0, over)) {
      this.#places.delete(entry.mark)
      this.#forget(entry)
    }
    this.#gone += over
  }

  has(mark: string): boolean {
    return this.#places.has(mark)
  }

  /** What comes after a mark that is here, as far as one chunk goes. */
  take(view: View, mark: string): Taken {
    const key = `${mark} ${view.key}`
    const known = this.#taken.get(key)
    if (known) return known
    const from = (this.#places.get(mark) ?? Number.POSITIVE_INFINITY) - this.#gone
    const taken = view.merge === null ? this.#blocks(view, from) : this.#merged(view, from)
    this.#taken.set(key, taken)
    return taken
  }

  #write(entry: Entry, row: LogRow): string {
    const text = eventBlock(this.#marks, row)
    entry.text = text
    this.#written.add(entry)
    this.#length += text.length
    for (const first of this.#written) {
      if (this.#length <= MOST_TEXT) break
      this.#forget(first)
    }
    return text
  }

  #forget(entry: Entry): void {
    if (this.#written.delete(entry)) this.#length -= entry.text?.length ?? 0
    entry.text = null
  }

  #blocks({ wants }: View, from: number): Taken {
    let text = ''
    let at = from
    for (; at < this.#entries.length && text.length < MOST_BYTES; at++) {
      const entry = this.#entries[at]
      if (!entry?.row || !wants(entry.row)) continue
      text += entry.text ?? this.#write(entry, entry.row)
    }
    return { chunk: text === '' ? null : Buffer.from(text), mark: this.#entries[at - 1]?.mark ?? this.mark }
  }

  #merged({ wants, filter }: View, from: number): Taken {
    const merged = new Merged()
    for (const { row } of this.#entries.slice(from)) if (row && wants(row)) merged.add(row)
    const text = merged.isEmpty ? null : merged.text(this.#marks.write(this.mark, filter.accountId))
    return { chunk: text === null ? null : Buffer.from(text), mark: this.mark }
  }
}
