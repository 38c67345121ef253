/**
 * NAME      query-text - the text of a search field to a query
 * DESCRIPTION
 *   Terms stand side by side, and all must hold: `name:value`, or a value alone; `-` or NOT before one
 *   negates it, and double quotes keep blanks and colons together. OR joins the terms beside it and binds
 *   closer than blanks do: `a b OR c` is a, and b or c. There are no brackets. What is not understood is
 *   refused, a name that is none with the nearest one that is, so that no typing mistake finds everything.
 */

import { type Field, NAMED_FIELDS, type Query, readTag, type Term, tagText } from './query.js'
import { STATUSES } from './status.js'

const MOST_TERMS = 16
const MOST_CHARACTERS = 256

export interface QueryMistake {
  readonly message: string
  readonly kind: 'length' | 'too_many' | 'unsupported' | 'format'
}

type Parsed = { readonly query: Query } | { readonly mistake: QueryMistake }

interface QueryTimes {
  /** The first moment of a day such as 2026-11-20, where the caller is; null when there is no such day. */
  readonly day: (text: string) => number | null
  /** A point in time with its zone. */
  readonly time: (text: string) => number | null
}

const NAMES = [...NAMED_FIELDS, 'before', 'after'] as const
/** Other words that people write for a name. */
const SAME: Readonly<Record<string, (typeof NAMES)[number]>> = {
  recipient: 'to',
  rcpt: 'to',
  sender: 'from',
  messageid: 'message-id',
  message_id: 'message-id',
  since: 'after',
  until: 'before',
}
const IS = ['held', 'deferred', 'complained', 'resent', 'test', 'live']
const HAS = ['attachment']
const ID = /^em_[0-9a-z]{26}$/
const DAY = /^\d{4}-\d\d-\d\d$/

/** One term as it was written: minus, name with its colon, value in quotes or bare. */
const TERM = /(-?)(?:([A-Za-z][A-Za-z_-]*):)?(?:"([^"]*)("?)|(\S*))/y

interface Written {
  readonly negated: boolean
  readonly name: string | null
  readonly value: string
  readonly isQuoted: boolean
  readonly isLast: boolean
}

class Mistake extends Error {
  constructor(readonly mistake: QueryMistake) {
    super(mistake.message)
  }
}
const refuse = (kind: QueryMistake['kind'], message: string): never => {
  throw new Mistake({ kind, message })
}

const split = (text: string): readonly Written[] => {
  const found: Written[] = []
  let at = 0
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at++
    if (at >= text.length) return found
    TERM.lastIndex = at
    const [whole, minus, name, quoted, end, bare] = TERM.exec(text) as RegExpExecArray
    if (quoted !== undefined && end !== '"') refuse('format', 'must close its quotes')
    at += whole.length
    found.push({
      negated: minus === '-',
      name: name?.toLowerCase() ?? null,
      value: quoted ?? bare ?? '',
      isQuoted: quoted !== undefined,
      isLast: at >= text.length,
    })
  }
}

/** How many letters must change to make one of the other. */
const distance = (a: string, b: string): number => {
  let row = [...b].map((_, i) => i + 1)
  for (const [i, letter] of [...a].entries()) {
    const next: number[] = []
    for (const [j, other] of [...b].entries()) {
      const above = j === 0 ? i : (row[j - 1] ?? 0)
      next.push(Math.min((next[j - 1] ?? i + 1) + 1, (row[j] ?? 0) + 1, above + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? a.length
}

const nearest = (word: string, words: readonly string[]): string =>
  [...words].sort((a, b) => distance(word, a) - distance(word, b))[0] ?? ''

const oneOf = (name: string, value: string, words: readonly string[]): string => {
  if (words.includes(value)) return value
  return refuse(
    'unsupported',
    `has no ${name}:${value}; did you mean ${name}:${nearest(value, words)}? There are ${words.join(', ')}`,
  )
}

const fieldOf = (name: string, value: string): Field | 'before' | 'after' => {
  const known = SAME[name] ?? NAMES.find((one) => one === name)
  if (known !== undefined) return known
  return refuse(
    'unsupported',
    `has no ${name}:; did you mean ${nearest(name, NAMES)}:? To look for the text itself, write "${name}:${value}" in quotes`,
  )
}

/** In capitals and without quotes these join terms; otherwise they are words. */
const OPERATORS = ['OR', 'AND', 'NOT']
const isOperator = ({ name, value, isQuoted, negated }: Written): boolean =>
  name === null && !isQuoted && !negated && OPERATORS.includes(value)

/** A bracket that would part terms; `(a)` alone is text. */
const hasBracket = ({ name, value, isQuoted, negated }: Written, isJoined: boolean): boolean =>
  !isQuoted &&
  name === null &&
  ((value.startsWith('(') && (isJoined || negated)) || (isJoined && value.endsWith(')')))

const inQuotes = (word: string): string => `to look for the word itself, write "${word}" in quotes`

/** The terms, those that OR joins side by side. */
const joined = (written: readonly Written[]): readonly (readonly Written[])[] => {
  const isJoined = written.some(isOperator)
  const clauses: Written[][] = []
  /** What still waits for the term behind it. */
  let join: string | null = null
  let isNegated = false
  for (const one of written) {
    if (hasBracket(one, isJoined)) refuse('unsupported', `has no brackets, such as in ${one.value}`)
    if (isOperator(one)) {
      const misses = one.value !== 'NOT' && (clauses.length === 0 || join !== null || isNegated)
      if (misses) refuse('format', `must have a term before ${one.value}; ${inQuotes(one.value)}`)
      if (one.value === 'NOT') isNegated = !isNegated
      else join = one.value
      continue
    }
    const term = { ...one, negated: one.negated !== isNegated }
    if (join === 'OR') clauses.at(-1)?.push(term)
    else clauses.push([term])
    join = null
    isNegated = false
  }
  const open = isNegated ? 'NOT' : join
  if (open !== null) refuse('format', `must have a term after ${open}; ${inQuotes(open)}`)
  return clauses
}

const termOf = ({ negated, name, value, isQuoted, isLast }: Written): Term | Written => {
  // what only looks like a name: a time of day, a URL
  const isText = name === null || value.startsWith('//')
  const text = isText && name !== null ? `${name}:${value}` : value
  const open = isLast && !isQuoted
  if (isText) {
    const field = ID.test(text) ? 'id' : text.startsWith('<') && text.endsWith('>') ? 'message-id' : 'text'
    return { field, value: text, negated, open }
  }
  const field = fieldOf(name ?? '', value)
  if (value === '') refuse('format', `must say something after ${name}:`)
  const lower = value.toLowerCase()
  switch (field) {
    case 'before':
    case 'after':
      return { negated, name: field, value, isQuoted, isLast }
    case 'status':
      return { field, value: oneOf('status', lower, STATUSES), negated, open }
    case 'is':
      return { field, value: oneOf('is', lower, IS), negated, open }
    case 'has':
      return { field, value: oneOf('has', lower.replace(/s$/, ''), HAS), negated, open }
    case 'message-id':
      return { field, value: `<${value.replace(/^<|>$/g, '')}>`, negated, open }
    case 'tag':
      return { field, value: tagText(readTag(value)), negated, open }
    default:
      return { field, value, negated, open }
  }
}

const timeOf = (name: string, value: string, { day, time }: QueryTimes): number =>
  (DAY.test(value) ? day(value) : time(value)) ??
  refuse('format', `must have a day (2026-11-20) or a time with its zone after ${name}:`)

const read = (text: string, times: QueryTimes): Query => {
  if ([...text].length > MOST_CHARACTERS) refuse('length', `must have at most ${MOST_CHARACTERS} characters`)
  const written = split(text).filter(({ name, value }) => name !== null || value !== '')
  if (written.length > MOST_TERMS) refuse('too_many', `must have at most ${MOST_TERMS} terms`)
  const terms: Term[] = []
  const either: Term[][] = []
  let from: number | null = null
  let before: number | null = null
  for (const clause of joined(written)) {
    const read = clause.map(termOf)
    const [term] = read
    if (term === undefined) continue
    if (read.length > 1) {
      either.push(
        read.map((one) => ('field' in one ? one : refuse('unsupported', `has no OR beside ${one.name}:`))),
      )
      continue
    }
    if ('field' in term) {
      terms.push(term)
      continue
    }
    const at = timeOf(term.name ?? '', term.value, times)
    // not before a time is from it on
    if ((term.name === 'after') !== term.negated) from = Math.max(from ?? at, at)
    else before = Math.min(before ?? at, at)
  }
  return { terms, ...(either.length > 0 && { either }), from, before }
}

export const parseQuery = (text: string, times: QueryTimes): Parsed => {
  try {
    return { query: read(text, times) }
  } catch (error) {
    if (error instanceof Mistake) return { mistake: error.mistake }
    throw error
  }
}
