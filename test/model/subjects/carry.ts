/**
 * NAME      carry - mail that moves to another store
 * NOTES
 *   What the model writes only the model reads: a row in a file is the row here, as JSON, beside the few
 *   fields that others look at.
 */
import { Fault } from '../../../src/base/fault.js'
import { observed } from '../../../src/lifecycle/facts.js'
import { isAway } from '../../../src/lifecycle/orders.js'
import {
  type CarriedFields,
  type Carry,
  EXPORTED,
  type LotRow,
  MOVED,
  type QueueScope,
} from '../../../src/store/port/operations.js'
import { comesBack, ENDABLE, mayLeave } from '../../../src/store/rules/operations.js'
import { recipientsOf } from '../ledger.js'
import type { Plain } from '../plain.js'
import type { QueueParts } from '../queue.js'
import { anyWorkspace, type Logged, type Mail, nextOrd, type Recipient } from '../state.js'
import { owned } from '../tenants.js'

const rowOf = <Row>({ kept }: CarriedFields): Row => JSON.parse(String(kept)) as Row

const fieldsOf = ({ id, status, reason, held, ...row }: Recipient): CarriedFields => {
  const { workspaceId, poolId, boot, leaseUntil, attemptUpstream, ...rest } = row
  return { id, status, reason, held: isAway(held) ? EXPORTED : held, kept: JSON.stringify(rest) }
}

const LOCAL = { boot: null, leaseUntil: null, attemptUpstream: null } as const

const createCarryIn = ({ state, people, log }: QueueParts): Plain<Carry>['carryIn'] => {
  const { mails, recipients, events, lots } = state
  const cameWith = (id: string, lot: string): boolean =>
    log.timeline(id).some(({ detail }) => detail?.action === 'imported' && detail.lot === lot)
  const isWelcome = (id: string, carried: readonly CarriedFields[], lot: string | null): boolean =>
    mails.get(id) === null ||
    (lot !== null &&
      (lots.get(lot)?.state ?? 'imported') === 'imported' &&
      !cameWith(id, lot) &&
      comesBack(carried, (one) => recipients.get(one)))

  return (carried, { workspaceId, poolId, lot }, now) => {
    const { id, content, raw } = carried
    if (!isWelcome(id, carried.recipients, lot)) return 'known'
    const left = mails.get(id)
    const ord = mails.ordOf(id) || nextOrd(state)
    const known = log.timeline(id).map((event) => event.id)
    mails.delete(id)
    recipients.drop(({ emailId }) => emailId === id)
    const accountId = anyWorkspace(state, workspaceId)?.accountId ?? ''
    const mail = { ...rowOf<Mail>(carried.email), accountId, workspaceId, poolId }
    mails.add(id, { ...mail, content: left?.content ?? content, raw: left?.raw ?? raw }, ord)
    for (const fields of carried.recipients) {
      const { id: recipientId, status, reason, held } = fields as unknown as Recipient
      const row = { ...rowOf<Recipient>(fields), id: recipientId, status, reason, held, workspaceId, poolId }
      recipients.add(recipientId, { ...row, ...LOCAL })
    }
    for (const fields of carried.events) {
      const event = rowOf<Logged>(fields)
      if (!known.includes(event.id))
        events.add(event.id, { ...event, n: 0, isTold: false, accountId, workspaceId })
    }
    const reason = 'carried over from another store'
    for (const one of recipientsOf(state, id).filter(({ held }) => held === EXPORTED))
      people.free(one, { action: 'imported', did: 'released', reason, now, ...(lot && { more: { lot } }) })
    return 'accepted'
  }
}

const createLots = (
  { state, people, effects }: QueueParts,
  inScope: (scope: QueueScope) => readonly Recipient[],
): Pick<Plain<Carry>, 'addLot' | 'lots' | 'lot' | 'markLot' | 'closeLot' | 'endLot'> => {
  const { lots, recipients } = state
  const ofLot = (id: string): Recipient[] => recipients.where(({ held }) => held === id)
  const takeOut = (emailId: string, id: string, reason: string, now: number): number => {
    const all = recipientsOf(state, emailId)
    const leases = all.map(({ boot, held }) => ({ isLeased: boot !== null, held }))
    const waiting = mayLeave(leases, id) ? all.filter(({ dueAt }) => dueAt !== null) : []
    for (const one of waiting) people.hold(one, { id, reason }, now)
    return waiting.length
  }
  const end = (one: Recipient, { id, state: as }: LotRow, now: number): void => {
    const detail = { action: MOVED, lot: id }
    const moved = observed({
      ...{ recipientId: one.id, seen: 'moved', at: now, source: 'operator', reason: MOVED, detail },
    })
    if (as === 'forgotten' && people.settle(moved)?.applied) return
    const more = { lot: id }
    people.free(one, { action: 'taken_back', did: 'released', reason: 'taken back', now, more })
  }
  return {
    addLot(row) {
      if (lots.get(row.id) === null) lots.add(row.id, row)
    },
    lots: (accountId) =>
      lots
        .where((row) => row.accountId === accountId)
        .reverse()
        .map((row) => ({ ...row, recipients: ofLot(row.id).length })),
    lot: (accountId, id) => owned(lots, accountId, id),
    markLot(id, scope, reason, now) {
      if (lots.get(id)?.state !== 'marking') throw new Fault('resource.conflict', { reason: 'lot_ended' })
      const waiting = inScope(scope).filter(({ dueAt, boot }) => dueAt !== null && boot === null)
      const ids = [...new Set(waiting.map(({ emailId }) => emailId))]
      return ids.reduce((sum, emailId) => sum + takeOut(emailId, id, reason, now), 0)
    },
    closeLot: (id) => lots.get(id)?.state === 'marking' && lots.change(id, { state: 'exported' }),
    endLot(id, as, now) {
      const lot = lots.get(id)
      if (lot === null || !ENDABLE[as].includes(lot.state)) return lot?.state ?? 'imported'
      lots.change(id, { state: as })
      const away = ofLot(id)
      for (const one of away) end(one, { ...lot, state: as }, now)
      effects.changed += away.length
      return away.length
    },
  }
}

export const createCarry = (
  parts: QueueParts,
  inScope: (scope: QueueScope) => readonly Recipient[],
): Plain<Carry> => {
  const { state } = parts
  const { mails, pools, recipients, events } = state
  return {
    ...createLots(parts, inScope),
    exported(lot, after) {
      const rows = recipients.where(({ held, id }) => held === lot && id > after)
      const ids = rows.map(({ id }) => id).sort()
      return { ids: [...new Set(rows.map(({ emailId }) => emailId))], next: ids.at(-1) ?? null }
    },
    carried(id) {
      const mail = mails.get(id)
      if (mail === null) return null
      const { raw, content, status, size, counts, ...rest } = mail
      const total = Object.values(counts).reduce((sum, n) => sum + n, 0)
      const kept = JSON.stringify({ ...rest, status, size, counts })
      return {
        ...{ id, workspace: anyWorkspace(state, mail.workspaceId)?.slug ?? '' },
        pool: pools.get(mail.poolId)?.name ?? '',
        email: { id, status, size, total, ...counts, kept },
        recipients: recipientsOf(state, id).map(fieldsOf),
        events: events
          .where(({ emailId }) => emailId === id)
          .map((event) => ({ id: event.id, kept: JSON.stringify(event) })),
        ...{ content, raw },
      }
    },
    knownEmails: (ids) => ids.filter((id) => mails.get(id) !== null),
    carryIn: createCarryIn(parts),
  }
}
