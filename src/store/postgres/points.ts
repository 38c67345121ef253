/**
 * NAME      points - reads that every request asks for, many in one statement
 * DESCRIPTION
 *   Who may send what is read for each request, and no answer is kept: what was revoked is refused at once. Reads that
 *   come while an earlier round trip is under way go together: those of one text are one statement, joined to what each
 *   caller gave. A statement begins after all its callers have asked. One connection does, and it is never kept waiting by
 *   a long list.
 */
import { type Asking, type Found, NOTHING_FOUND, type Query, type Row } from '../sql/query.js'
import type { Connection } from './connect/connection.js'
import { answer, persistently } from './run.js'
import { gather } from './write/gather.js'

/** These verbs read few rows, and nothing large. */
export const POINTS: ReadonlySet<string> = new Set([
  ...['keyByLookup', 'key', 'credential', 'credentialsByUsername', 'credentialsByRange'],
  ...['credentialByCertificate', 'user', 'userByIdentity', 'session', 'sessionByLookup'],
  ...['account', 'workspace', 'pool', 'suppressed', 'domain'],
])

/** Calls of one text in one statement. */
const MOST = 200

const CALLER = 'caller_'

type ArrayType = 'BIGINT[]' | 'TEXT[]'

/** Of one place in all these calls; null: they cannot be one array. */
const arrayOf = (values: readonly unknown[]): ArrayType | null => {
  if (values.every((value) => typeof value === 'string')) return 'TEXT[]'
  return values.every((value) => Number.isSafeInteger(value)) ? 'BIGINT[]' : null
}

/** One statement for calls of one text; null: they go one by one. */
export const joined = (queries: readonly Query[]): Query | null => {
  const [{ text, values }] = queries as readonly [Query, ...Query[]]
  const columns = values.map((_, i) => queries.map((query) => query.values[i]))
  const types = columns.map(arrayOf)
  if (types.length === 0 || types.includes(null)) return null
  const given = types.map((type) => `CAST(? AS ${type})`).join(', ')
  const names = types.map((_, i) => `p${i}`)
  let n = 0
  const inner = text.replace(/'[^']*'|\?/g, (found) => (found === '?' ? `g.${names[n++]}` : found))
  return {
    text: `SELECT g.${CALLER}, r.* FROM unnest(${given}) WITH ORDINALITY AS g (${names.join(', ')}, ${CALLER})
      CROSS JOIN LATERAL (${inner}) AS r`,
    values: columns,
  }
}

/** The answer to each of them. */
const askAll = async (
  ask: (query: Query) => Promise<Found>,
  queries: readonly Query[],
): Promise<readonly Found[]> => {
  const [first] = queries
  if (first === undefined) return []
  // all ask for the same
  if (first.values.length === 0) return Array(queries.length).fill(await ask(first))
  const together = queries.length === 1 ? null : joined(queries)
  if (together === null) {
    const found: Found[] = []
    for (const query of queries) found.push(await ask(query))
    return found
  }
  const rows: Row[][] = queries.map(() => [])
  for (const row of (await ask(together)).rows) rows[Number(row[CALLER]) - 1]?.push(row)
  return rows.map((own) => (own.length === 0 ? NOTHING_FOUND : { rows: own, changes: own.length }))
}

export interface Points {
  read<T>(verb: () => Asking<T>): Promise<T>
  close(): Promise<void>
}

export const createPoints = (open: () => Promise<Connection>): Points => {
  let connection: Connection | null = null
  let before: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = before.then(work)
    before = done.catch(() => {})
    return done
  }

  const ready = async (): Promise<Connection> => {
    if (connection?.isLost === true) {
      await connection.close()
      connection = null
    }
    connection ??= await open()
    return connection
  }

  const run = async (queries: readonly Query[]): Promise<readonly Found[]> => {
    const { query: ask } = await ready()
    const byText = new Map<string, number[]>()
    for (const [i, { text }] of queries.entries()) byText.set(text, [...(byText.get(text) ?? []), i])
    const answers: Found[] = []
    for (const places of byText.values()) {
      const found = await askAll(
        ask,
        places.map((i) => queries[i] as Query),
      )
      for (const [n, i] of places.entries()) answers[i] = found[n] as Found
    }
    return answers
  }

  const query = gather({ run, inTurn, weigh: () => 1, most: MOST })
  return {
    read: (verb) => persistently(() => answer({ query }, verb())),
    close: () => inTurn(async () => connection?.close()),
  }
}
