/**
 * NAME      suppressions - what a file says of addresses, counted and then stored
 *   A file is read twice: first to count what stands in it, so that a person sees that before anything is done, then to
 *   store it in pieces. Whatever its size, no more than a piece of it is in memory.
 */
import { createHash } from 'node:crypto'
import { maskText } from '../../base/text.js'
import { entryOf } from '../../lifecycle/suppress.js'
import type { SuppressionRow } from '../../store/port/tenants.js'
import {
  ENTRY_FORM,
  type ListPlace,
  listedAddress,
  suppressionRow,
  wrongList,
} from '../../tenant/suppression.js'
import { badInput } from '../exit.js'
import { readInstant } from '../table.js'
import { type ImportEntry, ReadAgain, Reading, type WantedList } from './entries.js'
import type { ImportFile } from './file.js'
import { type ToldAddress, timeIn } from './providers.js'

const MOST_ROWS = 5_000_000
/** The words of a provider, in octets. */
const MOST_WORDS = 1024
/** Of those that are not understood. */
const MOST_TOLD = 10
/** What provider there was before does not say otherwise. */
const BEGINNING = Date.UTC(2000, 0, 1)

interface Skipped {
  readonly file: string
  readonly line: number
  readonly email: string
  readonly message: string
}

/** What was seen in the rows of a file. */
export class Counts {
  read = 0
  bad = 0
  readonly skipped: Skipped[] = []
  readonly by = new Map<string, number>()
  readonly passed = new Map<string, number>()
  readonly notes = new Map<string, number>()

  get allPassed(): number {
    return [...this.passed.values()].reduce((sum, n) => sum + n, 0)
  }

  leaveOut(file: string, line: number, email: string, message: string): void {
    this.bad++
    if (this.skipped.length < MOST_TOLD)
      this.skipped.push({ file, line, email: maskText(email.slice(0, 100)), message })
  }
}

const count = (into: Map<string, number>, what: string): void => {
  into.set(what, (into.get(what) ?? 0) + 1)
}

/** Of a pair of surrogates. */
const HALF = /\p{Surrogate}/gu

/** Text that every store and every reader takes, cut at whole characters. */
const wordsOf = (text: string): string | null => {
  if (text === '') return null
  const clean = text
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ')
    .replace(HALF, '\ufffd')
    .trim()
  if (clean === '') return null
  if (clean.length * 3 <= MOST_WORDS || Buffer.byteLength(clean) <= MOST_WORDS) return clean
  // half a character at the end is no character
  return Buffer.from(clean)
    .subarray(0, MOST_WORDS)
    .toString()
    .replace(/\ufffd+$/, '')
}

const sinceOf = (text: string, now: number, notes: Map<string, number>): number => {
  if (text === '') return now
  const at = timeIn(text)
  if (at >= BEGINNING && at <= now) return at
  count(notes, Number.isNaN(at) ? 'a time that is not understood' : 'a time before 2000 or in the future')
  return now
}

/** NaN where it is no time. */
const endOf = (text: string, now: number): number | null => {
  if (text === '') return null
  const at = readInstant(text, now)
  return Number.isNaN(at) ? timeIn(text) : at
}

/** Rows of a list of ours. */
export class Rows {
  readonly #place: ListPlace
  readonly #now: number
  readonly #takenOff: ReadonlyMap<string, number>
  readonly #isWanted: boolean
  readonly counts = new Counts()

  /** `isWanted`: they are to be stored, and not only counted. */
  constructor(place: ListPlace, takenOff: ReadonlyMap<string, number>, now: number, isWanted: boolean) {
    this.#isWanted = isWanted
    this.#place = place
    this.#takenOff = takenOff
    this.#now = now
  }

  /** Null: it is not for us, or can not be read, and was counted. */
  of(file: string, provider: string, { line, said }: ImportEntry): SuppressionRow | null {
    if (++this.counts.read > MOST_ROWS) throw badInput(`${file}: has more than 5,000,000 rows; split it`)
    if ('passed' in said) count(this.counts.passed, said.passed)
    else if ('bad' in said) this.counts.leaveOut(file, line, '', said.bad)
    else return this.#ofTold(file, provider, line, said)
    return null
  }

  #ofTold(file: string, provider: string, line: number, said: ToldAddress): SuppressionRow | null {
    const { counts } = this
    const expiresAt = endOf(said.expires, this.#now)
    if (Number.isNaN(expiresAt)) {
      const message = `expires_at: ${maskText(said.expires.slice(0, 40))} is neither 90d nor a time`
      counts.leaveOut(file, line, said.email, message)
      return null
    }
    if (expiresAt !== null && expiresAt <= this.#now) {
      count(counts.passed, 'ended already')
      return null
    }
    const email = listedAddress(said.email)
    if (email === null) {
      counts.leaveOut(file, line, said.email, said.email === '' ? 'has no address' : ENTRY_FORM)
      return null
    }
    const { list = '' } = said
    if (list !== '' && wrongList(this.#place, email, list) !== null) {
      counts.leaveOut(file, line, said.email, `list: ${wrongList(this.#place, email, list)}`)
      return null
    }
    const entry = entryOf(email, list === '' ? null : list)
    const createdAt = sinceOf(said.since, this.#now, counts.notes)
    const off = this.#takenOff.get(entry)
    const isOff = off !== undefined && off > createdAt
    if (isOff) count(counts.passed, 'taken off the list here since then')
    else count(counts.by, said.why)
    if (isOff || !this.#isWanted) return null
    const wish = {
      ...{ email: entry, origin: said.why, sourceId: `import:${provider}`, expiresAt, createdAt },
      reason: wordsOf(said.words),
    }
    return suppressionRow(this.#place, wish, this.#now)
  }
}

/** Reads a file from its beginning; `take` is given the rows in pieces, and may end it by false. */
export const readRows = async (
  file: ImportFile,
  wanted: WantedList,
  makeRows: () => Rows,
  take: (some: readonly SuppressionRow[], rows: Rows) => Promise<boolean>,
): Promise<{ readonly reading: Reading; readonly rows: Rows; readonly isWhole: boolean }> => {
  const reading = new Reading(file, wanted)
  const rows = makeRows()
  let some: SuppressionRow[] = []
  let [isWhole, read] = [true, 0]
  try {
    for await (const entry of reading.entries()) {
      const row = rows.of(file.name, reading.provider?.name ?? '', entry)
      if (row !== null) some.push(row)
      if (++read % PIECE !== 0) continue
      isWhole = await take(some, rows)
      some = []
      if (!isWhole) break
    }
    if (isWhole) await take(some, rows)
    return { reading, rows, isWhole }
  } catch (error) {
    if (error instanceof ReadAgain) return readRows(file, wanted, makeRows, take)
    throw error
  }
}

/** So many rows of a file are given on at a time. */
const PIECE = 1000

/** Addresses that were seen, in eight octets each: a dry run of millions stays small. */
export class SeenEmails {
  #slots = new Float64Array(1 << 12)
  #n = 0

  /** False: it was there, or another that has the same 48 bits: of five million one in twenty times. */
  add(email: string): boolean {
    const digest = createHash('sha256').update(email).digest()
    const key = digest.readUIntBE(0, 6) + 1
    if (!this.#put(key)) return false
    if (++this.#n * 2 > this.#slots.length) this.#grow()
    return true
  }

  #put(key: number): boolean {
    const mask = this.#slots.length - 1
    let at = key & mask
    for (; this.#slots[at] !== 0; at = (at + 1) & mask) if (this.#slots[at] === key) return false
    this.#slots[at] = key
    return true
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Float64Array(before.length * 2)
    for (const key of before) if (key !== 0) this.#put(key)
  }
}
