/**
 * NAME      feed - one reader of the log for all open streams
 * DESCRIPTION
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
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import type { MarkCodec } from '../../record/mark.js'
import type { EventLog, LogFilter, LogRow } from '../../store/port/log.js'
import type { Reading } from '../../store/port/reading.js'
import { EventStream } from './event-stream.js'
import { beat, eventBlock, gap, Merged, opening, parting } from './frame.js'
import { type Taken, type View, viewOf, Window } from './window.js'

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
