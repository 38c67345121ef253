/**
 * NAME      plan - which lead finds the mails of a query
 * DESCRIPTION
 *   A Message-ID or an id leads by itself. Else words, addresses and tags lead,
 *   unless a status, a reason or a hold is so rare that all of its mails are looked
 *   at sooner. What none of them can find goes over all mails of the caller.
 */
import {
  clausesOf,
  domainSought,
  hasRuns,
  sortedAddress,
  soughtOf,
  type Term,
  termsIn,
  wordsOf,
} from '../../../mail/query.js'
import { STATUSES } from '../../../mail/status.js'
import type { SearchFilter } from '../../port/mail.js'
import { COMPLAINED, scopeOf } from '../log/codec.js'
import { addressLc, ordsOfMessage, workspacesIn } from '../mails.js'
import type { Range } from '../pages.js'
import { type Asking, all, first } from '../query.js'
import { keysCalled } from './keys.js'
import { type Direction, type IndexRange, type Lead, listLead, tableLead, withList } from './leads.js'
import { TOKENS } from './tokens.js'
import type { Expression, Sought, Words } from './words.js'

/** Mails with one Message-ID, and mails that are looked at one by one rather than by words. */
const FEW = 1_500

/** Of what is not of a status, ranges that are looked into side by side; beyond that, going over all mails costs less. */
const MOST_RANGES = 400

const allOf = (parts: readonly (Sought | null)[]): Sought | null => {
  const known = parts.filter((part) => part !== null)
  return known.length === 0 ? null : { all: known }
}
const anyOf = (parts: readonly (Sought | null)[]): Sought | null => {
  const known = parts.filter((part) => part !== null)
  return known.length === 0 ? null : { any: known }
}

const ofWords = ({ value, open }: Term): Sought | null => {
  const words = wordsOf(value)
  const runs = words.filter(hasRuns)
  if (runs.length > 0) return allOf([...new Set(runs.flatMap(soughtOf).map(TOKENS.word))])
  const whole = open ? words.slice(0, -1) : words
  const last = open ? words.at(-1) : undefined
  return allOf([...whole.map(TOKENS.word), ...(last === undefined ? [] : [anyOf(TOKENS.wordStart(last))])])
}

const ofDomain = (value: string, tokenOf: (domain: string) => string): readonly string[] => {
  const domain = domainSought(value)
  return domain === null ? [] : [tokenOf(domain)]
}

const ofMailbox = (value: string): Sought | null =>
  anyOf([...TOKENS.addressStart(sortedAddress(value)), ...ofDomain(value, TOKENS.domain)])

const POOLS = 'SELECT n FROM pools WHERE account_id = ? AND (id = ? OR name = ?)'

/** What the index must hold for a term; null where it can not tell. */
function* expressionOf(accountId: string, subjects: boolean, term: Term): Asking<Sought | null> {
  const { field, value } = term
  switch (field) {
    case 'text':
      return anyOf([subjects ? ofWords(term) : null, ofMailbox(value)])
    case 'subject':
      return ofWords(term)
    case 'to':
      return ofMailbox(value)
    case 'from':
      return anyOf([...TOKENS.senderStart(sortedAddress(value)), ...ofDomain(value, TOKENS.senderDomain)])
    case 'domain':
      return anyOf(ofDomain(value, TOKENS.domain))
    case 'tag':
      return anyOf([TOKENS.tag(value)])
    case 'pool':
      return anyOf([
        TOKENS.pool(0), // no pool has it: an unknown one finds nothing
        ...(yield* all(POOLS, accountId, value, value)).map(({ n }) => TOKENS.pool(n as number)),
      ])
    case 'key':
      return anyOf([TOKENS.key(value), ...(yield* keysCalled(accountId, value)).map(TOKENS.key)])
    case 'has':
      return anyOf([TOKENS.attachment])
    case 'is':
      return value === 'resent' ? anyOf([TOKENS.resent]) : value === 'test' ? anyOf([TOKENS.test]) : null
    default:
      return null
  }
}

/** Terms whose token is all that they mean, so that it can be left out, too. */
const isExact = ({ field, value }: Term): boolean =>
  field === 'has' || (field === 'is' && (value === 'resent' || value === 'test'))

function* several(table: 'accounts' | 'workspaces'): Asking<boolean> {
  return (yield* all(`SELECT 1 AS one FROM ${table} LIMIT 2`)).length > 1
}

/** Whose it must be; where there is nobody else, that costs much and says nothing. */
function* ownerOf(
  { accountId, workspaceId }: SearchFilter,
  workspaces: readonly number[],
): Asking<readonly string[]> {
  if (workspaceId !== null)
    return (yield* several('workspaces')) ? [TOKENS.workspace(workspaces[0] ?? 0)] : []
  return (yield* several('accounts')) ? [TOKENS.account(accountId)] : []
}

function* searchExpression(filter: SearchFilter, workspaces: readonly number[]): Asking<Expression | null> {
  const { accountId, query, subjects, to, tag, mode } = filter
  const wanted: Sought[] = []
  const unwanted: Sought[] = []
  for (const term of query.terms) {
    if (term.negated && !isExact(term)) continue
    const one = yield* expressionOf(accountId, subjects, term)
    if (one !== null) (term.negated ? unwanted : wanted).push(one)
  }
  for (const clause of query.either ?? []) {
    const parts: Sought[] = []
    for (const term of clause) {
      const one = term.negated ? null : yield* expressionOf(accountId, subjects, term)
      if (one !== null) parts.push(one)
    }
    // what one of them can not tell, all of them can not
    if (parts.length === clause.length) wanted.push({ any: parts })
  }
  if (to !== null) wanted.push(TOKENS.address(addressLc(to)))
  if (tag !== null) wanted.push(TOKENS.tag(`${tag.name}:${tag.value}`))
  if (wanted.length === 0) return null
  const isLive =
    mode === 'live' || query.terms.some((one) => one.field === 'is' && one.value === 'live' && !one.negated)
  return {
    wanted: [...wanted, ...(yield* ownerOf(filter, workspaces)), ...(mode === 'test' ? [TOKENS.test] : [])],
    unwanted: [...(isLive ? [TOKENS.test] : []), ...unwanted],
  }
}

const modesOf = ({ mode, query }: SearchFilter): readonly number[] => {
  const named = query.terms.find(
    ({ field, value }) => field === 'is' && (value === 'test' || value === 'live'),
  )
  const said = named && (named.negated === (named.value === 'live') ? 'test' : 'live')
  const wanted = mode ?? said
  return wanted == null ? [0, 1] : [wanted === 'test' ? 1 : 0]
}

/** Where all mails with a status are. */
const rangesOfStatus = (
  status: string,
  workspaces: readonly number[],
  modes: readonly number[],
): IndexRange[] =>
  workspaces.flatMap((n) =>
    modes.map((test) => ({
      from: 'emails e',
      ord: 'e.ord',
      where: 'e.workspace = ? AND e.test = ? AND e.status = ?',
      params: [n, test, status],
    })),
  )

/** Ranges of the tables' own indexes that hold all mails with a term, or null. */
const rangesOfTerm = (
  term: Term,
  workspaces: readonly number[],
  modes: readonly number[],
  heldTable: string,
): IndexRange[] | null => {
  const { field, value, negated } = term
  if (field === 'status') {
    const ranges = STATUSES.filter((status) => (status === value) !== negated).flatMap((status) =>
      rangesOfStatus(status, workspaces, modes),
    )
    return negated && ranges.length > MOST_RANGES ? null : ranges
  }
  if (negated) return null
  const common = { from: 'recipients r', ord: 'r.email_ord' }
  if (field === 'reason')
    return workspaces.map((n) => ({
      ...common,
      where: 'r.workspace = ? AND r.reason = ?',
      params: [n, value.toLowerCase()],
    }))
  if (field === 'is' && value === 'held')
    return workspaces.map((n) => ({
      ...common,
      from: `${heldTable} r`,
      where: 'r.workspace = ? AND r.held IS NOT NULL',
      params: [n],
    }))
  // a complaint in the history of a mail that came with an import has no scope: it is found beside another term alone
  if (field === 'is' && value === 'complained')
    return workspaces.flatMap((n) =>
      modes.map((test) => ({
        from: 'events v',
        ord: 'v.email',
        where: 'v.scope = ? AND v.kind = ?',
        params: [scopeOf(n, test === 1), COMPLAINED],
      })),
    )
  return null
}

/** The same of a choice of terms: of all of them together. */
const rangesOfClause = (
  clause: readonly Term[],
  ...of: readonly [readonly number[], readonly number[], string]
): IndexRange[] | null => {
  const ranges = clause.map((term) => rangesOfTerm(term, ...of))
  return ranges.some((one) => one === null) ? null : ranges.flatMap((one) => one ?? [])
}

const everything = (workspaces: readonly number[], modes: readonly number[]): IndexRange[] =>
  workspaces.flatMap((n) =>
    modes.map((test) => ({
      from: 'emails e',
      ord: 'e.ord',
      where: 'e.workspace = ? AND e.test = ?',
      params: [n, test],
    })),
  )

/** All that a lead has in a range, when that is little. */
function* fewOf(lead: Lead, direction: Direction, range: Range): Asking<readonly number[] | null> {
  const { ords } = yield* lead.take(direction, range, FEW)
  return ords.length < FEW ? ords : null
}

/** The places of what is named by itself, or null. */
function* named({ terms }: SearchFilter['query']): Asking<readonly number[] | null> {
  for (const { field, value, negated } of terms) {
    if (negated) continue
    if (field === 'id') {
      const row = yield* first('SELECT ord FROM emails WHERE id = ?', value)
      return row === null ? [] : [row.ord as number]
    }
    if (field === 'message-id') return yield* ordsOfMessage(value, FEW)
  }
  return null
}

/** Message-IDs that were written without their brackets, and may be addresses as well. */
function* messagesIn(query: SearchFilter['query']): Asking<readonly number[]> {
  const ords: number[] = []
  for (const { field, value, negated } of termsIn(query))
    if (field === 'text' && !negated && value.includes('@'))
      ords.push(...(yield* ordsOfMessage(`<${value}>`, FEW)))
  return ords
}

export function* planOf(
  words: Pick<Words, 'lead' | 'held'>,
  filter: SearchFilter,
  direction: Direction,
  range: Range,
): Asking<Lead> {
  const known = yield* named(filter.query)
  if (known !== null) return listLead(known)
  const workspaces = yield* workspacesIn(filter)
  const modes = modesOf(filter)
  const { status } = filter
  const clauses: readonly (readonly Term[])[] = [
    ...clausesOf(filter.query),
    ...(status === null ? [] : [[{ field: 'status', value: status, negated: false, open: false } as const]]),
  ]
  const leads = clauses
    .map((clause) => rangesOfClause(clause, workspaces, modes, words.held))
    .filter((ranges) => ranges !== null)
    .map((ranges) => tableLead(ranges))
  for (const lead of leads) {
    const few = yield* fewOf(lead, direction, range)
    if (few !== null) return listLead(few)
  }
  const expression = yield* searchExpression(filter, workspaces)
  if (expression !== null) return withList(words.lead(expression), yield* messagesIn(filter.query))
  return leads[0] ?? tableLead(everything(workspaces, modes))
}
