/**
 * NAME      filter - the sources of what somebody wants to see of the log
 * DESCRIPTION
 *   A filter becomes index ranges: stored events by scope and type, first events
 *   by the mails of a workspace, or both by a mail or an address. Nothing is read
 *   and then thrown away but by `change` and by time, whose ranges are narrow.
 */
import { wireAddress } from '../../../mail/address.js'
import { EVENT_TYPES, type EventType } from '../../../mail/event-type.js'
import type { LogFilter } from '../../port/log.js'
import { ALL_DAYS, type Day, type Range, rangesOf } from '../../sql/order/days.js'
import type { Statements } from '../read/statements.js'
import { kindOf, scopeOf } from './codec.js'
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

/** The workspaces of a filter, by their numbers. */
const workspacesOf = (sql: Statements, { accountId, workspaceId }: LogFilter): readonly number[] =>
  sql(
    `SELECT n FROM workspaces WHERE account_id = ? AND deleted_at IS NULL${workspaceId === null ? '' : ' AND id = ?'}`,
  )
    .all(...(workspaceId === null ? [accountId] : [accountId, workspaceId]))
    .map((row) => row.n as number)

const testsOf = ({ mode }: LogFilter): readonly boolean[] =>
  mode === null ? [false, true] : [mode === 'test']

const rangesIn = (
  sql: Statements,
  { createdAfter, createdBefore }: LogFilter,
): readonly Range[] | undefined =>
  createdAfter === null && createdBefore === null
    ? undefined
    : rangesOf(sql(ALL_DAYS).all() as unknown as Day[], createdAfter, createdBefore)

/** What all stored events of a filter have in common. */
const storedClauses = ({ change, createdAfter, createdBefore }: LogFilter): Clauses =>
  new Clauses()
    .and(change === null ? null : `v.flags & 2 = ${change ? 2 : 0}`)
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

type Narrowing = (
  sql: Statements,
  filter: LogFilter,
  stored: Clauses,
  first: Clauses | null,
  ranges: readonly Range[] | undefined,
) => Source[]

const kindsIn = (types: readonly EventType[]): string => types.map(kindOf).join(', ')

const ADDRESS = 'r.workspace = ? AND r.address_lc = ?'
const plain = (address: string): string => wireAddress(address).toLowerCase()

const inMode = (filter: LogFilter, clauses: Clauses): Clauses =>
  filter.mode === null ? clauses : clauses.and(`e.test = ${filter.mode === 'test' ? 1 : 0}`)

const storedKinds = ({ types }: LogFilter, stored: Clauses): Clauses =>
  stored.and('v.scope IS NOT NULL').and(types === null ? null : `v.kind IN (${kindsIn(types)})`)

/** Notes have an index of their own. */
const eventsOf = ({ change }: LogFilter): string =>
  change === false ? 'events v INDEXED BY events_notes' : 'events v'

/** Of one mail. */
const ofMail: Narrowing = (sql, filter, stored, first, ranges) => {
  const { emailId, recipient } = filter
  const address = recipient === null ? null : plain(recipient)
  return workspacesOf(sql, filter).flatMap((workspace) => {
    const mail = (clauses: Clauses): Clauses =>
      inMode(filter, clauses).and('e.workspace = ?', workspace).and('e.id = ?', emailId)
    const events = mail(storedKinds(filter, stored)).and(
      address === null ? null : '(SELECT r.address_lc FROM recipients r WHERE r.id = v.recipient) = ?',
      ...(address === null ? [] : [address]),
    )
    return [
      storedSource(sql, part('emails e CROSS JOIN events v ON v.email = e.ord', events), ranges),
      ...(first === null
        ? []
        : [
            firstSource(
              sql,
              part(
                'emails e CROSS JOIN recipients r ON r.email_ord = e.ord',
                address === null ? mail(first) : mail(first).and('r.address_lc = ?', address),
              ),
              ranges,
            ),
          ]),
    ]
  })
}

/** An address with more mails than this is found in the order of the log sooner than its events are sorted. */
const FEW_MAILS = 4_000

const isOften = (sql: Statements, workspace: number, address: string): boolean =>
  Number(
    sql(`SELECT count(*) AS n FROM (SELECT 1 FROM recipients r WHERE ${ADDRESS} LIMIT ? + 0)`).get(
      workspace,
      address,
      FEW_MAILS,
    )?.n,
  ) === FEW_MAILS

/** Of all mails to an address. */
const ofAddress: Narrowing = (sql, filter, stored, first, ranges) => {
  const address = plain(filter.recipient ?? '')
  return workspacesOf(sql, filter).flatMap((workspace) => {
    const mails = (clauses: Clauses): Clauses =>
      inMode(filter, clauses.and(ADDRESS, workspace, address)).and('e.workspace = ?', workspace)
    const people = 'recipients r CROSS JOIN emails e ON e.ord = r.email_ord'
    const firsts = first === null ? [] : [addressedSource(sql, part(people, mails(first)), ranges)]
    const sorted = storedSource(
      sql,
      part(
        `${people} CROSS JOIN events v ON v.email = e.ord AND v.recipient = r.id`,
        mails(storedKinds(filter, stored)),
      ),
      ranges,
    )
    if (!isOften(sql, workspace, address)) return [sorted, ...firsts]
    const scopes = testsOf(filter).map((test) => scopeOf(workspace, test))
    const met = stored.and('(SELECT r.address_lc FROM recipients r WHERE r.id = v.recipient) = ?', address)
    const types = filter.types ?? (filter.change === false ? EVENT_TYPES : null)
    const inOrder =
      types === null
        ? [storedSource(sql, part('events v NOT INDEXED', met.and(`v.scope IN (${scopes.join()})`)), ranges)]
        : scopes.flatMap((scope) =>
            types.map((type) => {
              const clauses = met.and('v.scope = ? AND v.kind = ?', scope, kindOf(type))
              return storedSource(sql, part(eventsOf(filter), clauses), ranges)
            }),
          )
    if (types !== null) return [...inOrder, ...firsts]
    // to count them nothing is sorted
    const merged: Source = {
      take: (direction, boundary, limit) => takeFrom(inOrder, direction, boundary, limit),
      count: sorted.count,
    }
    return [merged, ...firsts]
  })
}

/** The scopes of stored events, and whether they are of the whole account. */
const scopesOf = (filter: LogFilter, workspaces: readonly number[]): readonly number[] =>
  testsOf(filter).flatMap((test) => [
    ...(filter.accountWide ? [scopeOf(0, test)] : []),
    ...workspaces.map((n) => scopeOf(n, test)),
  ])

const byScope = (
  sql: Statements,
  filter: LogFilter,
  stored: Clauses,
  first: Clauses | null,
  ranges: readonly Range[] | undefined,
): Source[] => {
  const workspaces = workspacesOf(sql, filter)
  const events = scopesOf(filter, workspaces).flatMap((scope) =>
    (filter.types ?? EVENT_TYPES).map((type) => {
      const clauses = stored
        .and('v.scope = ? AND v.kind = ?', scope, kindOf(type))
        .and(scope > 1 ? null : "v.more ->> '$.account' = ?", filter.accountId)
      return storedSource(sql, part(eventsOf(filter), clauses), ranges)
    }),
  )
  if (first === null) return events
  const isScheduled = filter.types?.includes('email.queued') === false
  const from = `emails e${isScheduled ? ' INDEXED BY emails_scheduled' : ''} CROSS JOIN recipients r ON r.email_ord = e.ord`
  const mails = workspaces.flatMap((workspace) =>
    testsOf(filter).map((test) => {
      const clauses = first.and('e.workspace = ? AND e.test = ?', workspace, test ? 1 : 0)
      return firstSource(sql, part(from, clauses), ranges)
    }),
  )
  return [...events, ...mails]
}

/** Where the records of a filter are. */
export const sourcesOf = (sql: Statements, filter: LogFilter): readonly Source[] => {
  const ranges = rangesIn(sql, filter)
  const parts = [sql, filter, storedClauses(filter), firstClauses(filter), ranges] as const
  if (filter.emailId !== null) return ofMail(...parts)
  return filter.recipient !== null ? ofAddress(...parts) : byScope(...parts)
}
