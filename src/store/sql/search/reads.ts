/**
 * NAME      search/reads - the mails that a query finds
 *   A Message-ID or an id leads by itself. Else words, addresses and tags lead, unless a status, a reason or a hold is
 *   so rare that all of its mails are looked at sooner. What none of them can find goes over all mails of the caller.
 */

import { isAway } from '../../../lifecycle/orders.js'
import type { Page } from '../../../lifecycle/page.js'
import {
  clausesOf,
  domainSought,
  hasRuns,
  matches,
  needsComplaints,
  needsRecipients,
  type Sought,
  sortedAddress,
  soughtOf,
  type Term,
  termsIn,
  wordsOf,
} from '../../../mail/query.js'
import { CATEGORIES } from '../../../mail/report/category.js'
import { STATUSES } from '../../../mail/status.js'
import type { EmailRow, FoundPage, SearchFilter } from '../../port/mail.js'
import { COMPLAINED, scopeOf } from '../log/events.js'
import { addressLc, idsOfMails, ordsOfMessage, rangesFor, toEmail, workspacesIn } from '../mails.js'
import { boundaryOf, markOf, type Range, TOP } from '../pages.js'
import { type Asking, all, first, Memory, pause, type Row } from '../query.js'
import {
  type Direction,
  type Expression,
  type IndexRange,
  keysCalled,
  type Lead,
  listLead,
  placeOfIndex,
  TOKENS,
  type Tokens,
  tableLead,
  type WordIndex,
  withList,
} from './tokens.js'

/** Mails with one Message-ID, and mails that are looked at one by one rather than by words. */
const FEW = 1_500

/** Of what is not of a status, ranges that are looked into side by side; beyond that, going over all mails costs less. */
const MOST_RANGES = 400

const allOf = (parts: readonly (Tokens | null)[]): Tokens | null => {
  const known = parts.filter((part) => part !== null)
  return known.length === 0 ? null : { all: known }
}
const anyOf = (parts: readonly (Tokens | null)[]): Tokens | null => {
  const known = parts.filter((part) => part !== null)
  return known.length === 0 ? null : { any: known }
}

const ofWords = ({ value, open }: Term): Tokens | null => {
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

const ofMailbox = (value: string): Tokens | null =>
  anyOf([...TOKENS.addressStart(sortedAddress(value)), ...ofDomain(value, TOKENS.domain)])

const POOLS = 'SELECT n FROM pools WHERE account_id = ? AND (id = ? OR name = ?)'

/** What the index must hold for a term; null where it can not tell. */
function* expressionOf(accountId: string, subjects: boolean, term: Term): Asking<Tokens | null> {
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
  const wanted: Tokens[] = []
  const unwanted: Tokens[] = []
  for (const term of query.terms) {
    if (term.negated && !isExact(term)) continue
    const one = yield* expressionOf(accountId, subjects, term)
    if (one !== null) (term.negated ? unwanted : wanted).push(one)
  }
  for (const clause of query.either ?? []) {
    const parts: Tokens[] = []
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

function* planOf(
  words: Pick<WordIndex, 'lead' | 'held'>,
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

// Whether a mail that a lead offers is what is looked for.

const isInScope = (filter: SearchFilter, mail: EmailRow): boolean => {
  const { query, accountId, workspaceId, mode, status, tag, createdAfter, createdBefore } = filter
  return (
    mail.accountId === accountId &&
    (workspaceId === null || mail.workspaceId === workspaceId) &&
    (mode === null || mail.mode === mode) &&
    (status === null || mail.status === status) &&
    (createdAfter === null || mail.createdAt > createdAfter) &&
    (createdBefore === null || mail.createdAt < createdBefore) &&
    (query.from === null || mail.createdAt >= query.from) &&
    (query.before === null || mail.createdAt < query.before) &&
    (tag === null || mail.tags.some(({ name, value }) => name === tag.name && value === tag.value))
  )
}

const recipientOf = (row: Row): Sought['recipients'][number] => ({
  address: row.address_lc as string,
  reason: row.reason as string | null,
  isHeld: row.held !== null && !isAway(row.held as string),
  isDeferred: row.status === 'deferred',
})

const candidateOf = (
  mail: EmailRow,
  pool: Row | null,
  recipients: readonly Row[],
  isComplained: boolean,
  isOfKey: (named: string, id: string | null | undefined) => boolean,
): Sought => ({
  id: mail.id,
  subject: mail.subject,
  from: mail.from,
  messageId: mail.messageId,
  tags: mail.tags,
  mode: mail.mode,
  status: mail.status,
  poolId: (pool?.id as string | undefined) ?? '',
  poolName: (pool?.name as string | undefined) ?? '',
  isResent: mail.extras?.resent_from !== undefined,
  isOfKey: (named) => isOfKey(named, mail.submittedBy),
  hasAttachment: mail.attachments.length > 0,
  isComplained,
  recipients: recipients.map(recipientOf),
})

function* keysIn({ query, accountId }: SearchFilter): Asking<ReadonlySet<string>> {
  const keys = new Set<string>()
  for (const { field, value } of termsIn(query))
    if (field === 'key')
      for (const id of [value, ...(yield* keysCalled(accountId, value))]) keys.add(`${value} ${id}`)
  return keys
}

interface Judged {
  readonly ord: number
  readonly mail: EmailRow
}

/** Of mails at some places those that are meant, in that order. */
type Judge = (ords: readonly number[]) => Asking<readonly Judged[]>

function* judgeOf(words: WordIndex, filter: SearchFilter): Asking<Judge> {
  const { query, subjects } = filter
  const to = filter.to === null ? null : addressLc(filter.to)
  const asksRecipients = to !== null || needsRecipients(query)
  const asksComplaints = needsComplaints(query)
  const asksPool = termsIn(query).some(({ field }) => field === 'pool')
  const keys = yield* keysIn(filter)
  const isOfKey = (named: string, id: string | null | undefined) => keys.has(`${named} ${id}`)
  const pools = new Memory((n) => first('SELECT id, name FROM pools WHERE n = ?', n))

  return function* (ords) {
    const found = (yield* words.mailsAt(ords))
      .map((row) => ({ row, ord: row.ord as number, mail: toEmail(row) }))
      .filter(({ mail }) => isInScope(filter, mail))
    const recipients = asksRecipients ? yield* words.recipientsAt(found.map(({ ord }) => ord)) : []
    const complained = asksComplaints ? yield* words.complainedAt(found.map(({ ord }) => ord)) : []
    const judged = new Map<number, EmailRow>()
    for (const { row, ord, mail } of found) {
      const pool = asksPool ? yield* pools.of(row.pool as number) : null
      const own = recipients.filter((one) => one.email_ord === ord)
      if (to !== null && !own.some(({ address_lc }) => address_lc === to)) continue
      const isComplained = complained.some(({ email_ord }) => email_ord === ord)
      if (matches(query, candidateOf(mail, pool, own, isComplained, isOfKey), subjects)) judged.set(ord, mail)
    }
    return ords.flatMap((ord) => {
      const mail = judged.get(ord)
      return mail === undefined ? [] : [{ ord, mail }]
    })
  }
}

// Terms that name what is not there. A key that was never made finds nothing, and negated everything: whoever
// mistyped it must be told. A thing that is gone is known as long as there is mail of it in the index.

const POOL = 'SELECT 1 AS found FROM pools WHERE account_id = ? AND (id = ? OR name = ?)'
const REASON =
  'SELECT 1 AS found FROM recipients WHERE workspace IN (SELECT n FROM workspaces WHERE account_id = ?) AND reason = ? LIMIT 1'

function* isKnown(
  { hasMail }: Pick<WordIndex, 'hasMail'>,
  accountId: string,
  { field, value }: Term,
): Asking<boolean> {
  const mailWith = (token: string) => hasMail([token, TOKENS.account(accountId)])
  switch (field) {
    case 'key':
      return (yield* keysCalled(accountId, value)).length > 0 || (yield* mailWith(TOKENS.key(value)))
    case 'pool':
      return (yield* first(POOL, accountId, value, value)) !== null
    case 'tag':
      return yield* mailWith(TOKENS.tag(value))
    case 'reason': {
      const reason = value.toLowerCase()
      return Object.hasOwn(CATEGORIES, reason) || (yield* first(REASON, accountId, reason)) !== null
    }
    default:
      return true
  }
}

function* unknownIn(
  words: Pick<WordIndex, 'hasMail'>,
  { accountId, query }: SearchFilter,
): Asking<readonly Term[]> {
  const unknown: Term[] = []
  for (const term of termsIn(query)) if (!(yield* isKnown(words, accountId, term))) unknown.push(term)
  return unknown
}

// Pages of mails that a query finds. A lead offers places, the mails at them are judged, and after so much work the
// page ends where it is. Between two portions others may run, so a page is not one snapshot: mails have their places
// for ever, and none comes up to where the index was at the beginning.

/** Mails that a lead offers in one go. */
const PORTION = 100

/** Work for a page, in ms. */
const PAGE_MS = 500

interface Looked {
  readonly mails: readonly Judged[]
  /** Where looking ended before all was seen; null when all of it was. */
  readonly stoppedAt: number | null
}

/** Where mails can be, in the order in which they are looked for. */
function* rangesOf(filter: SearchFilter, direction: Direction, range: Range): Asking<readonly Range[]> {
  const { query, createdAfter, createdBefore } = filter
  const times = {
    createdAfter: query.from === null ? createdAfter : Math.max(createdAfter ?? 0, query.from - 1),
    createdBefore: query.before ?? createdBefore,
  }
  /** Below it the index has what retention has removed. */
  const bottom = Number((yield* first('SELECT min(ord) AS first FROM emails'))?.first ?? 0)
  const ranges = ((yield* rangesFor(times)) ?? [range])
    .map(({ from, to }) => ({ from: Math.max(from, range.from, bottom), to: Math.min(to, range.to) }))
    .filter(({ from, to }) => from < to)
  return direction === 'older' ? ranges.reverse() : ranges
}

/** How much is spent on this search itself; what others do in its pauses is theirs. */
class Work {
  #ms = 0
  #since = performance.now()
  get ms(): number {
    return this.#ms + performance.now() - this.#since
  }
  *rest(): Asking<void> {
    this.#ms = this.ms
    yield* pause()
    this.#since = performance.now()
  }
}

/** Mails of a range nearest to where it begins in this direction, at most so many. */
function* find(
  words: WordIndex,
  filter: SearchFilter,
  direction: Direction,
  range: Range,
  limit: number,
  ms: number,
): Asking<Looked> {
  const work = new Work()
  const judge = yield* judgeOf(words, filter)
  const ranges = yield* rangesOf(filter, direction, range)
  const lead = yield* planOf(words, filter, direction, range)
  const mails: Judged[] = []
  for (const one of ranges)
    for (let left: Range = one; left.from < left.to; ) {
      const { ords, rest } = yield* lead.take(direction, left, PORTION)
      for (let i = 0; i < ords.length; i += words.together) {
        mails.push(...(yield* judge(ords.slice(i, i + words.together))))
        if (mails.length < limit) continue
        const last = mails[limit - 1]?.ord as number
        return { mails: mails.slice(0, limit), stoppedAt: direction === 'older' ? last : last + 1 }
      }
      left = rest
      if (left.from >= left.to) break
      if (work.ms > ms) return { mails, stoppedAt: direction === 'older' ? left.to : left.from }
      yield* work.rest()
    }
  return { mails, stoppedAt: null }
}

/** Whether there is something, or may be. */
function* mayBe(words: WordIndex, filter: SearchFilter, direction: Direction, range: Range): Asking<boolean> {
  if (range.from >= range.to) return false
  const { mails, stoppedAt } = yield* find(words, filter, direction, range, 1, words.asideMs)
  return mails.length > 0 || stoppedAt !== null
}

function* total(
  words: WordIndex,
  filter: SearchFilter,
  found: Looked,
  top: number,
  most: number,
): Asking<number | null> {
  if (most === 0) return null
  if (found.stoppedAt === null) return found.mails.length
  const all = yield* find(words, filter, 'older', { from: 0, to: top }, most, words.asideMs)
  return all.stoppedAt === null || all.mails.length >= most ? all.mails.length : null
}

/** When the caller's last mail came in that was looked at, or could have been. */
function* timeAt(filter: SearchFilter, direction: Direction, place: number): Asking<number | null> {
  const isOlder = direction === 'older'
  const modes = filter.mode === null ? [0, 1] : [filter.mode === 'test' ? 1 : 0]
  let nearest: Row | null = null
  for (const workspace of yield* workspacesIn(filter))
    for (const test of modes) {
      const row = yield* first(
        `SELECT ord, created_at FROM emails WHERE workspace = ? AND test = ? AND ord ${isOlder ? '>=' : '<'} ?
         ORDER BY ord ${isOlder ? 'ASC' : 'DESC'} LIMIT 1`,
        ...[workspace, test, place],
      )
      if (row === null) continue
      const isNearer = nearest === null || (row.ord as number) < (nearest.ord as number) === isOlder
      if (isNearer) nearest = row
    }
  return nearest === null ? null : (nearest.created_at as number)
}

function* searchEmails(words: WordIndex, filter: SearchFilter, page: Page): Asking<FoundPage<EmailRow>> {
  const top = (yield* placeOfIndex()) + 1
  const isOlder = page.direction === 'older'
  const boundary = Math.min(yield* boundaryOf(idsOfMails(filter), page), isOlder ? top : TOP)
  const range = isOlder ? { from: 0, to: boundary } : { from: boundary, to: top }
  const found = yield* find(words, filter, page.direction, range, page.limit + 1, PAGE_MS)
  const shown = found.mails.slice(0, page.limit)
  const isMore = found.stoppedAt !== null
  const isCut = isMore && found.mails.length < page.limit
  const searchedTo = isCut ? yield* timeAt(filter, page.direction, found.stoppedAt ?? 0) : null
  // a row more than the page shows is the first of the next one
  const last = found.mails.length > page.limit ? shown.at(-1)?.ord : undefined
  const rows = shown.map(({ mail }) => mail)
  const isFirst = isOlder && page.anchor === null
  const unknown = isFirst ? yield* unknownIn(words, filter) : []
  if (isOlder) {
    const older = last ?? found.stoppedAt ?? shown.at(-1)?.ord ?? 0
    const newer = isFirst ? top : (shown[0]?.ord ?? boundary - 1) + 1
    return {
      ...{ rows, unknown, searchedTo },
      hasOlder: isMore,
      hasNewer: !isFirst && (yield* mayBe(words, filter, 'newer', { from: newer, to: top })),
      older: markOf(older),
      newer: markOf(newer),
      total: yield* total(words, filter, found, top, page.countUpTo),
    }
  }
  const newer = last === undefined ? (found.stoppedAt ?? Math.max(top, boundary)) : last + 1
  const older = shown[0]?.ord ?? boundary
  return {
    ...{ rows: rows.reverse(), unknown, searchedTo },
    hasOlder: yield* mayBe(words, filter, 'older', { from: 0, to: older }),
    hasNewer: isMore,
    older: markOf(older),
    newer: markOf(newer),
    total: yield* total(words, filter, { mails: [], stoppedAt: 0 }, top, page.countUpTo),
  }
}

export const searchReads = (words: WordIndex) => ({
  searchEmails: (filter: SearchFilter, page: Page): Asking<FoundPage<EmailRow>> =>
    searchEmails(words, filter, page),
})
