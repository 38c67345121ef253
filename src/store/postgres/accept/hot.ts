/**
 * NAME      hot - mail that is born leased to the relay of this process
 * DESCRIPTION
 *   It saves a claim: three statements and a commit before a mail can go. What the relay has room for is offered; the
 *   statement that stores it leases what no hold and no list is about, as long as the relay's writer has its boot, and
 *   what it leased goes to the relay with its bytes after the commit. The rest is due, for any daemon.
 *   Nobody but the relay settles or frees such a lease; when it is gone before it has heard of one, whoever takes over its
 *   writer does, in the beats after that, too (write/heartbeat.ts): what is accepted meanwhile still sees it. A lease whose
 *   mail was stored while nobody heard of that is freed as soon as the database is back.
 */

import { FIRST_LEASE_MS, firstStatus } from '../../../lifecycle/accept.js'
import type { Acceptance, Claimed, NewEmail, NewRecipient } from '../../../lifecycle/facts.js'
import { createHotSet } from '../../sql/mails.js'
import { type Asking, all, type Row } from '../../sql/query.js'
import { type Lease, toLoaded } from '../claim/claimed.js'
import type { Unheard } from '../claim/unheard.js'
import type { Hints } from '../hints.js'

/** What a batch offers. */
export interface Offer {
  /** Of the relay's writer; null: nobody takes any. */
  readonly boot: number | null
  readonly now: number
  readonly ids: ReadonlySet<string>
}

/** When its leases end. */
export const untilOf = (now: number): number => now + FIRST_LEASE_MS

interface Place {
  /** What its workspace wants done with mail that may have been taken. */
  readonly ambiguous: 'retry' | 'hold'
  /** Of the mail. */
  readonly ord: number
  /** By its number. */
  readonly workspace: number
}

/** What was leased of an offer, by recipient. */
type Taken = ReadonlyMap<string, Place>

/** When the answer was lost. */
const TAKEN = `SELECT json_agg(json_build_array(q.recipient_id, w.ambiguous, q.email_ord, q.workspace)) AS taken
  FROM queue q JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.boot = ? AND q.attempting IS NULL`

export function* takenNow({ ids, boot }: Offer): Asking<Taken> {
  return takenOf(ids.size === 0 ? [] : yield* all(TAKEN, [...ids], boot))
}

type TakenRow = readonly [id: string, ambiguous: Place['ambiguous'], ord: number, workspace: number]

export const takenOf = (rows: readonly Row[]): Taken => {
  const those = rows.flatMap(({ taken }) => (taken ?? []) as readonly TakenRow[])
  return new Map(those.map(([id, ambiguous, ord, workspace]) => [id, { ambiguous, ord, workspace }]))
}

type Pooled = Pick<NewRecipient, 'poolId'>

const poolOf = (mail: NewEmail, recipient: Pooled): string => recipient.poolId ?? mail.poolId

const claimedOf = (
  mail: NewEmail,
  recipient: NewRecipient,
  ambiguous: 'retry' | 'hold',
  raw: Uint8Array,
  now: number,
): Claimed => ({
  ...{ recipientId: recipient.id, emailId: mail.id, workspaceId: mail.workspaceId, mode: mail.mode },
  ...{ poolId: poolOf(mail, recipient), address: recipient.address, dsn: recipient.dsn ?? null },
  ...{ envid: mail.envid, ret: mail.ret, messageId: mail.messageId, from: mail.from },
  ...{
    needsSmtpUtf8: mail.needsSmtpUtf8,
    nullSender: mail.mailFrom === '',
    requireTls: mail.requireTls === true,
  },
  ...{ attempts: 0, createdAt: mail.createdAt, queuedAt: now, freedAt: null, leaseGen: 1 },
  ...{ size: raw.byteLength, ambiguous, raw },
})

/** Of mail to one: more needs a look in any case. */
const loadedOf = ({ mailFrom, recipients }: NewEmail, claimed: Claimed, place: Place, boot: number) => {
  const mail = { email_ord: place.ord, workspace_n: place.workspace, mail_from: mailFrom ?? null }
  const status = { status: 'queued', email_status: 'queued', total: recipients.length }
  const rest = { notify: claimed.dsn?.notify ?? null, queued_at: claimed.queuedAt }
  const nothing = { deadline: null, last_response: null, reason: null }
  return toLoaded({ ...mail, ...status, ...rest, ...nothing }, claimed, boot)
}

/** Each recipient that is taken, with bytes of its own buffer: one for all of them, which goes along. */
const leasesIn = (batch: readonly Acceptance[], taken: Taken, boot: number): readonly Lease[] => {
  const mails = batch.flatMap(({ mails, now }) => mails.map((mail) => ({ mail, now })))
  const hot = mails.filter(({ mail }) => mail.recipients.some(({ id }) => taken.has(id)))
  const octets = new Uint8Array(hot.reduce((sum, { mail }) => sum + mail.raw.byteLength, 0))
  let at = 0
  return hot.flatMap(({ mail, now }) => {
    octets.set(mail.raw, at)
    const raw = octets.subarray(at, at + mail.raw.byteLength)
    at += mail.raw.byteLength
    return mail.recipients.flatMap((recipient) => {
      const place = taken.get(recipient.id)
      if (place === undefined) return []
      const claimed = claimedOf(mail, recipient, place.ambiguous, raw, now)
      return [{ claimed, loaded: loadedOf(mail, claimed, place, boot) }]
    })
  })
}

/** The pools of what is due now. */
const duePools = (batch: readonly Acceptance[], taken: Taken): readonly string[] => {
  const pools = new Set<string>()
  for (const { mails } of batch)
    for (const mail of mails)
      for (const recipient of mail.recipients)
        if (!taken.has(recipient.id)) pools.add(poolOf(mail, recipient))
  return [...pools]
}

export const createHot = (hints: Hints, unheard: Unheard) => {
  const set = createHotSet(hints.room)
  hints.onTaker((boot) => {
    set.clear()
    set.open = boot !== null
  })
  const leave = (ids: Iterable<string>): void => {
    for (const id of ids) set.drop(id)
  }
  hints.onSettled((settled) => leave(settled.map(({ recipientId }) => recipientId)))
  hints.onLeft(leave)

  const fits = (mail: NewEmail, recipient: NewRecipient): boolean =>
    firstStatus(recipient, mail.scheduledAt) === 'queued' &&
    set.admit(recipient.id, poolOf(mail, recipient), mail.workspaceId, mail.raw.byteLength)

  return {
    offer(batch: readonly Acceptance[]): Offer {
      const boot = hints.taker()
      const mails = boot === null ? [] : batch.flatMap((one) => one.mails)
      const ids = mails.flatMap((mail) =>
        mail.recipients.filter((one) => fits(mail, one)).map(({ id }) => id),
      )
      return { boot, now: batch[0]?.now ?? 0, ids: new Set(ids) }
    },
    /** It is stored: whoever carries it hears of it. */
    stored(batch: readonly Acceptance[], { ids, boot }: Offer, taken: Taken): void {
      leave([...ids].filter((id) => !taken.has(id)))
      if (boot !== null && taken.size > 0) hints.leased(leasesIn(batch, taken, boot))
      const pools = duePools(batch, taken)
      if (pools.some(hints.wants)) hints.due()
      // what this one has no room for is for others, too
      const others = boot === null ? pools.filter((poolId) => !hints.wants(poolId)) : pools
      if (others.length > 0) hints.elsewhere({ topic: 'due', poolIds: others })
    },
    /** Or not, as far as is known here. */
    failed({ ids, boot, now }: Offer, isKnown: boolean): void {
      leave(ids)
      if (!isKnown && boot !== null && ids.size > 0) unheard.free(boot, untilOf(now), now)
    },
  }
}
