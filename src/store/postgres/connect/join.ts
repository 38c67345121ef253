/**
 * NAME      join - several reads of one text are one statement
 * DESCRIPTION
 *   Joined to what each of them was given. What is the same for all stays a value: a limit can be nothing else.
 */
import { type Found, NOTHING_FOUND, type Query, type Row } from '../../sql/query.js'

const CALLER = 'caller_'
const LIMIT = /\b(?:LIMIT|OFFSET) $/

type Ask = (query: Query) => Promise<Found>
type ArrayType = 'BIGINT[]' | 'TEXT[]'

/** Of one place in all of them; null: they cannot be one array. */
const arrayOf = (values: readonly unknown[]): ArrayType | null => {
  if (values.every((value) => typeof value === 'string')) return 'TEXT[]'
  return values.every((value) => Number.isSafeInteger(value)) ? 'BIGINT[]' : null
}

/** One statement for reads of one text; null: they go one by one. */
export const joined = (queries: readonly Query[]): Query | null => {
  const [{ text, values }] = queries as readonly [Query, ...Query[]]
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
const askEach = async (ask: Ask, queries: readonly Query[]): Promise<readonly Found[]> => {
  const [first] = queries as readonly [Query, ...Query[]]
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
export const askTogether = async (ask: Ask, queries: readonly Query[]): Promise<readonly Found[]> => {
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
      places.map((i) => queries[i] as Query),
    )
    for (const [n, i] of places.entries()) answers[i] = found[n] as Found
  }
  return answers
}
