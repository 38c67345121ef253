/**
 * NAME      suppressions - addresses that are not written to
 *   A suppression is one row per list and address; adding it again gives back the row that is there, except
 *   that an expired one is replaced. What is added or removed is an event in the same commit; what changes
 *   nothing is none, and neither is a list that is brought from elsewhere: nothing happened to those addresses
 *   here. To add or to remove an address that is pending decides about it. Imports ask a
 *   statement for many rows: of fewer the last one is given again, which changes nothing and keeps the text
 *   the same. A rate window is a sum per bucket and minute; a daemon that grants from memory adds here what
 *   it granted, a process without a daemon counts here directly.
 */

import { timeOrNull } from '../../base/clock.js'
import { countSends } from '../../lifecycle/accept.js'
import { isSuppressing, partsOfEntry, suppressionList } from '../../lifecycle/suppress.js'
import type { EventNotice } from '../port/log.js'
import type { Rates, SuppressionRow, Suppressions } from '../port/tenants.js'
import { oneForEach, strongestOf } from '../rules/tenants.js'
import { type AskedWrites, type Asking, all, first, run } from './query.js'
import { allOf, insertInto, MANY, many, manyMarks, oneOf, type Places } from './table.js'
import { PENDING, SUPPRESSIONS } from './tenants.js'

// Lists tell what is added to them and what is taken off. Whoever changes a list tells it here, in the same commit.
// Whose list it is decides who sees the event; one for test mail tells only those who test.

/** Why it is on the list no more; `pending`: an incident has begun, and the address may be good. */
type Removal = 'removed' | 'expired' | 'pending'

const noticeOf = (
  type: 'suppression.added' | 'suppression.removed',
  row: SuppressionRow,
  now: number,
  more: Readonly<Record<string, unknown>>,
): EventNotice => {
  const [owner = ''] = row.list.split('/')
  const isOfAccount = owner === row.accountId
  const { email, mailingList } = partsOfEntry(row.email)
  return {
    type,
    accountId: row.accountId,
    workspaceId: isOfAccount ? null : owner,
    mode: row.list === suppressionList(owner, 'test') ? 'test' : 'live',
    now,
    data: {
      suppression_id: row.id,
      email,
      ...(mailingList !== null && { list: mailingList }),
      origin: row.origin,
      scope: isOfAccount ? 'account' : 'workspace',
      source_id: row.sourceId,
      // of a person's own words nothing is told
      reason: ['bounce', 'soft_bounce', 'complaint'].includes(row.origin) ? row.reason : null,
      ...more,
    },
  }
}

/** They answer as whatever writes a notice does. */
export interface SuppressionEvents<Told = unknown> {
  added(row: SuppressionRow, now: number): Told
  removed(row: SuppressionRow, why: Removal, now: number): Told
}

const addedNotice = (row: SuppressionRow, now: number): EventNotice =>
  noticeOf('suppression.added', row, now, { expires_at: timeOrNull(row.expiresAt) })

export const removedNotice = (row: SuppressionRow, why: Removal, now: number): EventNotice =>
  noticeOf('suppression.removed', row, now, { cause: why })

/** `addNotice` writes in the commit that runs. */
export const createSuppressionEvents = <Told>(
  addNotice: (notice: EventNotice) => Told,
): SuppressionEvents<Told> => ({
  added: (row, now) => addNotice(addedNotice(row, now)),
  removed: (row, why, now) => addNotice(removedNotice(row, why, now)),
})

interface SuppressionParts {
  readonly places: Places
  /** Writes in the commit that runs. */
  readonly tell: SuppressionEvents<Asking<unknown>>
  now(): number
}

const found = oneOf(SUPPRESSIONS, 'workspace_id = ? AND (id = ? OR email = ?)')
const waiting = oneOf(PENDING, 'workspace_id = ? AND (id = ? OR email = ?)')
const lapsed = allOf(SUPPRESSIONS, 'expires_at < ? LIMIT 200')

const remove = (id: string): Asking<number> => run('DELETE FROM suppressions WHERE id = ?', id)

/** What waits for a decision waits no more; the row as it was. */
function* forgive(list: string, ref: string): Asking<SuppressionRow | null> {
  const row = yield* waiting(list, ref, ref)
  if (row === null) return null
  yield* run('DELETE FROM pending_suppressions WHERE id = ?', row.id)
  const { incidentId: _, ...rest } = row
  return rest
}

const LISTED = `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id = ? AND email IN (${manyMarks('?')})`
const FORGIVE = `DELETE FROM pending_suppressions WHERE workspace_id = ? AND email IN (${manyMarks('?')})`
const ADD_MANY = `${SUPPRESSIONS.insert.replace(/\(\?.*$/, manyMarks)} ON CONFLICT DO NOTHING RETURNING email`

/** What an import may change of a row that is there. */
const STRENGTHEN = `WITH given (id, origin, source_id, reason, expires_at, created_at) AS (VALUES ${manyMarks('(?, ?, ?, ?, ?, ?)')})
  UPDATE suppressions SET origin = given.origin, source_id = given.source_id, reason = given.reason,
    expires_at = CAST(given.expires_at AS BIGINT), created_at = CAST(given.created_at AS BIGINT)
  FROM given WHERE suppressions.id = given.id`

const isSame = (a: SuppressionRow, b: SuppressionRow): boolean =>
  a.origin === b.origin && a.expiresAt === b.expiresAt && a.createdAt === b.createdAt

/** Puts on the list those that are not there; the addresses that it put there. */
function* addNew(places: Places, rows: readonly SuppressionRow[]): Asking<readonly string[]> {
  const values = rows.map((row) => [...SUPPRESSIONS.encode(row), places.next()])
  return (yield* all(ADD_MANY, ...many(values).flat())).map(({ email }) => String(email))
}

/** Those that an import finds there: the stronger reason stays, and what has ended makes room. Answers what is to be added. */
function* meet({ tell, now }: SuppressionParts, list: string, there: ReadonlyMap<string, SuppressionRow>) {
  const [stronger, again]: [SuppressionRow[], SuppressionRow[]] = [[], []]
  for (const held of (yield* all(LISTED, list, ...many([...there.keys()]))).map(SUPPRESSIONS.decode)) {
    const given = there.get(held.email) as SuppressionRow
    if (isSuppressing(held.expiresAt, now())) {
      const row = strongestOf(held, given)
      if (!isSame(row, held)) stronger.push(row)
    } else {
      yield* remove(held.id)
      yield* tell.removed(held, 'expired', now())
      again.push(given)
    }
  }
  if (stronger.length > 0)
    yield* run(
      STRENGTHEN,
      ...many(stronger).flatMap(({ id, origin, sourceId, reason, expiresAt, createdAt }) => [
        ...[id, origin, sourceId, reason, expiresAt, createdAt],
      ]),
    )
  return { strengthened: stronger.length, again }
}

/** At most MANY rows of one list. Most are new, so they are added first, and only the others are looked up. */
function* importSome(parts: SuppressionParts, rows: readonly SuppressionRow[], hasPending: boolean) {
  const given = oneForEach(rows)
  const [{ list }] = rows as readonly [SuppressionRow]
  const added = [...(yield* addNew(parts.places, [...given.values()]))]
  const there = new Map(given)
  for (const email of added) there.delete(email)
  let strengthened = 0
  if (there.size > 0) {
    const met = yield* meet(parts, list, there)
    strengthened = met.strengthened
    if (met.again.length > 0) added.push(...(yield* addNew(parts.places, met.again)))
  }
  if (hasPending && added.length > 0) yield* run(FORGIVE, list, ...many(added))
  return { added: added.length, changed: added.length + strengthened }
}

export const suppressionWrites = (parts: SuppressionParts): AskedWrites<Suppressions> => {
  const { places, tell, now } = parts
  const add = insertInto(SUPPRESSIONS, places)
  return {
    *importSuppressions(rows) {
      const sum = { added: 0, changed: 0 }
      const [one] = rows
      const hasPending =
        one !== undefined &&
        (yield* first('SELECT id FROM pending_suppressions WHERE workspace_id = ? LIMIT 1', one.list)) != null
      for (let at = 0; at < rows.length; at += MANY) {
        const { added, changed } = yield* importSome(parts, rows.slice(at, at + MANY), hasPending)
        sum.added += added
        sum.changed += changed
      }
      return sum
    },
    *addSuppression(row) {
      const held = yield* found(row.list, row.email, row.email)
      if (held !== null && isSuppressing(held.expiresAt, row.createdAt)) return held
      if (held !== null) {
        yield* remove(held.id)
        yield* tell.removed(held, 'expired', row.createdAt)
      }
      yield* forgive(row.list, row.email)
      yield* add(row)
      yield* tell.added(row, row.createdAt)
      return row
    },
    *removeSuppression(list, ref) {
      const held = yield* found(list, ref, ref)
      if (held === null) return yield* forgive(list, ref)
      yield* remove(held.id)
      yield* tell.removed(held, 'removed', now())
      return held
    },
  }
}

/** A step over those that have lapsed; how many there were. */
export function* sweepSuppressions(tell: SuppressionParts['tell'], now: number): Asking<number> {
  const rows = yield* lapsed(now)
  for (const row of rows) {
    yield* remove(row.id)
    yield* tell.removed(row, 'expired', now)
  }
  return rows.length
}

export type Used = readonly [bucket: string, window: number, n: number]

function* add(bucket: string, window: number, n: number, at: number): Asking<void> {
  const text = `INSERT INTO rate_windows (bucket, span, used, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (bucket, span) DO UPDATE SET used = rate_windows.used + excluded.used`
  yield* run(text, bucket, window, n, at)
}

export const windowWrites = (now: () => number) => ({
  *consume(...[bucket, window, n, limit]: Parameters<Rates['consume']>) {
    const row = yield* first('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?', bucket, window)
    const count = countSends(Number(row?.used ?? 0), n, limit)
    if (count.allowed && n > 0) yield* add(bucket, window, n, now())
    return count
  },
  *addUsed(granted: readonly Used[]): Asking<void> {
    for (const [bucket, window, n] of granted) yield* add(bucket, window, n, now())
  },
})
