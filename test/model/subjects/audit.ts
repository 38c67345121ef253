/**
 * NAME      audit - who changed what
 * DESCRIPTION
 *   The rules know verbs of several steps by the first of them. Here each is one call, which says what it
 *   changed in `effects`.
 */
import { newId } from '../../../src/base/id.js'
import { AUDIT_KEPT_MS, type Audit, type AuditDetail } from '../../../src/store/port/identity.js'
import {
  type Acting,
  type AuditDraft,
  countOf,
  type Look,
  type Looked,
  RULES,
} from '../../../src/store/rules/audit.js'
import type { Plain } from '../plain.js'
import { anyWorkspace, type Effects, type State, type Table } from '../state.js'
import { listed } from '../tenants.js'

type Verb = (...args: never[]) => unknown
type AnyRule = (look: Look, ...args: unknown[]) => (result: unknown) => AuditDraft | null

const STEP_OF: Readonly<Record<string, string>> = {
  hold: 'beginHold',
  operate: 'beginOrder',
  decideIncident: 'decideStep',
  endLot: 'turnLot',
  closeLot: '',
}

/** As the first step of a verb has them. */
const argsOf = (verb: string, args: readonly unknown[]): readonly unknown[] => {
  const [first, second] = args
  if (verb === 'suspendWorkspace') return [(first as { readonly id: string }).id, second]
  return verb === 'endLot' ? [first, [], second] : args
}

/** What the first step answers, where the verb answers how many it changed. */
const RESULT_OF: Readonly<Record<string, (result: unknown, args: readonly unknown[]) => unknown>> = {
  resumeWorkspace: () => 'done',
  decideIncident: (result) => (typeof result === 'number' ? { changed: result } : result),
  endLot: (result, args) => (typeof result === 'number' ? args[1] : result),
}

const lookIn = (state: State): Look => {
  const mails = (id: string): Looked['mails'] | null => {
    const mail = state.mails.get(id)
    return mail && { ...mail, isOver: mail.counts.scheduled === 0 }
  }
  const pepper = (): Looked['pepper'] | null => {
    const mark = state.marks.get('pepper')
    return mark === null ? null : { mark, accountId: state.accounts.where(() => true)[0]?.id ?? null }
  }
  return ((table: keyof Looked, id: string) => {
    if (table === 'mails') return mails(id)
    if (table === 'pepper') return pepper()
    if (table === 'workspaces') return anyWorkspace(state, id)
    return (state[table === 'webhooks' ? 'endpoints' : table] as Table<unknown>).get(id)
  }) as Look
}

/** A verb, and the entry of who called it. */
export const createAudited = (state: State, effects: Effects) => {
  const { audit } = state
  const look = lookIn(state)
  const write = (
    { actor, entry: id }: Acting,
    { accountId, action, object, workspaceId, detail }: AuditDraft,
  ) => {
    const at = state.clock.now()
    const row = { id: id ?? newId('aud', at), accountId, at, actor, action, object }
    const said: AuditDetail = { ...(actor.reason && { reason: actor.reason }), ...detail }
    const changed = said.changed === 0 || effects.changed > 0 ? { changed: effects.changed } : {}
    audit.add(row.id, { ...row, workspaceId: workspaceId ?? null, detail: { ...said, ...changed } })
  }
  return (name: string, args: readonly unknown[], acting: Acting | null, verb: Verb): unknown => {
    const run = () => verb(...(args as never[]))
    if (acting === null) return run()
    const begun = acting.entry === null ? null : audit.get(acting.entry)
    if (begun !== null) {
      const result = run()
      const changed = Number(begun.detail.changed ?? 0) + countOf(result)
      audit.change(begun.id, { detail: { ...begun.detail, changed } })
      return result
    }
    const rule = (RULES as Readonly<Record<string, AnyRule>>)[STEP_OF[name] ?? name]
    const tell = rule?.(look, ...argsOf(name, args))
    const result = run()
    const entry = tell?.(RESULT_OF[name]?.(result, args) ?? result) ?? null
    if (entry !== null) write(acting, entry)
    return result
  }
}

export const createAuditReads = ({ audit }: State): Plain<Audit> => ({
  audit: (accountId, { action, actorId, objectId, workspaceId, since, until }, page) =>
    listed(
      audit,
      (row) =>
        row.accountId === accountId &&
        (action === null || row.action.startsWith(action)) &&
        (actorId === null || row.actor.id === actorId) &&
        (objectId === null || row.object.id === objectId) &&
        (workspaceId === null || row.workspaceId === workspaceId) &&
        (since === null || row.at >= since) &&
        (until === null || row.at < until),
      page,
    ),
})

export const sweepAudit = ({ audit }: State, now: number): number =>
  audit.drop(({ at }) => at < now - AUDIT_KEPT_MS)
