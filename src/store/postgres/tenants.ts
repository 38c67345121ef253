/**
 * NAME      tenants - writes of workspaces, keys and the like, and the notice that other daemons get
 *   Workspaces and pools have small numbers, which mail is stored with. They are given in the transaction
 *   that stores the row; such verbs follow one another, so the next number is free.
 */

import { systemClock } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import { isNote } from '../../mail/event-type.js'
import { beginningOf } from '../pools.js'
import type { EventNotice } from '../port/log.js'
import { flagsOf, kindOf } from '../sql/log/events.js'
import { type Asking, run } from '../sql/query.js'
import { notePauses } from '../sql/schedule.js'
import { createSuppressionEvents, suppressionWrites } from '../sql/suppressions.js'
import { isThere, type Places } from '../sql/table.js'
import { domainWrites, poolWrites, type TenantParts, tenantWrites } from '../sql/tenants.js'

const ROW = '(?, coalesce((SELECT n FROM workspaces WHERE id = ?), 0) * 2 + ?, ?, ?, ?, 0, ?, ?)'
const ADD = `INSERT INTO events (ord, scope, kind, flags, occurred_at, late, dedupe, more) VALUES ${ROW} ON CONFLICT DO NOTHING`

const valuesOf = (ord: number, notice: EventNotice): readonly unknown[] => {
  const { type, accountId, workspaceId, mode, now, data, dedupe = null } = notice
  const more = JSON.stringify({ account: accountId, data })
  const flags = flagsOf('system', true, !isNote(type))
  return [ord, workspaceId, mode === 'test' ? 1 : 0, kindOf(type), flags, now, dedupe, more]
}

/** Its place; null when its dedupe key was there. */
export const createAddNotice = (places: Places) =>
  function* (notice: EventNotice): Asking<number | null> {
    const ord = places.next()
    return (yield* run(ADD, ...valuesOf(ord, notice))) === 0 ? null : ord
  }

const numbersOf = (table: 'workspaces' | 'pools'): string =>
  `UPDATE ${table} t SET n = f.n FROM (
     SELECT id, (SELECT coalesce(max(n), 0) FROM ${table}) + row_number() OVER (ORDER BY ord) AS n
     FROM ${table} WHERE n IS NULL) f
   WHERE t.id = f.id`

const NUMBERS = [numbersOf('pools'), numbersOf('workspaces')]

/** The same verb, and numbers for what it stored. */
const numbering = <Args extends readonly unknown[], T>(verb: (...args: Args) => Asking<T>) =>
  function* (...args: Args): Asking<T> {
    const result = yield* verb(...args)
    yield* numberAll()
    return result
  }

function* numberAll(): Asking<void> {
  for (const text of NUMBERS) yield* run(text)
}

/** A pool that is new needs its number for that. */
function* poolsChanged(now: number): Asking<void> {
  yield* numberAll()
  yield* notePauses(now)
}

/** Whether mail waits in a pool, is held or under way. */
const hasMail = (poolId: string): Asking<boolean> =>
  isThere(
    `SELECT 1 FROM pools p WHERE p.id = ? AND (EXISTS (SELECT 1 FROM queue q WHERE q.pool = p.n AND q.due_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM queue q WHERE q.pool = p.n AND q.boot IS NOT NULL)
       OR EXISTS (SELECT 1 FROM queue q WHERE q.pool = p.n AND q.held IS NOT NULL))`,
    poolId,
  )

export const tenantVerbs = (places: Places) => {
  const parts: TenantParts = { places, now: systemClock.now, poolsChanged }
  const addNotice = createAddNotice(places)
  const { createAccount, createWorkspace, ownPool, touchAll: _, ...rest } = tenantWrites(parts)
  const { createPool, ...pools } = poolWrites({ ...parts, hasMail })
  return {
    ...rest,
    ...pools,
    createAccount: numbering(createAccount),
    createWorkspace: numbering(createWorkspace),
    ownPool: numbering(ownPool),
    createPool: numbering(createPool),
    ...domainWrites(places, addNotice),
    ...suppressionWrites({ places, now: systemClock.now, tell: createSuppressionEvents(addNotice) }),
  }
}

/** What a fresh database has, so that one can send at once. */
export const addDefaults = (places: Places, now: number): Asking<void> => {
  const id = newId('acct', now)
  return tenantVerbs(places).createAccount({ id, name: 'default', createdAt: now }, beginningOf(id, now))
}
