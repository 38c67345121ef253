/**
 * NAME      claimed - what sending wants to know of who is leased
 * DESCRIPTION
 *   Read after the lease is stored, on a connection that holds no fence: the answer may be large, and nobody
 *   else changes what is leased.
 */
import type { Claimed } from '../../lifecycle/facts.js'
import { waitsSince } from '../../lifecycle/orders.js'
import { emptyCounts, type Status } from '../../mail/status.js'
import { modeOf } from '../sql/mails.js'
import { type Asking, all, type Row } from '../sql/query.js'
import { pausesOf } from '../sql/schedule.js'
import type { LoadedRecipient } from './leased.js'

/** Larger bodies stay out of the answer; body() fetches them when they are sent. */
const RAW_LIMIT = 64 * 1024

const LEASED = `SELECT q.recipient_id, q.gen, q.workspace AS workspace_n, CASE WHEN q.held IS NULL THEN q.held_at END AS freed_at,
    q.email_ord, r.written, r.address_lc, r.notify, r.orcpt, r.attempts, r.queued_at, e.id, e.test, e.envid, e.ret,
    e.message_id, e.sender, e.utf8, e.created_at, e.size, e.body, e.mail_from, e.require_tls, w.id AS workspace, w.ambiguous,
    r.status, r.deadline, r.last_response, r.reason, e.status AS email_status, e.total
  FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id JOIN emails e ON e.ord = q.email_ord
  JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.boot + 0 = ?`

const BODIES = 'SELECT n, raw FROM bodies WHERE n = ANY (CAST(? AS BIGINT[]))'

type FromRow = Omit<Claimed, 'queuedAt' | 'freedAt' | 'raw' | 'poolId'>

const toClaimed = (row: Row): FromRow => ({
  recipientId: row.recipient_id as string,
  emailId: row.id as string,
  workspaceId: row.workspace as string,
  mode: modeOf(row.test),
  address: (row.written === '' ? row.address_lc : row.written) as string,
  dsn:
    row.notify === null && row.orcpt === null
      ? null
      : { notify: row.notify as string | null, orcpt: row.orcpt as string | null },
  envid: row.envid as string | null,
  ret: row.ret as string | null,
  messageId: row.message_id as string,
  from: row.sender as string,
  needsSmtpUtf8: row.utf8 === 1,
  attempts: row.attempts as number,
  createdAt: row.created_at as number,
  leaseGen: row.gen as number,
  size: row.size as number,
  ambiguous: row.ambiguous as 'retry' | 'hold',
  nullSender: row.mail_from === '',
  requireTls: row.require_tls === 1,
})

/** As outcomes find it; what only a look can tell them is as it costs one (leased.ts). */
export const toLoaded = (row: Row, claimed: Claimed, boot: number): LoadedRecipient => ({
  id: claimed.recipientId,
  mail: {
    id: claimed.emailId,
    ord: row.email_ord as number,
    workspace: row.workspace_n as number,
    workspaceId: claimed.workspaceId,
    mode: claimed.mode,
    status: row.email_status as Status,
    total: row.total as number,
    counts: { ...emptyCounts(), [row.status as Status]: 1 },
    mailFrom: row.mail_from as string | null,
    senderDsn: true,
    countsSoftBounces: true,
  },
  address: claimed.address,
  notify: row.notify as string | null,
  queuedAt: row.queued_at as number,
  isQueued: true,
  state: {
    status: row.status as Status,
    attempts: claimed.attempts,
    dueAt: null,
    boot,
    leaseGen: claimed.leaseGen,
    attempting: null,
    held: null,
    deadline: row.deadline as number | null,
    lastResponse: row.last_response as string | null,
    reason: row.reason as string | null,
  },
})

/** Who is leased, and what its outcome is decided on by. */
export interface Lease {
  readonly claimed: Claimed
  readonly loaded: LoadedRecipient
}

function* bodiesOf(rows: readonly Row[]): Asking<ReadonlyMap<unknown, Uint8Array>> {
  const small = rows.filter(({ size }) => (size as number) <= RAW_LIMIT)
  const places = [...new Set(small.map(({ body }) => body))]
  const found = places.length === 0 ? [] : yield* all(BODIES, places)
  return new Map(found.map(({ n, raw }) => [n, raw as Uint8Array]))
}

/** In no order. */
export function* claimedOf(
  ids: readonly string[],
  pool: { readonly id: string; readonly n: number },
  boot: number,
  now: number,
): Asking<readonly Lease[]> {
  const rows = yield* all(LEASED, ids, boot)
  const bodies = yield* bodiesOf(rows)
  const pauses = yield* pausesOf(pool.n)
  return rows.map((row) => {
    const [queuedAt, resumedAt] = waitsSince(pauses, row.queued_at as number, now)
    const freedAt = row.freed_at as number | null
    const claimed: Claimed = {
      ...toClaimed(row),
      poolId: pool.id,
      queuedAt,
      freedAt: resumedAt === null ? freedAt : Math.max(resumedAt, freedAt ?? resumedAt),
      raw: bodies.get(row.body) ?? null,
    }
    return { claimed, loaded: toLoaded(row, claimed, boot) }
  })
}
