/**
 * NAME      leased - rows of recipients and mails, read and locked before they change
 *   As a claim has read them, or their accept has stored them, and as they are marked since: nobody else is
 *   to change them until they are settled, so the outcome of an attempt is decided on without another look.
 *   That is an assumption and no more. The statement which applies it has it as its condition (settle.ts),
 *   and where others have been at work it is all read anew. Only what needs no more than that is decided so:
 *   mails of one recipient, whose attempt was taken or is put off. What a workspace may have changed
 *   meanwhile, such as who is told of a failure, is looked up.
 */
import type { AttemptMark, Claimed, Outcome } from '../../lifecycle/facts.js'
import { waitsSince } from '../../lifecycle/orders.js'
import type { Mode } from '../../lifecycle/page.js'
import { dsnActionOf, isTold } from '../../lifecycle/pending-dsn.js'
import type { RecipientState } from '../../lifecycle/recipient.js'
import { type Counts, emptyCounts, STATUSES, type Status } from '../../mail/status.js'
import { RELAYED, toClaimed } from '../sql/claimed.js'
import { type MailPlace, scopeOf } from '../sql/log/events.js'
import { type Asking, all, type Row } from '../sql/query.js'
import { pausesOf } from '../sql/schedule.js'

export interface LoadedMail {
  readonly id: string
  readonly ord: number
  /** Its workspace, by its number. */
  readonly workspace: number
  readonly workspaceId: string
  readonly mode: Mode
  readonly status: Status
  readonly total: number
  readonly counts: Counts
  readonly mailFrom: string | null
  /** Its workspace wants that senders hear. */
  readonly senderDsn: boolean
  /** Its workspace suppresses after soft bounces. */
  readonly countsSoftBounces: boolean
}

export const placeOf = ({ ord, workspace, mode }: LoadedMail): MailPlace => ({
  ...{ ord, scope: scopeOf(workspace, mode === 'test') },
})

export interface LoadedRecipient {
  readonly id: string
  readonly mail: LoadedMail
  readonly address: string
  readonly notify: string | null
  readonly queuedAt: number
  /** It is in the queue: due, leased or held. */
  readonly isQueued: boolean
  readonly state: RecipientState
}

export interface Loaded {
  readonly recipients: ReadonlyMap<string, LoadedRecipient>
  /** Dedupe keys of events that are there. */
  readonly known: ReadonlySet<string>
}

const RECIPIENTS = `SELECT r.id, r.status, r.attempts, r.deadline, r.last_response, r.reason, r.notify, r.queued_at,
    CASE r.written WHEN '' THEN r.address_lc ELSE r.written END AS address,
    q.gen, q.due_at, q.boot, q.attempting, q.held, r.last_gen,
    e.id AS email_id, e.ord, e.workspace, e.test, e.status AS email_status, e.total, e.mail_from,
    ${STATUSES.map((status) => `e.${status}`).join(', ')},
    w.id AS workspace_id, w.sender_dsn, CASE w.suppress_soft WHEN '{}' THEN 0 ELSE 1 END AS soft
  FROM recipient_rows r LEFT JOIN queue q ON q.recipient_id = r.id
    JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace
  WHERE r.id = ANY(CAST(? AS TEXT[]))`

const KNOWN = 'SELECT dedupe FROM events WHERE dedupe = ANY(CAST(? AS TEXT[]))'

const mailOf = (row: Row): LoadedMail => ({
  id: row.email_id as string,
  ord: row.ord as number,
  workspace: row.workspace as number,
  workspaceId: row.workspace_id as string,
  mode: row.test === 1 ? 'test' : 'live',
  status: row.email_status as Status,
  total: row.total as number,
  counts: Object.fromEntries(STATUSES.map((status) => [status, row[status]])) as Counts,
  mailFrom: row.mail_from as string | null,
  senderDsn: row.sender_dsn === 1,
  countsSoftBounces: row.soft === 1,
})

const stateOf = (row: Row): RecipientState => ({
  status: row.status as Status,
  attempts: row.attempts as number,
  dueAt: row.due_at as number | null,
  boot: row.boot as number | null,
  leaseGen: (row.gen ?? row.last_gen) as number,
  attempting: row.attempting as number | null,
  held: row.held as string | null,
  deadline: row.deadline as number | null,
  lastResponse: row.last_response as string | null,
  reason: row.reason as string | null,
})

/** `keys` of a recipient are asked for when it is known what it is. */
export function* load(
  ids: readonly string[],
  keysOf: (id: string, state: RecipientState) => readonly string[],
): Asking<Loaded> {
  const mails = new Map<number, LoadedMail>()
  const recipients = new Map<string, LoadedRecipient>()
  const keys: string[] = []
  for (const row of yield* all(RECIPIENTS, ids)) {
    const ord = row.ord as number
    const mail = mails.get(ord) ?? mailOf(row)
    mails.set(ord, mail)
    const id = row.id as string
    const state = stateOf(row)
    recipients.set(id, {
      ...{ id, mail, state, address: row.address as string, isQueued: row.gen !== null },
      ...{ notify: row.notify as string | null, queuedAt: row.queued_at as number },
    })
    keys.push(...keysOf(id, state))
  }
  const found = keys.length === 0 ? [] : yield* all(KNOWN, keys)
  return { recipients, known: new Set(found.map(({ dedupe }) => dedupe as string)) }
}

/** In a transaction that decides: nobody else changes these until it ends. */
export function* lock(ids: readonly string[]): Asking<void> {
  yield* all(
    `SELECT 1 FROM emails WHERE ord IN (SELECT email_ord FROM recipient_rows WHERE id = ANY(CAST(? AS TEXT[])))
     ORDER BY ord FOR NO KEY UPDATE`,
    ids,
  )
  yield* all(
    'SELECT 1 FROM recipient_rows WHERE id = ANY(CAST(? AS TEXT[])) ORDER BY id FOR NO KEY UPDATE',
    ids,
  )
  yield* all(
    'SELECT 1 FROM queue WHERE recipient_id = ANY(CAST(? AS TEXT[])) ORDER BY recipient_id FOR UPDATE',
    ids,
  )
}

/** The oldest go: many more than are ever under way. */
const MOST = 20_000

export interface Leased {
  note(recipient: LoadedRecipient): void
  marked(mark: AttemptMark): void
  /** Those of these outcomes that can do without a look. They are forgotten: their leases end. */
  take(outcomes: readonly Outcome[]): ReadonlyMap<string, LoadedRecipient>
  clear(): void
}

const isPlain = (outcome: Outcome, { state, mail, notify, queuedAt }: LoadedRecipient): boolean => {
  const { seen, leaseGen, dedupe, report } = outcome
  if (leaseGen !== state.leaseGen || dedupe !== null || report !== undefined) return false
  if (seen !== 'accepted' && seen !== 'postponed') return false
  const action = dsnActionOf(outcome)
  const submitted = { mailFrom: mail.mailFrom, notify, queuedAt, senderDsn: true }
  return action === null || !isTold(action, outcome, submitted)
}

export const createLeased = (): Leased => {
  const known = new Map<string, LoadedRecipient>()
  return {
    note(recipient) {
      if (recipient.mail.total !== 1) return
      known.delete(recipient.id)
      known.set(recipient.id, recipient)
      // a Map has its keys in the order in which they came
      const oldest = known.size > MOST ? known.keys().next().value : undefined
      if (oldest !== undefined) known.delete(oldest)
    },
    marked({ recipientId, leaseGen, attempt }) {
      const found = known.get(recipientId)
      if (found?.state.leaseGen !== leaseGen) return
      known.set(recipientId, { ...found, state: { ...found.state, attempting: attempt } })
    },
    take(outcomes) {
      const taken = new Map<string, LoadedRecipient>()
      const unsure = new Set<string>()
      for (const outcome of outcomes) {
        const id = outcome.recipientId
        const found = known.get(id)
        // so a second outcome of it finds nothing, and both go with a look
        known.delete(id)
        if (found !== undefined && isPlain(outcome, found)) taken.set(id, found)
        else unsure.add(id)
      }
      for (const id of unsure) taken.delete(id)
      return taken
    },
    clear: () => known.clear(),
  }
}

// What sending wants to know of who is leased. Read after the lease is stored, on a connection that holds no fence:
// the answer may be large, and nobody else changes what is leased.

/** Larger bodies stay out of the answer; body() fetches them when they are sent. */
const RAW_LIMIT = 64 * 1024

const LEASED = `SELECT q.recipient_id, q.gen, q.workspace AS workspace_n, CASE WHEN q.held IS NULL THEN q.held_at END AS freed_at,
    q.email_ord, r.written, r.address_lc, r.notify, r.orcpt, r.attempts, r.queued_at, ${RELAYED},
    e.body, w.id AS workspace, w.ambiguous,
    r.status, r.deadline, r.last_response, r.reason, e.status AS email_status, e.total
  FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id JOIN emails e ON e.ord = q.email_ord
  JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.boot + 0 = ?`

const BODIES = 'SELECT n, raw FROM bodies WHERE n = ANY (CAST(? AS BIGINT[]))'

/** As outcomes find it; what only a look can tell them is as it costs one (above). */
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
    const workspaceId = row.workspace as string
    const address = (row.written === '' ? row.address_lc : row.written) as string
    const known = { workspaceId, poolId: pool.id, address, raw: bodies.get(row.body) ?? null }
    const claimed = toClaimed(row, known, waitsSince(pauses, row.queued_at as number, now))
    return { claimed, loaded: toLoaded(row, claimed, boot) }
  })
}
