/**
 * NAME      lexemes - tokens as the index of words has them
 * DESCRIPTION
 *   A lexeme has at most 2,046 octets, and all of a mail a megabyte. A longer token is cut, and of what is beyond all
 *   measure the last are left out. Each mail also has a lexeme for the span of time that its place is in, of several
 *   lengths: by these a search looks at a part of the index only, whatever words it looks for.
 */
import { ordAt, TOP, timeOf } from '../../sql/pages.js'
import type { Expression, Sought } from '../../sql/search/words.js'

const LONGEST = 500
const MOST = 250_000

/** How long the spans are, as powers of two of milliseconds: from 16 s to 12 days. */
const LENGTHS = [14, 18, 22, 26, 30].map((bits) => ordAt(timeOf(0) + 2 ** bits))

export const WIDEST = LENGTHS.length

const cut = (token: string): string =>
  token.length <= LONGEST ? token : token.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '')

const spanName = (level: number, n: number): string => `z${level}:${n.toString(36)}`

/** The span of a level that has a place; beyond the widest, all places. */
export const spanAt = (ord: number, level: number) => {
  const length = LENGTHS[level] ?? TOP
  const n = Math.floor(ord / length)
  return { from: n * length, to: (n + 1) * length, name: spanName(level, n) }
}

export const lexemesOf = (ord: number, tokens: string): readonly string[] => {
  const lexemes = LENGTHS.map((_, level) => spanAt(ord, level).name)
  let length = 0
  for (const token of tokens.split(' ')) {
    const lexeme = cut(token)
    length += lexeme.length
    if (length > MOST) break
    lexemes.push(lexeme)
  }
  return lexemes
}

const textOf = (sought: Sought): string => {
  if (typeof sought === 'string') return `'${cut(sought)}'`
  return 'all' in sought
    ? `(${sought.all.map(textOf).join(' & ')})`
    : `(${sought.any.map(textOf).join(' | ')})`
}

/** What a tsquery is read from. Tokens have no quotes in them. */
export const queryOf = ({ wanted, unwanted }: Expression): string =>
  [textOf({ all: wanted }), ...unwanted.map((one) => `!${textOf(one)}`)].join(' & ')
