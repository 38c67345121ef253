/**
 * NAME      search/tokens - a mail as the index has it, and how the index is asked
 *   Each token is a letter that says what it is of, and a word, an address or the
 *   start of one. The index knows no case, so no two letters differ in it only. Starts are cut at a few lengths only: a longer one is looked for
 *   by the longest cut within it, and the mail itself says whether it was meant.
 *   They are made of what never changes in a mail but its pool, so the same tokens
 *   are known again when they are to be deleted: a change here needs a step of the
 *   schema that empties the index.
 */
import { domainOf } from '../../../mail/address.js'
import { fold, piecesOf, senderOf, wordsOf } from '../../../mail/query.js'
import type { IndexedMail } from '../../port/watch.js'
import { readLists } from '../mails.js'
import type { Range } from '../pages.js'
import { type Asking, all, atOnce, first, type Row, together } from '../query.js'

/** Anything that would part a token in two. */
const SEPARATORS = /[\x00-\x2a\x2c\x2f\x3b\x3c\x3e\x3f\x5b-\x5e\x60\x7b-\x7f]/g

const token = (kind: string, text: string): string => kind + text.replace(SEPARATORS, '_')

const WORD_CUTS = [3, 6]
const ADDRESS_CUTS = [3, 6, 10]
const SENDER_CUTS = [3]

/** Those starts of a text that are shorter than it. */
const startsOf = (kind: string, text: string, cuts: readonly number[]): readonly string[] =>
  cuts.filter((cut) => cut < text.length).map((cut) => token(kind, text.slice(0, cut)))

/** Where a text that starts like this is found: under its longest cut, or itself. */
const startSought = (
  whole: string,
  start: string,
  text: string,
  cuts: readonly number[],
): readonly string[] => {
  const cut = cuts.findLast((one) => one <= text.length)
  return [token(whole, text), ...(cut === undefined ? [] : [token(start, text.slice(0, cut))])]
}

export interface SearchFacts {
  readonly sender: string
  readonly subject: string
  /** JSON of its lists. */
  readonly lists: string
  readonly submitted_by: string | null
  readonly addresses: readonly string[]
}

export const TOKENS = {
  word: (piece: string) => token('s', piece),
  wordStart: (word: string) => startSought('s', 't', word, WORD_CUTS),
  addressStart: (address: string) => startSought('a', 'b', address, ADDRESS_CUTS),
  address: (address: string) => token('a', address),
  domain: (domain: string) => token('d', domain),
  senderStart: (address: string) => startSought('f', 'e', address, SENDER_CUTS),
  senderDomain: (domain: string) => token('c', domain),
  tag: (text: string) => token('g', fold(text)),
  key: (id: string) => token('y', id),
  resent: 'x1',
  attachment: 'h1',
  test: 'm1',
  account: (id: string) => `k${id}`,
  workspace: (n: number) => `w${n}`,
  pool: (n: number) => `p${n}`,
} as const

/** What a mail is found by, but for whose it is. */
export const tokensOf = ({ sender, subject, addresses, ...row }: SearchFacts): string => {
  const { tags, attachments, extras, submittedBy } = readLists(row)
  const tokens = new Set<string>()
  for (const word of wordsOf(subject)) {
    for (const piece of piecesOf(word)) tokens.add(TOKENS.word(piece))
    for (const start of startsOf('t', word, WORD_CUTS)) tokens.add(start)
  }
  for (const address of addresses) {
    tokens.add(TOKENS.address(address)).add(TOKENS.domain(domainOf(address)))
    for (const start of startsOf('b', address, ADDRESS_CUTS)) tokens.add(start)
  }
  const from = senderOf(sender)
  tokens.add(token('f', from)).add(TOKENS.senderDomain(domainOf(from)))
  for (const start of startsOf('e', from, SENDER_CUTS)) tokens.add(start)
  for (const { name, value } of tags) tokens.add(TOKENS.tag(name)).add(TOKENS.tag(`${name}:${value}`))
  if (attachments.length > 0) tokens.add(TOKENS.attachment)
  if (extras?.resent_from !== undefined) tokens.add(TOKENS.resent)
  if (submittedBy != null) tokens.add(TOKENS.key(submittedBy))
  return [...tokens].join(' ')
}

export interface Owner {
  readonly account: string
  readonly workspace: number
  readonly pool: number
  readonly test: number
}

/** Whose it is. */
export const ownerTokens = ({ account, workspace, pool, test }: Owner): string =>
  [
    TOKENS.account(account),
    TOKENS.workspace(workspace),
    TOKENS.pool(pool),
    ...(test === 1 ? [TOKENS.test] : []),
  ].join(' ')

// Which keys and credentials somebody means. By an id, a name, the beginning that lists show of a key, or a login.
// One that was revoked is known by its id only.

export function* keysCalled(accountId: string, name: string): Asking<readonly string[]> {
  const rows = yield* all(
    `SELECT id FROM keys WHERE account_id = ? AND (id = ? OR name = ? OR 'svc_' || mode || '_' || lookup = ?)
     UNION ALL SELECT id FROM credentials WHERE account_id = ? AND (id = ? OR username = ? OR cidr = ?)`,
    ...[accountId, name, name, name, accountId, name, name, name],
  )
  return rows.map(({ id }) => id as string)
}

// The index of words, as each database has it.

/** What a mail's tokens must be. */
export type Tokens = string | { readonly all: readonly Tokens[] } | { readonly any: readonly Tokens[] }

/** All of the one, and none of the others. */
export interface Expression {
  readonly wanted: readonly Tokens[]
  readonly unwanted: readonly Tokens[]
}

export interface WordIndex {
  /** Mails whose tokens are so. For one search: it may remember how quick the last look was. */
  lead(expression: Expression): Lead
  /** Whether a mail has all of these tokens. */
  hasMail(tokens: readonly string[]): Asking<boolean>
  /** Rows of mails (sql/mails.ts) at these places, in any order. */
  mailsAt(ords: readonly number[]): Asking<readonly Row[]>
  /** Their recipients: `email_ord`, `address_lc`, `status`, `reason`, `held`. */
  recipientsAt(ords: readonly number[]): Asking<readonly Row[]>
  /** Those of them that a recipient complained about, as far as the report could be believed: `email_ord`. */
  complainedAt(ords: readonly number[]): Asking<readonly Row[]>
  /** How many are best asked for together. */
  readonly together: number
  /** The table of recipients that are held. */
  readonly held: string
  /** Work for what surrounds a page, in ms. */
  readonly asideMs: number
}

// Where mails come from that may be what is looked for. A lead offers places in their order, some at a time: from the
// index of words, from an index of the tables, or from a list that is known already. It may offer too many, and never
// leaves one out.

export type Direction = 'older' | 'newer'

interface Offered {
  /** In the direction asked for. */
  readonly ords: readonly number[]
  /** What is left of the range. */
  readonly rest: Range
}

export interface Lead {
  take(direction: Direction, range: Range, limit: number): Asking<Offered>
}

const NOTHING_LEFT: Range = { from: 0, to: 0 }

/** What is left behind the last of them. */
const beyond = (direction: Direction, { from, to }: Range, last: number): Range =>
  direction === 'older' ? { from, to: last } : { from: last + 1, to }

export const way = (direction: Direction): string => (direction === 'older' ? 'DESC' : 'ASC')

/** What a look into the nearest part of a range answers, `limit` places at most. */
export const offered = (
  direction: Direction,
  range: Range,
  looked: Range,
  ords: readonly number[],
  limit: number,
): Offered => {
  if (ords.length === limit) return { ords, rest: beyond(direction, range, ords.at(-1) as number) }
  return {
    ords,
    rest: direction === 'older' ? { from: range.from, to: looked.from } : { from: looked.to, to: range.to },
  }
}

/** A range of an index of the tables. */
export interface IndexRange {
  readonly from: string
  readonly ord: string
  readonly where: string
  readonly params: readonly unknown[]
}

function* ordsIn(
  ranges: readonly IndexRange[],
  direction: Direction,
  { from, to }: Range,
  limit: number,
): Asking<number[]> {
  const found: number[] = []
  for (const { from: table, ord, where, params } of ranges) {
    const rows = yield* all(
      `SELECT DISTINCT ${ord} AS ord FROM ${table} WHERE ${where} AND ${ord} >= ? AND ${ord} < ? ORDER BY ${ord} ${way(direction)} LIMIT ? + 0`,
      ...[...params, from, to, limit],
    )
    for (const row of rows) found.push(row.ord as number)
  }
  return found
}

/** Rows of some ranges together: in one snapshot, since a mail that goes from one to another must be seen in one of them. */
export const tableLead = (ranges: readonly IndexRange[]): Lead => ({
  *take(direction, { from, to }, limit) {
    const sign = direction === 'older' ? -1 : 1
    const found = yield* together(() => ordsIn(ranges, direction, { from, to }, limit))
    const ords = found.sort((a, b) => sign * (a - b)).filter((ord, i, all) => ord !== all[i - 1])
    const taken = ords.slice(0, limit)
    const last = taken.at(-1)
    const isAll = ords.length < limit || last === undefined
    return { ords: taken, rest: isAll ? NOTHING_LEFT : beyond(direction, { from, to }, last) }
  },
})

/** Places that are known, in any order. */
export const listLead = (ords: readonly number[]): Lead => ({
  take: (direction, { from, to }) =>
    atOnce(() => {
      const sign = direction === 'older' ? -1 : 1
      const within = ords.filter((ord) => ord >= from && ord < to)
      return { ords: [...new Set(within)].sort((a, b) => sign * (a - b)), rest: NOTHING_LEFT }
    }),
})

/** Places that are known beside what a lead has; no further than it has come. */
export const withList = (lead: Lead, known: readonly number[]): Lead => ({
  *take(direction, range, limit) {
    const { ords, rest } = yield* lead.take(direction, range, limit)
    const isOlder = direction === 'older'
    const isAll = rest.from >= rest.to
    const from = isAll || !isOlder ? range.from : rest.to
    const to = isAll || isOlder ? range.to : rest.from
    const more = known.filter((ord) => ord >= from && ord < to)
    return { ords: [...new Set([...ords, ...more])].sort((a, b) => (isOlder ? b - a : a - b)), rest }
  },
})

// Mail, as the index of words will have it.

/** The last place that is in the index. */
export function* placeOfIndex(): Asking<number> {
  return Number((yield* first('SELECT place FROM search_state'))?.place ?? 0)
}

/** `row` has the columns of Facts, recipients have `address_lc`. */
export const indexedMail = (row: Row, recipients: readonly Row[]): IndexedMail => {
  const addresses = recipients.map(({ address_lc: address }) => address as string)
  return [row.ord as number, tokensOf({ ...(row as unknown as SearchFacts), addresses })]
}

export const indexReads = {
  *notIndexedSince(): Asking<number | null> {
    const next = 'SELECT created_at FROM emails WHERE ord > ? ORDER BY ord LIMIT 1'
    return ((yield* first(next, yield* placeOfIndex()))?.created_at as number | undefined) ?? null
  },
}
