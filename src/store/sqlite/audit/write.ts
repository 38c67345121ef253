/**
 * NAME      write - a verb, and the entry of who called it
 * DESCRIPTION
 *   Both are in the commit that runs. Calls that share an entry are one order:
 *   the first of them writes it, the others add what they changed to `changed`.
 */
import { newId } from '../../../base/id.js'
import { AUDIT_KEPT_MS } from '../../port/tenants/audit.js'
import { countOf, type Entry, type Rules } from '../../rules/audit/entry.js'
import { RULES } from '../../rules/audit/rules.js'
import type { Verb } from '../protocol.js'
import type { WriteContext } from '../write/context.js'
import type { Acting } from './acting.js'
import { createLook } from './look.js'

type AnyRules = Readonly<Record<string, (...args: unknown[]) => (result: unknown) => Entry | null>>

export type Audited = <T>(verb: Verb, args: readonly unknown[], acting: Acting, run: () => T) => T

export type WriteEntry = (by: Acting, entry: Entry) => void

/** Writes an entry into the commit that runs. */
export const createWriteEntry = ({ db, order }: Pick<WriteContext, 'db' | 'order'>): WriteEntry => {
  const insert = db.prepare(
    `INSERT INTO audit (ord, id, account_id, at, actor_kind, actor_id, actor_name, actor_address, action, object_type,
       object_id, workspace_id, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return ({ actor, entry: id }, entry) => {
    const now = Date.now()
    const { accountId, action, object, workspaceId = null } = entry
    const detail = { ...(actor.reason && { reason: actor.reason }), ...entry.detail }
    insert.run(
      ...[order.next(), id ?? newId('aud', now), accountId, now],
      ...[actor.kind, actor.id, actor.name, actor.address],
      ...[action, object.type, object.id, workspaceId, JSON.stringify(detail)],
    )
  }
}

export const createAudited = (context: WriteContext): Audited => {
  const { db } = context
  const look = createLook(db)
  const write = createWriteEntry(context)
  const isBegun = db.prepare('SELECT 1 FROM audit WHERE id = ?')
  const add = db.prepare(
    `UPDATE audit SET detail = json_set(detail, '$.changed', coalesce(json_extract(detail, '$.changed'), 0) + ?)
     WHERE id = ?`,
  )

  return (verb, args, acting, run) => {
    if (acting.entry !== null && isBegun.get(acting.entry) !== undefined) {
      const result = run()
      add.run(countOf(result), acting.entry)
      return result
    }
    const rule = (RULES as Rules & AnyRules)[verb]
    if (rule === undefined) return run()
    const tell = (rule as AnyRules[string])(look, ...args)
    const result = run()
    const entry = tell(result)
    if (entry !== null) write(acting, entry)
    return result
  }
}

const STEP = 200

/** What is too old goes, a page at a time; the number of entries. */
export const createAuditSweep = ({ db }: Pick<WriteContext, 'db'>): ((now: number) => number) => {
  const old = db.prepare(
    `DELETE FROM audit WHERE ord IN (SELECT ord FROM audit ORDER BY ord LIMIT ${STEP}) AND at < ?`,
  )
  return (now) => old.run(now - AUDIT_KEPT_MS).changes
}
