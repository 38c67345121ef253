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
import type { Acceptance, Claimed, NewEmail, NewRecipient } from '../../../lifecycle/facts.js'
import { FIRST_LEASE_MS, firstStatus } from '../../../lifecycle/sending/accept.js'
import { createHotSet } from '../../sql/mails/hot.js'
import { type Asking, all, type Row } from '../../sql/query.js'
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

/** What was leased of an offer: the recipient, and what its workspace wants done with mail that may have been taken. */
type Taken = ReadonlyMap<string, 'retry' | 'hold'>

/** When the answer was lost. */
const TAKEN = `SELECT q.recipient_id AS id, w.ambiguous FROM queue q JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.boot = ? AND q.attempting IS NULL`

export function* takenNow({ ids, boot }: Offer): Asking<Taken> {
  const rows = ids.size === 0 ? [] : yield* all(TAKEN, [...ids], boot)
  return new Map(rows.map(({ id, ambiguous }) => [String(id), ambiguous as 'retry' | 'hold']))
}

export const takenOf = (rows: readonly Row[]): Taken =>
  new Map(rows.flatMap(({ taken }) => (taken ?? []) as readonly [string, 'retry' | 'hold'][]))

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

/** Each recipient that is taken, with bytes of its own buffer: one for all of them, which goes along. */
const claimedIn = (batch: readonly Acceptance[], taken: Taken): readonly Claimed[] => {
  const mails = batch.flatMap(({ mails, now }) => mails.map((mail) => ({ mail, now })))
  const hot = mails.filter(({ mail }) => mail.recipients.some(({ id }) => taken.has(id)))
  const octets = new Uint8Array(hot.reduce((sum, { mail }) => sum + mail.raw.byteLength, 0))
  let at = 0
  return hot.flatMap(({ mail, now }) => {
    octets.set(mail.raw, at)
    const raw = octets.subarray(at, at + mail.raw.byteLength)
    at += mail.raw.byteLength
    return mail.recipients.flatMap((recipient) => {
      const ambiguous = taken.get(recipient.id)
      return ambiguous === undefined ? [] : [claimedOf(mail, recipient, ambiguous, raw, now)]
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
      if (taken.size > 0) hints.leased(claimedIn(batch, taken))
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
