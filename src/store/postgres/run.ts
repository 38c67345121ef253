/**
 * NAME      run - statements and calls that come together go together
 *   A verb that only reads takes a connection for itself while it runs, and repeats when the connection is lost or
 *   others were in its way. What does not come back in time is an outage that its caller hears of. Joined to what each
 *   of them was given. What is the same for all stays a value: a limit can be nothing else.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import {
  type Asking,
  BEGIN_SNAPSHOT,
  type Found,
  isPause,
  NOTHING_FOUND,
  type Row,
  type SqlQuery,
} from '../sql/query.js'
import { type Connection, failureOf } from './connection.js'

const CALLER = 'caller_'
const LIMIT = /\b(?:LIMIT|OFFSET) $/

type Ask = (query: SqlQuery) => Promise<Found>
type ArrayType = 'BIGINT[]' | 'TEXT[]'

/** Of one place in all of them; null: they cannot be one array. */
const arrayOf = (values: readonly unknown[]): ArrayType | null => {
  if (values.every((value) => typeof value === 'string')) return 'TEXT[]'
  return values.every((value) => Number.isSafeInteger(value)) ? 'BIGINT[]' : null
}

/** One statement for reads of one text; null: they go one by one. */
export const joined = (queries: readonly SqlQuery[]): SqlQuery | null => {
  const [{ text, values }] = queries as readonly [SqlQuery, ...SqlQuery[]]
  const columns = values.map((value, i) => {
    const each = queries.map((query) => query.values[i])
    return each.every((one) => one === value) ? null : { each, type: arrayOf(each) }
  })
  const arrays = columns.filter((column) => column !== null)
  if (arrays.length === 0 || arrays.some(({ type }) => type === null)) return null
  const names = arrays.map((_, i) => `p${i}`)
  const same: unknown[] = []
  let n = 0
  let array = 0
  let isLimit = false
  const inner = text.replace(/'[^']*'|\?/g, (found, offset: number) => {
    if (found !== '?') return found
    const at = n++
    if (columns[at] !== null && LIMIT.test(text.slice(0, offset))) isLimit = true
    if (columns[at] !== null) return `g.${names[array++]}`
    same.push(values[at])
    return '?'
  })
  if (isLimit) return null
  return {
    text: `SELECT g.${CALLER}, r.*
      FROM unnest(${arrays.map(({ type }) => `CAST(? AS ${type})`).join(', ')}) WITH ORDINALITY AS g (${names.join(', ')}, ${CALLER})
      CROSS JOIN LATERAL (${inner}) AS r`,
    values: [...arrays.map(({ each }) => each), ...same],
  }
}

/** The answer to each of these of one text. */
const askEach = async (ask: Ask, queries: readonly SqlQuery[]): Promise<readonly Found[]> => {
  const [first] = queries as readonly [SqlQuery, ...SqlQuery[]]
  if (queries.length === 1) return [await ask(first)]
  if (queries.every(({ values }) => values.every((value, i) => value === first.values[i])))
    return Array(queries.length).fill(await ask(first))
  const together = joined(queries)
  if (together === null) {
    const found: Found[] = []
    for (const query of queries) found.push(await ask(query))
    return found
  }
  const rows: Row[][] = queries.map(() => [])
  for (const row of (await ask(together)).rows) rows[Number(row[CALLER]) - 1]?.push(row)
  return rows.map((own) => (own.length === 0 ? NOTHING_FOUND : { rows: own, changes: own.length }))
}

/** The answer to each of them. */
export const askTogether = async (ask: Ask, queries: readonly SqlQuery[]): Promise<readonly Found[]> => {
  const byText = new Map<string, number[]>()
  for (const [i, { text }] of queries.entries()) {
    const places = byText.get(text)
    if (places === undefined) byText.set(text, [i])
    else places.push(i)
  }
  const answers: Found[] = []
  for (const places of byText.values()) {
    const found = await askEach(
      ask,
      places.map((i) => queries[i] as SqlQuery),
    )
    for (const [n, i] of places.entries()) answers[i] = found[n] as Found
  }
  return answers
}

/** So long a verb waits for a database that is away. */
const AWAY_MS = 5000
const MOST_REPEATS = 5

const SNAPSHOT: SqlQuery = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', values: [] }

/** Works that do not depend on one another, a step of all at a time. */
const inStep = async (
  ask: Connection['query'],
  works: NonNullable<SqlQuery['works']>,
): Promise<readonly unknown[]> => {
  const all = works.map((make) => {
    const work = make()
    return { work, step: work.next() }
  })
  for (;;) {
    const open = all.filter(({ step }) => step.done !== true)
    if (open.length === 0) return all.map(({ step }) => step.value)
    const inner = open.filter(({ step }) => (step.value as SqlQuery).works !== undefined)
    for (const one of inner)
      one.step = one.work.next(await askOne({ query: ask }, one.step.value as SqlQuery))
    if (inner.length > 0) continue
    const found = await askTogether(
      ask,
      open.map(({ step }) => step.value as SqlQuery),
    )
    for (const [i, one] of open.entries()) one.step = one.work.next(found[i] as Found)
  }
}

const askOne = async (connection: Pick<Connection, 'query'>, query: SqlQuery): Promise<Found> => {
  const { works } = query
  if (works === undefined) return connection.query(query === BEGIN_SNAPSHOT ? SNAPSHOT : query)
  return { rows: (await inStep(connection.query, works)) as never, changes: 0 }
}

export const answer = async <T>(connection: Pick<Connection, 'query'>, asking: Asking<T>): Promise<T> => {
  let step = asking.next()
  while (step.done !== true) {
    if (isPause(step.value)) {
      await turn()
      step = asking.next(NOTHING_FOUND)
      continue
    }
    const found = await askOne(connection, step.value).catch((error: unknown) => ({ error }))
    step = 'error' in found ? asking.throw(found.error) : asking.next(found)
  }
  return step.value
}

/** Text here has no U+0000 (SQLSTATE 22021): who looks for some finds nothing. */
const sought = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sought)
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

/** The same for a verb that only reads: what it looks for may be any text. */
export const answerRead = <T>({ query }: Pick<Connection, 'query'>, asking: Asking<T>): Promise<T> =>
  answer({ query: ({ text, values }) => query({ text, values: values.map(sought) }) }, asking)

/** Nothing is wrong with this machine: 451, and not the 452 of a full disk. */
export const unavailable = (cause: unknown): Fault =>
  Object.assign(new Fault('service.unavailable', { retryAfter: 5, smtp: '451 4.3.0' }), { cause })

/** Until then a caller of now will wait. */
export const patience = (): number => systemClock.tick() + AWAY_MS

/** A lock that was waited for in vain, for seconds. */
const isLocked = (error: unknown): boolean => (error as { readonly code?: unknown }).code === '55P03'

/** Does it again while the database is away or others are in the way, for so long as a caller will wait. */
export const persistently = async <T>(work: () => Promise<T>, until = patience()): Promise<T> => {
  for (let repeats = 1; ; repeats++) {
    try {
      return await work()
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'full')
        throw Object.assign(new Fault('service.unavailable', { retryAfter: 5 }), { cause: error })
      if (failure !== 'away' && failure !== 'again') throw error
      const isOften = failure === 'again' && repeats >= MOST_REPEATS
      // one that others went before has waited for nothing yet
      const waits = failure === 'away' || isLocked(error)
      if (isOften || (waits && systemClock.tick() >= until)) throw unavailable(error)
      await sleep(failure === 'away' ? 100 : Math.random() * 20 * repeats)
    }
  }
}

// Calls that come together become one. No timer: a lone call waits for nobody, and a crowd shares a round trip and an
// fsync. A batch that fails for what is in it is halved until the call that is at fault stands alone; the others are
// stored.

interface Waiting<Call, Answer> {
  readonly call: Call
  /** How long it will wait for a database that is away. */
  readonly until: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

interface Gathering<Call, Answer> {
  /** All or none of them; an answer for each. */
  run(calls: readonly Call[], until: number): Promise<readonly Answer[]>
  inTurn(work: () => Promise<void>): Promise<void>
  /** What a call weighs; a batch has no more than `most`, unless it is one call. */
  weigh(call: Call): number
  readonly most: number
}

export const gather = <Call, Answer>({ run, inTurn, weigh, most }: Gathering<Call, Answer>) => {
  const waiting: Waiting<Call, Answer>[] = []
  let isAsked = false

  const take = (): Waiting<Call, Answer>[] => {
    let weight = 0
    let n = 0
    for (const { call } of waiting) {
      weight += weigh(call)
      if (n > 0 && weight > most) break
      n += 1
    }
    return waiting.splice(0, n)
  }

  const settle = async (batch: readonly Waiting<Call, Answer>[]): Promise<void> => {
    try {
      const answers = await run(
        batch.map(({ call }) => call),
        Math.min(...batch.map(({ until }) => until)),
      )
      for (const [i, one] of batch.entries()) one.resolve(answers[i] as Answer)
    } catch (error) {
      if (batch.length === 1 || error instanceof Fault || failureOf(error) !== 'verb') {
        for (const one of batch) one.reject(error)
        return
      }
      const middle = batch.length >> 1
      await settle(batch.slice(0, middle))
      await settle(batch.slice(middle))
    }
  }

  const ask = (): void => {
    if (isAsked || waiting.length === 0) return
    isAsked = true
    void inTurn(async () => {
      isAsked = false
      const batch = take()
      ask()
      await settle(batch)
    })
  }

  return (call: Call): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push({ call, until: patience(), resolve, reject })
      ask()
    })
}
