/** Who reads pages of mail and follows the log while it is written: by the code of the engine, in snapshots of the model. */
import type { Page } from '../../../../src/lifecycle/page.js'
import { logEnds, MAIL } from '../../../../src/store/postgres/mails.js'
import {
  above,
  BOTTOM,
  markOf,
  readMark,
  type Source,
  takeFrom,
} from '../../../../src/store/sql/log/places.js'
import { listOfBranches, pageOf } from '../../../../src/store/sql/pages/pages.js'
import { type Asking, atOnce, type Found, type Query } from '../../../../src/store/sql/query.js'
import type { Row } from './database.js'
import { type Database, Tx } from './database.js'

export interface Poller {
  readonly name: string
  poll(): void
  readonly seen: readonly number[]
  /** What it is to see. */
  readonly tables: readonly string[]
}

const placesIn = (tx: Tx, tables: readonly string[]): number[] =>
  tables.flatMap((table) => [...tx.rows(table)].map(([, { ord }]) => ord as number)).sort((a, b) => a - b)

const rowsOf = (rows: readonly Row[]): Found => ({ rows, changes: 0 })

/** The mails that a statement of a page finds: its values are in the order of its text. */
const mailsFor = (tx: Tx, { text, values }: Query): Found => {
  const given = [...(values as readonly number[])]
  const limit = text.includes('LIMIT ?') ? given.pop() : 1
  const [from = 0, to = 0] = given.splice(-2)
  const upTo = given.pop() ?? 0
  const behind = new Map<number, number>()
  for (let i = 0; i < given.length; i += 2) behind.set(given[i] as number, given[i + 1] as number)
  const isUnseen = (ord: number): boolean => ord > (behind.get(Math.floor(ord / 64) % 64) ?? upTo)
  const ords = placesIn(tx, ['m']).filter((ord) => ord >= from && ord < to && isUnseen(ord))
  if (text.includes('DESC')) ords.reverse()
  return rowsOf(ords.slice(0, limit).map((ord) => ({ ord, found: 1 })))
}

const answerIn = (tx: Tx, query: Query): Found => {
  const { text } = query
  if (text.includes(' FROM m WHERE')) return mailsFor(tx, query)
  if (text === 'BEGIN' || text === 'COMMIT') return rowsOf([])
  if (text.includes('FROM log_state')) return rowsOf([{ floor: 0 }])
  const writers = [...tx.rows('w')].map(([, row]) => row)
  if (text.startsWith('SELECT n, frontier, boot'))
    return rowsOf(writers.filter(({ frontier }) => Number(frontier) > 0))
  if (!text.includes('min(frontier)')) throw new Error(`not in the model: ${text}`)
  const living = writers.filter(({ boot }) => boot !== null).map(({ frontier }) => Number(frontier))
  const every = writers.map(({ frontier }) => Number(frontier))
  return rowsOf([{ least: living.length > 0 ? Math.min(...living) : Math.max(...every) }])
}

const answered = <T>(tx: Tx, asking: Asking<T>): T => {
  let step = asking.next()
  while (step.done !== true) {
    const { works } = step.value
    // reads that do not depend on one another
    const found = works?.map((make) => answered(tx, make())) as readonly Row[] | undefined
    step = asking.next(found === undefined ? answerIn(tx, step.value) : rowsOf(found))
  }
  return step.value
}

const snapshot = (db: Database): Tx => {
  const tx = new Tx(db)
  tx.snapshot = db.seq
  return tx
}

const branch = { from: 'm', ord: 'ord', where: 'true', params: [] }
const IDS = { from: 'm WHERE true', params: [] }

/** Newer and newer pages of mail. Without frontiers it is the control, which must lose. */
export const pagePoller = (db: Database, limit: number, isControl = false): Poller => {
  const list = { ...listOfBranches([branch], IDS), frontiers: isControl ? null : MAIL.frontiers }
  const seen: number[] = []
  let anchor: string | null = null
  return {
    ...{ name: `${isControl ? 'control' : 'page'} of ${limit}`, seen, tables: ['m'] },
    poll() {
      const page: Page = { limit, direction: anchor === null ? 'older' : 'newer', anchor, countUpTo: 0 }
      const tx = snapshot(db)
      const found = answered(
        tx,
        pageOf(list, page, (ord: number) => atOnce(() => ord)),
      )
      const before = anchor === null ? placesIn(tx, ['m']).filter((ord) => !found.rows.includes(ord)) : []
      seen.push(...before, ...[...found.rows].reverse())
      anchor = found.newer
    },
  }
}

/** As `follow` of sql/log/reads.ts, with one source. */
function* followed(source: Source, mark: string, limit: number): Asking<{ ords: number[]; mark: string }> {
  const { newest } = yield* logEnds()
  const found = yield* takeFrom([source], 'newer', readMark(mark) ?? BOTTOM, limit + 1, newest.ord - 1)
  const isEnd = found.length <= limit
  const places = found.slice(0, limit)
  const last = places.at(-1)
  return {
    ords: places.map(({ ord }) => ord),
    mark: markOf(isEnd || last === undefined ? newest : above(last)),
  }
}

export const follower = (db: Database, limit: number): Poller => {
  const tables = ['m', 'e']
  const seen: number[] = []
  let mark = markOf(BOTTOM)
  return {
    ...{ name: `follower of ${limit}`, seen, tables },
    poll() {
      const tx = snapshot(db)
      const source: Source = {
        take: (_, { ord: from, n }, most, last = Number.POSITIVE_INFINITY) =>
          atOnce(() =>
            placesIn(tx, tables)
              .filter((ord) => (n === 0 ? ord >= from : ord > from) && ord <= last)
              .slice(0, most)
              .map((ord) => ({ ord, n: 0, row: {} })),
          ),
        count: () => atOnce(() => 0),
      }
      const found = answered(tx, followed(source, mark, limit))
      seen.push(...found.ords)
      mark = found.mark
    },
  }
}
