/**
 * NAME      feed - the log of events, live, for all open streams
 *   While any stream is open the end of the log is looked at every 50 ms. What is
 *   new is read once, into a window, and streams that stand there take it from
 *   there. One that stands elsewhere reads by itself, one step at a time for all of
 *   them and resting as long as each step took, so that those who are far behind do
 *   not slow down who sends mail. Nothing here is on the way of an acceptance.
 * NOTES
 *   A stream that reads by itself joins the others when a read that finds nothing
 *   ends at the very mark of the window, or at a record that the window holds. The
 *   window is brought up to date right before, so that this is soon.
 */

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import { clientOf } from '../base/network.js'
import { wireAddress } from '../mail/address.js'
import { loggedEvent, type MarkCodec } from '../record/event.js'
import type { EventLog, Followed, LogFilter, LogRow } from '../store/port/log.js'
import type { Reading } from '../store/port/watch.js'

interface SlotLimits {
  readonly streams_per_key: number
  readonly streams_per_address: number
}

const RETRY_AFTER_S = 5

export class Slots {
  readonly #limits: SlotLimits
  readonly #open = new Map<string, number>()

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  #count(name: string, by: number): void {
    const count = (this.#open.get(name) ?? 0) + by
    if (count > 0) this.#open.set(name, count)
    else this.#open.delete(name)
  }

  /** Gives what ends the use of a slot, or throws rate_limit.streams. */
  take(credentialId: string, address: string): () => void {
    const key = `key ${credentialId}`
    const client = `address ${clientOf(address)}`
    const refuse = (detail: string): never => {
      throw new Fault('rate_limit.streams', { retryAfter: RETRY_AFTER_S, detail })
    }
    const { streams_per_key: perKey, streams_per_address: perAddress } = this.#limits
    if ((this.#open.get(key) ?? 0) >= perKey) refuse(`${perKey} streams are open with this credential`)
    if ((this.#open.get(client) ?? 0) >= perAddress) refuse(`${perAddress} streams are open at this address`)
    this.#count(key, 1)
    this.#count(client, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#count(key, -1)
      this.#count(client, -1)
    }
  }
}

/* Whether a filter of the log lets a record through. The store answers the same for who reads by himself; here it is asked of
   records that were read once for all. A test holds the two against each other. */

const plain = (address: string): string => wireAddress(address).toLowerCase()

export const matcherOf = (filter: LogFilter): ((row: LogRow) => boolean) => {
  const { accountId, workspaceId, accountWide, mode, emailId, change, createdAfter, createdBefore } = filter
  const types = filter.types && new Set(filter.types)
  const recipient = filter.recipient === null ? null : plain(filter.recipient)
  const isOurs = (row: LogRow): boolean =>
    row.accountId === accountId &&
    (row.workspaceId === null ? accountWide : workspaceId === null || row.workspaceId === workspaceId)
  return (row) =>
    isOurs(row) &&
    (mode === null || row.mode === mode) &&
    (types === null || types.has(row.type)) &&
    (emailId === null || row.emailId === emailId) &&
    (recipient === null || (row.recipient !== null && plain(row.recipient) === recipient)) &&
    (change === null || row.change === change) &&
    (createdAfter === null || row.createdAt > createdAfter) &&
    (createdBefore === null || row.createdAt < createdBefore)
}

/* The blocks of a stream of server-sent events, as the HTML standard has them (section 9.2): fields, each on a line, and an
   empty line. A block without data moves the client's last id and tells nothing, so a beat brings a filtered stream on. JSON
   has no line ends of its own. */

/** Milliseconds after which a client comes back. */
const RETRY_MS = 2_000

const block = (id: string, type: string, data: unknown): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`

const eventBlock = (marks: MarkCodec, row: LogRow): string =>
  block(marks.write(row.mark, row.accountId), row.type, loggedEvent(row))

/** The first of every stream: who loses it before an event came goes on from here all the same. */
const opening = (id: string): string => `retry: ${RETRY_MS}\nid: ${id}\n\n`

const beat = (id: string): string => `:\nid: ${id}\n\n`

/** The last one, when the server goes: clients come back one by one. */
const parting = (): string => `retry: ${RETRY_MS + Math.floor(Math.random() * RETRY_MS)}\n\n`

/** What lay between a mark and the oldest one is not told any more. */
const gap = (after: string, oldest: string): string =>
  block(oldest, 'log.gap', { object: 'log_gap', type: 'log.gap', after, oldest })

/** No more mails than fit on a screen. */
const LAST = 20

/** Many events as one: how many of each type, and the newest event of each of the last mails. */
class Merged {
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

/* The newest part of the log, read once for all streams: the last records, the newest 8 MiB of them written out, and the marks
   between them. Who stands at one of these marks takes from here what comes next; streams with one filter at one place get the
   very same bytes. Who stands nowhere in here reads by himself. */

/** What one stream wants to see; streams with equal keys want the same. */
interface View {
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
interface Taken {
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

/* The log, as one client gets it: a place in the log and at most one chunk on its way to the socket. It asks for more when the
   socket has room and not before, so a slow reader costs its place and that chunk, whatever happens meanwhile. What the kernel
   keeps of a connection comes on top of that (Linux: up to net.ipv4.tcp_wmem). */

interface StreamOptions {
  readonly view: View
  /** Where it begins. */
  readonly mark: string
  /** False when whoever opened it may not read any more. Streams with one `holder` are asked once. */
  readonly isAllowed: () => Promise<boolean>
  readonly holder: string
  /** It has room. */
  readonly serve: (stream: EventStream) => void
}

class EventStream extends Readable {
  readonly view: View
  readonly holder: string
  readonly isAllowed: () => Promise<boolean>
  readonly #serve: StreamOptions['serve']
  /** Everything up to here has been given. */
  mark: string
  /** Has room, and was given nothing since. */
  isHungry = false
  /** Of a merged one: the span of time in which it was given something last. */
  span = -1

  constructor({ view, mark, isAllowed, holder, serve }: StreamOptions) {
    // no reading ahead: one chunk in the response is enough
    super({ highWaterMark: 0 })
    this.view = view
    this.mark = mark
    this.isAllowed = isAllowed
    this.holder = holder
    this.#serve = serve
  }

  override _read(): void {
    this.isHungry = true
    this.#serve(this)
  }

  give({ chunk, mark }: Taken): void {
    this.mark = mark
    if (chunk !== null) this.say(chunk)
  }

  /** Adds bytes that move no place. */
  say(bytes: Buffer | string): void {
    if (this.destroyed || this.readableEnded) return
    this.isHungry = false
    this.push(bytes)
  }

  /** Ends it, behind some last words. */
  close(last?: string): void {
    if (last !== undefined) this.say(last)
    if (!this.destroyed) this.push(null)
  }
}

interface FeedOptions {
  readonly store: Pick<EventLog, 'follow' | 'logEnds'> & Pick<Reading, 'readLog'>
  readonly marks: MarkCodec
  readonly log: Log
}

interface Opening {
  readonly filter: LogFilter
  readonly merge: number | null
  /** A mark of the store; null: from now on. */
  readonly after: string | null
  readonly holder: string
  readonly isAllowed: () => Promise<boolean>
}

const LOOK_MS = 50
const BEAT_MS = 15_000
const CHECK_MS = 500
/** Beats that may find no room before the client counts as gone. */
const DEAF_BEATS = 20
const LAST_WORDS_MS = 1_000
/** Records of one read: at the end of the log, and of a stream by itself. */
const WINDOW_STEP = 500
const OWN_STEP = 64
const OWN_BYTES = 32_768

export class Feed {
  readonly #options: FeedOptions
  readonly #window: Window
  readonly #streams = new Set<EventStream>()
  /** Those that must read by themselves. */
  readonly #behind = new Set<EventStream>()
  #isCatchingUp = false
  /** One reading of the window at a time. */
  #advancing: Promise<void> | null = null
  #isRunning = false
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#window = new Window(options.marks)
  }

  get count(): number {
    return this.#streams.size
  }

  async open({ filter, merge, after, holder, isAllowed }: Opening): Promise<EventStream> {
    if (this.#isClosed) throw new Fault('service.unavailable')
    const { marks, store } = this.#options
    if (this.#streams.size === 0 && this.#advancing === null) {
      this.#window.reset((await store.logEnds()).newest)
    }
    await this.#advance()
    const mark = after ?? this.#window.mark
    const serve = (stream: EventStream): void => this.#serve(stream)
    const stream = new EventStream({ view: viewOf(filter, merge), mark, holder, isAllowed, serve })
    this.#streams.add(stream)
    const beats = this.#beats(stream)
    stream.once('close', () => {
      clearInterval(beats)
      this.#streams.delete(stream)
      this.#behind.delete(stream)
    })
    stream.say(opening(marks.write(mark, filter.accountId)))
    if (!this.#isRunning) void this.#run()
    return stream
  }

  start(): void {
    this.#isClosed = false
  }

  /** No more streams; those that are open end. */
  close(): void {
    this.#isClosed = true
    const open = [...this.#streams]
    for (const stream of open) stream.close(parting())
    const end = () => open.forEach((stream) => void stream.destroy())
    setTimeout(end, LAST_WORDS_MS).unref()
  }

  #beats(stream: EventStream): NodeJS.Timeout {
    let deaf = 0
    return setInterval(() => {
      deaf = stream.isHungry ? 0 : deaf + 1
      if (deaf > DEAF_BEATS) stream.destroy()
      else if (deaf === 0)
        stream.say(beat(this.#options.marks.write(stream.mark, stream.view.filter.accountId)))
    }, BEAT_MS)
  }

  /** Looks for news and for streams that nobody may read any more, for as long as there are streams. */
  async #run(): Promise<void> {
    this.#isRunning = true
    const checks = setInterval(() => void this.#check(), CHECK_MS)
    try {
      while (this.#streams.size > 0) {
        await sleep(LOOK_MS)
        await this.#advance()
        for (const stream of this.#streams) this.#serve(stream)
      }
    } catch (err) {
      this.#fail(err)
    } finally {
      clearInterval(checks)
      this.#isRunning = false
    }
  }

  /** Clients come back, and are told by a problem whether the store does. */
  #fail(err: unknown): void {
    this.#options.log.error({ event: 'streams_failed', streams: this.#streams.size, err })
    for (const stream of this.#streams) stream.destroy()
  }

  /** Asked once for all streams of one holder. */
  async #check(): Promise<void> {
    const asked = new Map<string, Promise<boolean>>()
    for (const stream of [...this.#streams]) {
      const answer = asked.get(stream.holder) ?? stream.isAllowed()
      asked.set(stream.holder, answer)
      if (!(await answer)) stream.close()
    }
  }

  /** Reads what is new into the window. */
  async #advance(): Promise<void> {
    this.#advancing ??= this.#readOn().finally(() => {
      this.#advancing = null
    })
    await this.#advancing
  }

  async #readOn(): Promise<void> {
    const { store } = this.#options
    const { newest } = await store.logEnds()
    while (this.#window.mark !== newest) {
      const read = await store.readLog('log', this.#window.mark, null, WINDOW_STEP)
      if (read === 'gone') {
        this.#window.reset(newest)
        return
      }
      this.#window.add(read)
      if (read.isEnd) return
    }
  }

  /** Gives a stream that has room what the window has for it. */
  #serve(stream: EventStream): void {
    if (!stream.isHungry || stream.destroyed) return
    const { view } = stream
    if (!this.#window.has(stream.mark)) {
      this.#behind.add(stream)
      if (!this.#isCatchingUp) void this.#catchUp()
      return
    }
    if (stream.mark === this.#window.mark || !isDue(stream)) return
    stream.give(this.#window.take(view, stream.mark))
  }

  async #catchUp(): Promise<void> {
    this.#isCatchingUp = true
    try {
      for (const stream of this.#behind) {
        this.#behind.delete(stream)
        if (!stream.isHungry || stream.destroyed) continue
        const began = performance.now()
        await this.#step(stream)
        await sleep(Math.ceil(performance.now() - began))
      }
    } catch (err) {
      this.#fail(err)
    } finally {
      this.#isCatchingUp = false
    }
  }

  /** What a stream that stands alone reads for itself. */
  async #step(stream: EventStream): Promise<void> {
    await this.#advance()
    const { store, marks } = this.#options
    const { view, mark } = stream
    const read = await store.follow(view.filter, mark, OWN_STEP)
    if (read === 'gone') {
      const { oldest } = await store.logEnds()
      const { accountId } = view.filter
      const text = gap(marks.write(mark, accountId), marks.write(oldest, accountId))
      return stream.give({ chunk: Buffer.from(text), mark: oldest })
    }
    if (read.rows.length === 0) {
      stream.mark = read.mark
      // at the end it waits for the next look
      if (!read.isEnd) this.#behind.add(stream)
      return
    }
    stream.give(view.merge === null ? this.#written(read.rows) : this.#merged(view, read.rows))
  }

  #written(rows: readonly LogRow[]): Taken {
    let text = ''
    let mark = ''
    for (const row of rows) {
      text += eventBlock(this.#options.marks, row)
      mark = row.mark
      if (text.length >= OWN_BYTES) break
    }
    return { chunk: Buffer.from(text), mark }
  }

  #merged(view: View, rows: readonly LogRow[]): Taken {
    const merged = new Merged()
    for (const row of rows) merged.add(row)
    const mark = rows.at(-1)?.mark ?? ''
    const id = this.#options.marks.write(mark, view.filter.accountId)
    return { chunk: Buffer.from(merged.text(id)), mark }
  }
}

/** Merged events come when a new span of time has begun: for all streams with one span at once, so that they share them. */
const isDue = (stream: EventStream): boolean => {
  const { merge } = stream.view
  if (merge === null) return true
  const span = Math.floor(performance.now() / merge)
  if (span === stream.span) return false
  stream.span = span
  return true
}
