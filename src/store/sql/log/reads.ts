/**
 * NAME      log/reads - the log as it is read: what a filter finds, the events of a mail, pages and following
 *   A filter becomes index ranges: stored events by scope and type, first events
 *   by the mails of a workspace, or both by a mail or an address. Nothing is read
 *   and then thrown away but by `change` and by time, whose ranges are narrow.
 */

import { Fault, orFault } from '../../../base/fault.js'
import type { EventRow } from '../../../lifecycle/facts.js'
import { type Page, type Rows, rowBeside } from '../../../lifecycle/page.js'
import { EVENT_TYPES, type EventType } from '../../../mail/event-type.js'
import type { Action } from '../../../mail/report/report.js'
import type { Followed, LogFilter, LogRow, WholeLog } from '../../port/log.js'
import type { PendingDsn, PendingDsnRecipient, SenderDsns } from '../../port/mail.js'
import { addressLc, type MailTables, rangesFor, workspacesIn } from '../mails.js'
import { boundaryOf, type Range, TOP } from '../pages.js'
import { type AskedReads, type Asking, all, first, type Row, together } from '../query.js'
import { CHANGE, kindOf, type More, scopeOf, UnpackMore } from './events.js'
import {
  above,
  addressedSource,
  BOTTOM,
  compare,
  firstSource,
  type LogPlace,
  type Mark,
  markOf,
  namedBy,
  type PlacedRow,
  type PlaceSource,
  pageOfPlaces,
  placeOfFirst,
  type Reach,
  Records,
  readMark,
  type SqlPart,
  STORED_EVENTS,
  storedSource,
  takeFrom,
} from './places.js'

const FIRST_TYPES: readonly EventType[] = ['email.queued', 'email.scheduled']

class Clauses {
  constructor(
    readonly where: readonly string[] = [],
    readonly params: readonly unknown[] = [],
  ) {}
  and(text: string | null, ...params: readonly unknown[]): Clauses {
    return text === null ? this : new Clauses([...this.where, text], [...this.params, ...params])
  }
}

const part = (from: string, { where, params }: Clauses): SqlPart => ({ from, where, params })

const testsOf = ({ mode }: LogFilter): readonly boolean[] =>
  mode === null ? [false, true] : [mode === 'test']

/** What all stored events of a filter have in common. */
const storedClauses = ({ change, createdAfter, createdBefore }: LogFilter): Clauses =>
  new Clauses()
    .and(change === null ? null : `v.flags & ${CHANGE} = ${change ? CHANGE : 0}`)
    .and(createdAfter === null ? null : 'v.occurred_at + v.late > ?', createdAfter)
    .and(createdBefore === null ? null : 'v.occurred_at + v.late < ?', createdBefore)

/** And all first events; null when it wants none of them. */
const firstClauses = ({ types, change, createdAfter, createdBefore }: LogFilter): Clauses | null => {
  const wanted = types === null ? FIRST_TYPES : FIRST_TYPES.filter((type) => types.includes(type))
  if (wanted.length === 0 || change === false) return null
  const [only] = wanted.length === 1 ? wanted : []
  return new Clauses()
    .and(only === undefined ? null : `e.scheduled_at IS ${only === 'email.queued' ? '' : 'NOT '}NULL`)
    .and(createdAfter === null ? null : 'e.created_at > ?', createdAfter)
    .and(createdBefore === null ? null : 'e.created_at < ?', createdBefore)
}

/** What is looked for, and in what. */
interface Sought {
  readonly tables: MailTables
  readonly filter: LogFilter
  readonly workspaces: readonly number[]
  readonly stored: Clauses
  readonly firsts: Clauses | null
  readonly ranges: readonly Range[] | undefined
}

const kindsIn = (types: readonly EventType[]): string => types.map(kindOf).join(', ')

const ADDRESS = 'r.workspace = ? AND r.address_lc = ?'
const OF_ADDRESS = '(SELECT r.address_lc FROM recipients r WHERE r.id = v.recipient) = ?'

const inMode = (filter: LogFilter, clauses: Clauses): Clauses =>
  filter.mode === null ? clauses : clauses.and(`e.test = ${filter.mode === 'test' ? 1 : 0}`)

const storedKinds = ({ types }: LogFilter, stored: Clauses): Clauses =>
  stored.and('v.scope IS NOT NULL').and(types === null ? null : `v.kind IN (${kindsIn(types)})`)

/** Notes have an index of their own. */
const eventsOf = ({ tables, filter }: Sought): string =>
  filter.change === false ? `events v${tables.by('events_notes')}` : 'events v'

// CROSS JOIN, here and below, keeps the order in which SQLite looks

/** Of one mail. */
const ofMail = ({ filter, workspaces, stored, firsts, ranges }: Sought): PlaceSource[] => {
  const { emailId, recipient } = filter
  const address = recipient === null ? [] : [addressLc(recipient)]
  const met = (text: string): string | null => (recipient === null ? null : text)
  return workspaces.flatMap((workspace) => {
    const mail = (clauses: Clauses): Clauses =>
      inMode(filter, clauses).and('e.workspace = ?', workspace).and('e.id = ?', emailId)
    const events = mail(storedKinds(filter, stored).and('v.email = e.ord')).and(met(OF_ADDRESS), ...address)
    const found = [storedSource(part('emails e CROSS JOIN events v', events), ranges)]
    if (firsts === null) return found
    const begun = mail(firsts.and('r.email_ord = e.ord')).and(met('r.address_lc = ?'), ...address)
    return [...found, firstSource(part('emails e CROSS JOIN recipients r', begun), ranges)]
  })
}

/** An address with more mails than this is found in the order of the log sooner than its events are sorted. */
const FEW_MAILS = 4_000

function* isOften(workspace: number, address: string): Asking<boolean> {
  const counted = yield* first(
    `SELECT count(*) AS n FROM (SELECT 1 AS one FROM recipients r WHERE ${ADDRESS} LIMIT ? + 0) AS counted`,
    workspace,
    address,
    FEW_MAILS,
  )
  return Number(counted?.n) === FEW_MAILS
}

/** Events of an address in the order of the log. */
const inOrder = (sought: Sought, workspace: number, address: string): PlaceSource[] => {
  const { tables, filter, stored, ranges } = sought
  const scopes = testsOf(filter).map((test) => scopeOf(workspace, test))
  const met = stored.and(OF_ADDRESS, address)
  const types = filter.types ?? (filter.change === false ? EVENT_TYPES : null)
  if (types === null) {
    const clauses = met.and(`v.scope IN (${scopes.join()})`)
    return [storedSource(part(`events v${tables.by(null)}`, clauses), ranges)]
  }
  return scopes.flatMap((scope) =>
    types.map((type) => {
      const clauses = met.and('v.scope = ? AND v.kind = ?', scope, kindOf(type))
      return storedSource(part(eventsOf(sought), clauses), ranges)
    }),
  )
}

/** Of all mails to an address, in one workspace. */
function* ofAddress(sought: Sought, workspace: number, address: string): Asking<PlaceSource[]> {
  const { filter, stored, firsts, ranges } = sought
  const mails = (clauses: Clauses): Clauses =>
    inMode(filter, clauses.and('e.ord = r.email_ord').and(ADDRESS, workspace, address)).and(
      'e.workspace = ?',
      workspace,
    )
  const people = 'recipients r CROSS JOIN emails e'
  const begun = firsts === null ? [] : [addressedSource(part(people, mails(firsts)), ranges)]
  const theirs = storedKinds(filter, stored).and('v.email = e.ord AND v.recipient = r.id')
  const sorted = storedSource(part(`${people} CROSS JOIN events v`, mails(theirs)), ranges)
  if (!(yield* isOften(workspace, address))) return [sorted, ...begun]
  const ordered = inOrder(sought, workspace, address)
  if (filter.types !== null || filter.change === false) return [...ordered, ...begun]
  // to count them nothing is sorted
  const merged: PlaceSource = {
    take: (direction, boundary, limit, last) => takeFrom(ordered, direction, boundary, limit, last),
    count: sorted.count,
  }
  return [merged, ...begun]
}

/** The scopes of stored events, and whether they are of the whole account. */
const scopesOf = ({ filter, workspaces }: Sought): readonly number[] =>
  testsOf(filter).flatMap((test) => [
    ...(filter.accountWide ? [scopeOf(0, test)] : []),
    ...workspaces.map((n) => scopeOf(n, test)),
  ])

const byScope = (sought: Sought): PlaceSource[] => {
  const { tables, filter, workspaces, stored, firsts, ranges } = sought
  const events = scopesOf(sought).flatMap((scope) =>
    (filter.types ?? EVENT_TYPES).map((type) => {
      const clauses = stored
        .and('v.scope = ? AND v.kind = ?', scope, kindOf(type))
        .and(scope > 1 ? null : `${tables.accountOfNotice} = ?`, filter.accountId)
      return storedSource(part(eventsOf(sought), clauses), ranges)
    }),
  )
  if (firsts === null) return events
  const isScheduled = filter.types?.includes('email.queued') === false
  const from = `emails e${isScheduled ? tables.by('emails_scheduled') : ''} CROSS JOIN recipients r`
  const mails = workspaces.flatMap((workspace) =>
    testsOf(filter).map((test) => {
      const clauses = firsts
        .and('r.email_ord = e.ord')
        .and('e.workspace = ? AND e.test = ?', workspace, test ? 1 : 0)
      return firstSource(part(from, clauses), ranges)
    }),
  )
  return [...events, ...mails]
}

/** Where the records of a filter are. */
function* sourcesOf(tables: MailTables, filter: LogFilter): Asking<readonly PlaceSource[]> {
  const sought: Sought = {
    ...{ tables, filter, workspaces: yield* workspacesIn(filter), ranges: yield* rangesFor(filter) },
    ...{ stored: storedClauses(filter), firsts: firstClauses(filter) },
  }
  if (filter.emailId !== null) return ofMail(sought)
  if (filter.recipient === null) return byScope(sought)
  const sources: PlaceSource[] = []
  for (const workspace of sought.workspaces)
    sources.push(...(yield* ofAddress(sought, workspace, addressLc(filter.recipient))))
  return sources
}

// DSNs that are pending. The table holds seconds' worth of rows, in the order in which they are grouped: a report is
// one email and one action.

const toRecipient = (row: Row, more: More): PendingDsnRecipient => ({
  recipientId: row.id as string,
  address: row.address as string,
  dsn: { notify: row.notify as string | null, orcpt: row.orcpt as string | null },
  queuedAt: row.queued_at as number,
  occurredAt: row.occurred_at as number,
  reason: row.reason as string | null,
  ...more,
})

const MAILS = `SELECT o.action, e.id, e.test, e.mail_from, e.envid, e.ret, e.message_id, e.subject, e.created_at, e.size,
    e.require_tls, w.id AS workspace_id, w.account_id
  FROM (SELECT email_id, action FROM owed_dsns GROUP BY email_id, action HAVING max(at) <= ? ORDER BY email_id, action LIMIT ? + 0) o
    JOIN emails e ON e.id = o.email_id JOIN workspaces w ON w.n = e.workspace ORDER BY o.email_id, o.action`

const ANY = 'SELECT 1 AS one FROM owed_dsns LIMIT 1'

const RECIPIENTS = `SELECT r.id, r.address, r.notify, r.orcpt, r.queued_at, v.occurred_at, v.reason, v.more
  FROM owed_dsns o JOIN recipients r ON r.id = o.recipient_id JOIN events v ON v.ord = o.event_ord
  WHERE o.email_id = ? AND o.action = ? ORDER BY r.id`

const toDsn = (row: Row, recipients: readonly PendingDsnRecipient[]): PendingDsn => ({
  emailId: row.id as string,
  accountId: row.account_id as string,
  workspaceId: row.workspace_id as string,
  mode: row.test === 1 ? 'test' : 'live',
  action: row.action as Action,
  mailFrom: row.mail_from as string,
  envid: row.envid as string | null,
  ret: row.ret as string | null,
  messageId: row.message_id as string,
  subject: row.subject as string,
  createdAt: row.created_at as number,
  size: row.size as number,
  requireTls: row.require_tls === 1,
  recipients,
})

function* pending(before: number, limit: number): Asking<readonly PendingDsn[]> {
  const unpack = new UnpackMore()
  const found: PendingDsn[] = []
  for (const row of yield* all(MAILS, before, limit)) {
    const recipients: PendingDsnRecipient[] = []
    for (const one of yield* all(RECIPIENTS, row.id, row.action))
      recipients.push(toRecipient(one, yield* unpack.more(one.more as string | null)))
    found.push(toDsn(row, recipients))
  }
  return found
}

export const dsnReads: AskedReads<SenderDsns> = {
  *pendingDsns(before, limit) {
    // nearly always: no snapshot is needed to find none
    if ((yield* first(ANY)) === null) return []
    return yield* together(() => pending(before, limit))
  },
}

// The events of one mail.

const ALL = 1_000_000

/** Records of one mail, also those of its history. */
const mailSources = (ord: number): readonly PlaceSource[] => [
  storedSource({ from: 'events v', where: ['v.email = ?'], params: [ord] }),
  firstSource({
    from: 'emails e CROSS JOIN recipients r',
    where: ['r.email_ord = e.ord', 'e.ord = ?'],
    params: [ord],
  }),
]

function* ordOf(emailId: string): Asking<number | null> {
  const row = yield* first('SELECT ord FROM emails WHERE id = ?', emailId)
  return (row?.ord ?? null) as number | null
}

interface ToldAt {
  readonly place: LogPlace
  readonly event: EventRow
}

function* allTold(places: readonly PlacedRow[], ord: number): Asking<ToldAt[]> {
  const records = new Records()
  const told: ToldAt[] = []
  for (const place of places) {
    const event = yield* records.event(place, ord)
    if (event !== null) told.push({ place, event })
  }
  return told
}

/** All of a mail's timeline, oldest first. */
export function* timelineOf(emailId: string): Asking<readonly ToldAt[]> {
  const ord = yield* ordOf(emailId)
  return ord === null ? [] : yield* allTold(yield* takeFrom(mailSources(ord), 'newer', BOTTOM, ALL), ord)
}

/** Where a page begins: at a mark, or at a cursor that holds an id, as Postern 0.1 made them. */
function* timelineAnchor(ord: number | null, page: Page): Asking<Mark | null> {
  if (page.anchor === null) return null
  const id = rowBeside(page.anchor)
  if (id !== null) {
    const all =
      ord === null ? [] : yield* allTold(yield* takeFrom(mailSources(ord), 'newer', BOTTOM, ALL), ord)
    const place = all.find(({ event }) => event.id === id)?.place
    if (place === undefined) throw new Fault('validation.cursor_invalid')
    return page.direction === 'older' ? place : above(place)
  }
  const ids = { from: 'events WHERE email = ?', params: [ord] }
  return readMark(page.anchor) ?? { ord: Math.min(yield* boundaryOf(ids, page), TOP), n: 0 }
}

function* timelinePage(emailId: string, page: Page, reach: Reach): Asking<Rows<EventRow>> {
  const ord = yield* ordOf(emailId)
  const sources = ord === null ? [] : mailSources(ord)
  const places = yield* pageOfPlaces(sources, page, yield* timelineAnchor(ord, page), reach)
  const told = yield* allTold(places.rows, ord ?? 0)
  return { ...places, rows: told.map(({ event }) => event) }
}

// The log, page by page and from a place on. Everything of one answer is read in one snapshot, and whatever is
// committed later is newer than the mark that it gives: a reader that goes on from its mark sees each record once, in
// one order. How far back a mark may lie is a row of the database (`floor`); pages may go back as far as there are
// mails.

/** Between which places the log can be followed. */
export interface LogEnds {
  readonly oldest: LogPlace
  /** Nothing comes in below it any more: nobody is told of what stands at it or above. */
  readonly newest: LogPlace
}

const isOfMode = (column: string, mode: WholeLog['mode']): readonly string[] =>
  mode === undefined ? [] : [`${column} = ${mode === 'test' ? 1 : 0}`]

const storedOf = ({ types, mode }: WholeLog): PlaceSource => {
  const kinds = types === null ? [] : [`v.kind IN (${types.map(kindOf).join()})`]
  return storedSource({ from: 'events v', where: [...kinds, ...isOfMode('v.scope % 2', mode)], params: [] })
}

const firstsOf = ({ mode }: WholeLog): PlaceSource => {
  const where = ['r.email_ord = e.ord', ...isOfMode('e.test', mode)]
  return firstSource({ from: 'emails e CROSS JOIN recipients r', where, params: [] })
}

/** Of whoever. */
const ofWhoever = (filter: WholeLog): readonly PlaceSource[] =>
  filter.types === null ? [storedOf(filter), firstsOf(filter)] : [storedOf(filter)]

const FIRST_EVENTS = firstsOf({ types: null })

function* recordAt(source: PlaceSource, place: LogPlace): Asking<LogRow | null> {
  const [found] = yield* source.take('newer', place, 1)
  return found === undefined || compare(found, place) !== 0 ? null : yield* new Records().told(found)
}

/** An event of an account, and where it stands. */
function* eventNamed(
  accountId: string,
  id: string,
): Asking<{ readonly row: LogRow; readonly place: LogPlace } | null> {
  const named = namedBy(id)
  if (named === null) return null
  const place = { ord: named.ord, n: 0 }
  const stored = yield* recordAt(STORED_EVENTS, place)
  if (stored?.id === id) return stored.accountId === accountId ? { row: stored, place } : null
  const begins = yield* placeOfFirst(named.recipientId)
  if (begins === null) return null
  const begun = yield* recordAt(FIRST_EVENTS, begins)
  return begun?.id === id && begun.accountId === accountId ? { row: begun, place: begins } : null
}

function* loggedEvent(accountId: string, id: string): Asking<LogRow | null> {
  return (yield* eventNamed(accountId, id))?.row ?? null
}

function* anchorOf({ accountId }: LogFilter, { anchor, direction }: Page): Asking<Mark | null> {
  const id = rowBeside(anchor)
  if (id === null) return anchor === null ? null : readMark(anchor)
  const found = orFault(yield* eventNamed(accountId, id), 'validation.cursor_invalid')
  return direction === 'older' ? found.place : above(found.place)
}

type Ends = () => Asking<LogEnds>

/** What comes after a place. */
function* followed(
  tables: MailTables,
  { oldest, newest }: LogEnds,
  filter: LogFilter | WholeLog,
  after: string | null,
  limit: number,
): Asking<Followed | 'gone'> {
  const from = after === null ? oldest : (readMark(after) ?? BOTTOM)
  if (compare(from, oldest) < 0) return 'gone'
  const sources = 'accountId' in filter ? yield* sourcesOf(tables, filter) : ofWhoever(filter)
  const found = yield* takeFrom(sources, 'newer', from, limit + 1, newest.ord - 1)
  const isEnd = found.length <= limit
  const places = found.slice(0, limit)
  const last = places.at(-1)
  const rows = yield* new Records().allTold(places)
  return { rows, mark: markOf(isEnd || last === undefined ? newest : above(last)), isEnd }
}

/** `ends` are those of the snapshot that is read. */
export const logReads = (tables: MailTables, ends: Ends) => {
  function* reach(): Asking<Reach> {
    return { end: (yield* ends()).newest, frontiers: tables.frontiers }
  }

  function* pageOf(filter: LogFilter, page: Page): Asking<Rows<LogRow>> {
    const anchor = yield* anchorOf(filter, page)
    const places = yield* pageOfPlaces(yield* sourcesOf(tables, filter), page, anchor, yield* reach())
    const rows = yield* new Records().allTold(places.rows)
    return { ...places, rows }
  }

  return {
    log: (filter: LogFilter, page: Page): Asking<Rows<LogRow>> => together(() => pageOf(filter, page)),

    *follow(filter: LogFilter | WholeLog, after: string | null, limit: number): Asking<Followed | 'gone'> {
      const mark = markOf((yield* ends()).newest)
      // nearly always, of those who follow a log at rest
      if (after === mark) return { rows: [], mark, isEnd: true }
      return yield* together(function* () {
        return yield* followed(tables, yield* ends(), filter, after, limit)
      })
    },

    *logEnds(): Asking<{ readonly oldest: string; readonly newest: string }> {
      const { oldest, newest } = yield* ends()
      return { oldest: markOf(oldest), newest: markOf(newest) }
    },

    loggedEvent,

    events: (emailId: string, page: Page): Asking<Rows<EventRow>> =>
      together(function* () {
        return yield* timelinePage(emailId, page, yield* reach())
      }),
  }
}
