/**
 * NAME      plan - which lead finds the mails of a query
 * DESCRIPTION
 *   A Message-ID or an id leads by itself. Else words, addresses and tags lead,
 *   unless a status, a reason or a hold is so rare that all of its mails are looked
 *   at sooner. What none of them can find goes over all mails of the caller.
 */
import { domainSought, sortedAddress } from '../../../mail/query/matches.js'
import type { Term } from '../../../mail/query/query.js'
import { hasRuns, soughtOf, wordsOf } from '../../../mail/query/words.js'
import type { SearchFilter } from '../../port/ledger.js'
import { addressLc, ordsOfMessage, workspacesIn } from '../../sql/mails/emails.js'
import type { Range } from '../../sql/order/days.js'
import type { Statements } from '../read/statements.js'
import { keysCalled } from './keys.js'
import {
  type Direction,
  type IndexRange,
  indexLead,
  type Lead,
  listLead,
  tableLead,
  withList,
} from './leads.js'
import { TOKENS } from './tokens.js'

/** Mails with one Message-ID, and mails that are looked at one by one rather than by words. */
const FEW = 1_500

const all = (tokens: readonly string[]): string | null =>
  tokens.length === 0 ? null : `(${tokens.map((one) => `"${one}"`).join(' AND ')})`
const any = (parts: readonly (string | null)[]): string | null => {
  const known = parts.filter((part) => part !== null)
  return known.length === 0 ? null : `(${known.join(' OR ')})`
}
const anyOf = (tokens: readonly string[]): string | null => any(tokens.map((one) => `"${one}"`))

const ofWords = ({ value, open }: Term): string | null => {
  const words = wordsOf(value)
  const runs = words.filter(hasRuns)
  if (runs.length > 0) return all([...new Set(runs.flatMap(soughtOf).map(TOKENS.word))])
  const whole = open ? words.slice(0, -1) : words
  const last = open ? words.at(-1) : undefined
  const parts = [
    ...whole.map((word) => `"${TOKENS.word(word)}"`),
    ...(last === undefined ? [] : [anyOf(TOKENS.wordStart(last))]),
  ]
  return parts.length === 0 ? null : `(${parts.join(' AND ')})`
}

const ofDomain = (value: string, tokenOf: (domain: string) => string): readonly string[] => {
  const domain = domainSought(value)
  return domain === null ? [] : [tokenOf(domain)]
}

const ofMailbox = (value: string): string | null =>
  anyOf([...TOKENS.addressStart(sortedAddress(value)), ...ofDomain(value, TOKENS.domain)])

/** What the index must hold for a term; null where it can not tell. */
const expressionOf = (sql: Statements, accountId: string, subjects: boolean, term: Term): string | null => {
  const { field, value } = term
  switch (field) {
    case 'text':
      return any([subjects ? ofWords(term) : null, ofMailbox(value)])
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
        ...sql('SELECT n FROM pools WHERE account_id = ? AND (id = ? OR name = ?)')
          .all(accountId, value, value)
          .map(({ n }) => TOKENS.pool(n as number)),
      ])
    case 'key':
      return anyOf([TOKENS.key(value), ...keysCalled(sql, accountId, value).map(TOKENS.key)])
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

const several = (sql: Statements, table: 'accounts' | 'workspaces'): boolean =>
  sql(`SELECT 1 AS one FROM ${table} LIMIT 2`).all().length > 1

/** Whose it must be; where there is nobody else, that costs much and says nothing. */
const ownerOf = (
  sql: Statements,
  { accountId, workspaceId }: SearchFilter,
  workspaces: readonly number[],
): readonly string[] => {
  if (workspaceId !== null)
    return several(sql, 'workspaces') ? [`"${TOKENS.workspace(workspaces[0] ?? 0)}"`] : []
  return several(sql, 'accounts') ? [`"${TOKENS.account(accountId)}"`] : []
}

const searchExpression = (
  sql: Statements,
  filter: SearchFilter,
  workspaces: readonly number[],
): string | null => {
  const { accountId, query, subjects, to, tag, mode } = filter
  const wanted = query.terms
    .filter(({ negated }) => !negated)
    .map((term) => expressionOf(sql, accountId, subjects, term))
    .filter((one) => one !== null)
  if (to !== null) wanted.push(`"${TOKENS.address(addressLc(to))}"`)
  if (tag !== null) wanted.push(`"${TOKENS.tag(`${tag.name}:${tag.value}`)}"`)
  if (wanted.length === 0) return null
  const unwanted = query.terms
    .filter((term) => term.negated && isExact(term))
    .map((term) => expressionOf(sql, accountId, subjects, term))
  const isLive =
    mode === 'live' || query.terms.some((one) => one.field === 'is' && one.value === 'live' && !one.negated)
  const text = [
    ...wanted,
    ...ownerOf(sql, filter, workspaces),
    ...(mode === 'test' ? [`"${TOKENS.test}"`] : []),
  ].join(' AND ')
  return [`(${text})`, ...(isLive ? [`"${TOKENS.test}"`] : []), ...unwanted].join(' NOT ')
}

const modesOf = ({ mode, query }: SearchFilter): readonly number[] => {
  const named = query.terms.find(
    ({ field, value }) => field === 'is' && (value === 'test' || value === 'live'),
  )
  const said = named && (named.negated === (named.value === 'live') ? 'test' : 'live')
  const wanted = mode ?? said
  return wanted == null ? [0, 1] : [wanted === 'test' ? 1 : 0]
}

/** Ranges of the tables' own indexes that hold all mails with a term, or null. */
const rangesOfTerm = (
  term: Term,
  workspaces: readonly number[],
  modes: readonly number[],
): IndexRange[] | null => {
  const { field, value, negated } = term
  if (negated) return null
  if (field === 'status')
    return workspaces.flatMap((n) =>
      modes.map((test) => ({
        from: 'emails e',
        ord: 'e.ord',
        where: 'e.workspace = ? AND e.test = ? AND e.status = ?',
        params: [n, test, value],
      })),
    )
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
      where: 'r.workspace = ? AND r.held IS NOT NULL',
      params: [n],
    }))
  return null
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
const fewOf = (lead: Lead, direction: Direction, range: Range): readonly number[] | null => {
  const { ords } = lead.take(direction, range, FEW)
  return ords.length < FEW ? ords : null
}

/** The places of what is named by itself, or null. */
const named = (sql: Statements, { terms }: SearchFilter['query']): readonly number[] | null => {
  for (const { field, value, negated } of terms) {
    if (negated) continue
    if (field === 'id') {
      const ord = sql('SELECT ord FROM emails WHERE id = ?').get(value)?.ord
      return ord === undefined ? [] : [ord as number]
    }
    if (field === 'message-id') return sql.ask(ordsOfMessage(value, FEW))
  }
  return null
}

/** Message-IDs that were written without their brackets, and may be addresses as well. */
const messagesIn = (sql: Statements, { terms }: SearchFilter['query']): readonly number[] =>
  terms
    .filter(({ field, value, negated }) => field === 'text' && !negated && value.includes('@'))
    .flatMap(({ value }) => sql.ask(ordsOfMessage(`<${value}>`, FEW)))

export const planOf = (sql: Statements, filter: SearchFilter, direction: Direction, range: Range): Lead => {
  const known = named(sql, filter.query)
  if (known !== null) return listLead(known)
  const workspaces = sql.ask(workspacesIn(filter))
  const modes = modesOf(filter)
  const { status } = filter
  const terms: readonly Term[] = [
    ...filter.query.terms,
    ...(status === null ? [] : [{ field: 'status', value: status, negated: false, open: false } as const]),
  ]
  const leads = terms
    .map((term) => rangesOfTerm(term, workspaces, modes))
    .filter((ranges) => ranges !== null)
    .map((ranges) => tableLead(sql, ranges))
  for (const lead of leads) {
    const few = fewOf(lead, direction, range)
    if (few !== null) return listLead(few)
  }
  const expression = searchExpression(sql, filter, workspaces)
  if (expression !== null) return withList(indexLead(sql, expression), messagesIn(sql, filter.query))
  return leads[0] ?? tableLead(sql, everything(workspaces, modes))
}
