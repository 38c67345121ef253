/**
 * NAME      filter - the sources of what somebody wants to see of the log
 * DESCRIPTION
 *   A filter becomes index ranges: stored events by scope and type, first events
 *   by the mails of a workspace, or both by a mail or an address. Nothing is read
 *   and then thrown away but by `change` and by time, whose ranges are narrow.
 */
import { EVENT_TYPES, type EventType } from '../../../mail/event-type.js'
import type { LogFilter } from '../../port/log.js'
import { addressLc, type MailTables, rangesFor, workspacesIn } from '../mails.js'
import type { Range } from '../pages.js'
import { type Asking, first } from '../query.js'
import { CHANGE, kindOf, scopeOf } from './codec.js'
import { type Source, takeFrom } from './places.js'
import { addressedSource, firstSource, type Part, storedSource } from './sources.js'

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

const part = (from: string, { where, params }: Clauses): Part => ({ from, where, params })

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
const ofMail = ({ filter, workspaces, stored, firsts, ranges }: Sought): Source[] => {
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
const inOrder = (sought: Sought, workspace: number, address: string): Source[] => {
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
function* ofAddress(sought: Sought, workspace: number, address: string): Asking<Source[]> {
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
  const merged: Source = {
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

const byScope = (sought: Sought): Source[] => {
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
export function* sourcesOf(tables: MailTables, filter: LogFilter): Asking<readonly Source[]> {
  const sought: Sought = {
    ...{ tables, filter, workspaces: yield* workspacesIn(filter), ranges: yield* rangesFor(filter) },
    ...{ stored: storedClauses(filter), firsts: firstClauses(filter) },
  }
  if (filter.emailId !== null) return ofMail(sought)
  if (filter.recipient === null) return byScope(sought)
  const sources: Source[] = []
  for (const workspace of sought.workspaces)
    sources.push(...(yield* ofAddress(sought, workspace, addressLc(filter.recipient))))
  return sources
}
