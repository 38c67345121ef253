/** Who reads pages of mail and follows the log while it is written: by the code of the engine, in snapshots of the model. */
import type { Page } from '../../../../src/lifecycle/page.js'
import { logEnds, MAIL } from '../../../../src/store/postgres/mails.js'
import { writerOf } from '../../../../src/store/postgres/writer.js'
import {
  above,
  BOTTOM,
  markOf,
  type PlaceSource,
  readMark,
  takeFrom,
} from '../../../../src/store/sql/log/places.js'
import { listOfBranches, pageOf, TOP } from '../../../../src/store/sql/pages.js'
import { type Asking, atOnce, type Found, type Row, type SqlQuery } from '../../../../src/store/sql/query.js'
import type { Database, Places, WriterRow } from './database.js'

export interface Poller {
  readonly name: string
  poll(): void
  readonly seen: readonly number[]
  /** What it is to see. */
  readonly places: readonly Places[]
}

/** All that is read in it was committed by then. */
interface Snapshot {
  readonly db: Database
  readonly seq: number
}

const rowsOf = (rows: readonly Row[]): Found => ({ rows, changes: 0 })

/** The mails that a statement of a page finds: its values are in the order of its text. */
const mailsFor = ({ db, seq }: Snapshot, { text, values }: SqlQuery): Found => {
  const given = [...(values as readonly number[])]
  const limit = text.includes('LIMIT ?') ? given.pop() : 1
  const [from = 0, to = 0] = given.splice(-2)
  let ords = db.mails.seen(seq, from, to)
  const upTo = given.pop()
  if (upTo !== undefined) {
    const behind = new Map<number, number>()
    for (let i = 0; i < given.length; i += 2) behind.set(given[i] as number, given[i + 1] as number)
    if (behind.size > 0) db.world.note('page with writers that are behind')
    ords = ords.filter((ord) => ord > (behind.get(writerOf(ord)) ?? upTo))
  }
  if (text.includes('DESC')) ords.reverse()
  if (limit !== undefined && ords.length > limit) ords.length = limit
  return rowsOf(ords.map((ord) => ({ ord, found: 1 })))
}

const answerIn = (at: Snapshot, query: SqlQuery): Found => {
  const { text } = query
  if (text.includes(' FROM m WHERE')) return mailsFor(at, query)
  if (text === 'BEGIN' || text === 'COMMIT') return rowsOf([])
  const writers = at.db.writers.map((slot) => slot.at(at.seq) as WriterRow)
  if (text.startsWith('SELECT n, frontier, boot'))
    return rowsOf(writers.filter(({ frontier }) => frontier > 0) as unknown as readonly Row[])
  if (!text.includes('min(frontier)')) throw new Error(`not in the model: ${text}`)
  const living = writers.filter(({ boot }) => boot !== null).map(({ frontier }) => frontier)
  const every = writers.map(({ frontier }) => frontier)
  const least = living.length > 0 ? Math.min(...living) : Math.max(...every)
  if (!text.includes('FROM log_state')) return rowsOf([{ least }])
  const lastOf = (places: Places) => places.seen(at.seq, 0, least + 1).at(-1)
  return rowsOf([{ floor: 0, event: lastOf(at.db.events), email: lastOf(at.db.mails) }])
}

const answered = <T>(at: Snapshot, asking: Asking<T>): T => {
  let step = asking.next()
  while (step.done !== true) {
    const { works } = step.value
    // reads that do not depend on one another
    const found = works?.map((make) => answered(at, make())) as readonly Row[] | undefined
    step = asking.next(found === undefined ? answerIn(at, step.value) : rowsOf(found))
  }
  return step.value
}

const branch = { from: 'm', ord: 'ord', where: 'true', params: [] }
const IDS = { from: 'm WHERE true', params: [] }

/** Newer and newer pages of mail. Without frontiers it is the control, which must lose. */
export const pagePoller = (db: Database, limit: number, isControl = false): Poller => {
  const list = { ...listOfBranches([branch], IDS), frontiers: isControl ? null : MAIL.frontiers }
  const seen: number[] = []
  let anchor: string | null = null
  return {
    ...{ name: `${isControl ? 'control' : 'page'} of ${limit}`, seen, places: [db.mails] },
    poll() {
      const page: Page = { limit, direction: anchor === null ? 'older' : 'newer', anchor, countUpTo: 0 }
      const { seq } = db
      const found = answered(
        { db, seq },
        pageOf(list, page, (ord: number) => atOnce(() => ord)),
      )
      const all = anchor === null ? db.mails.seen(seq, 0, TOP) : []
      seen.push(...all.filter((ord) => !found.rows.includes(ord)), ...[...found.rows].reverse())
      anchor = found.newer
    },
  }
}

/** As `follow` of sql/log/reads.ts, with events and the first ones of mails. */
function* followed(
  sources: readonly PlaceSource[],
  mark: string,
  limit: number,
): Asking<{ ords: number[]; mark: string }> {
  const { newest } = yield* logEnds()
  const found = yield* takeFrom(sources, 'newer', readMark(mark) ?? BOTTOM, limit + 1, newest.ord - 1)
  const isEnd = found.length <= limit
  const places = found.slice(0, limit)
  const last = places.at(-1)
  return {
    ords: places.map(({ ord }) => ord),
    mark: markOf(isEnd || last === undefined ? newest : above(last)),
  }
}

export const follower = (db: Database, limit: number): Poller => {
  const places = [db.events, db.mails]
  const seen: number[] = []
  let mark = markOf(BOTTOM)
  const sourceOf = (stored: Places): PlaceSource => ({
    take: (_, { ord: from, n }, most, last = TOP - 1) =>
      atOnce(() =>
        stored
          .seen(db.seq, n === 0 ? from : from + 1, last + 1)
          .slice(0, most)
          .map((ord) => ({ ord, n: 0, row: {} })),
      ),
    count: () => atOnce(() => 0),
  })
  const sources = places.map(sourceOf)
  return {
    ...{ name: `follower of ${limit}`, seen, places },
    poll() {
      const found = answered({ db, seq: db.seq }, followed(sources, mark, limit))
      seen.push(...found.ords)
      mark = found.mark
    },
  }
}
