/**
 * NAME      accept - a mail is stored, of ours or of another store
 *   Body, email, tags, recipients and the idempotent answer, in the transaction of the batch. A recipient's row is its
 *   first event, too, and `first` says so. The idempotent answer goes first: when its lock is gone, nothing has to be
 *   undone. When the relay listens, a recipient is born leased and travels on with its octets after the commit;
 *   otherwise it is born due. A retaken idempotency lock is a new row, which keeps the table in order of age for the
 *   sweep.
 */
import {
  FIRST_LEASE_MS,
  firstCounts,
  firstState,
  firstStatus,
  type IdempotencyRow,
  keyState,
} from '../../../lifecycle/accept.js'
import type {
  AcceptResult,
  IdempotencyClaim,
  IdempotencyState,
  IdempotentAnswer,
} from '../../../lifecycle/facts.js'
import type { Mode } from '../../../lifecycle/page.js'
import type { RecipientState } from '../../../lifecycle/recipient.js'
import { entriesAgainst, entryDetail, suppressionList } from '../../../lifecycle/suppress.js'
import { aggregate } from '../../../mail/status.js'
import type { CarriedFields } from '../../port/operations.js'
import { carryWrites, fieldsFor } from '../../sql/carry.js'
import { firstClaimed } from '../../sql/claimed.js'
import { type MailPlace, NOTHING, plainEvent, scopeOf } from '../../sql/log/events.js'
import { BROUGHT, shortAddress } from '../../sql/mails.js'
import type { QueueWrites } from '../../sql/orders.js'
import { type Day, dayOf, timeOf } from '../../sql/pages.js'
import { type Asking, all, atOnce, first, run } from '../../sql/query.js'
import type { Unindex } from '../search.js'
import { SUPPRESSED } from '../statements.js'
import {
  fromMailArray,
  isToOne,
  recipientsIn,
  textOf,
  type WireAcceptance,
  type WireMail,
  type WireRecipient,
} from '../thread/wire.js'
import type { WriteContext } from './context.js'
import { type AddEvent, createNumbers, type PendingDsns } from './events.js'
import type { HoldRecipients } from './queue.js'
import type { SettledRow } from './settle.js'

const testOf = (mode: Mode): number => (mode === 'test' ? 1 : 0)

/** Up to a power of two, and a second at least, so that a drifting clock does not write at every mail. */
const roundUp = (ms: number): number => (ms <= 0 ? 0 : 2 ** Math.max(10, Math.ceil(Math.log2(ms))))

/** Keeps the difference of a mail that is stored. */
type NoteDay = (ord: number, createdAt: number) => void

/** Nearly always two comparisons. */
export const createDayNotes = ({ db, onRollback }: WriteContext): NoteDay => {
  const write = db.prepare(
    `INSERT INTO email_days (day, behind, ahead) VALUES (?, ?, ?)
     ON CONFLICT (day) DO UPDATE SET behind = max(behind, excluded.behind), ahead = max(ahead, excluded.ahead)`,
  )
  let known: Day | null = null
  onRollback(() => {
    known = null
  })
  return (ord, createdAt) => {
    const day = dayOf(ord)
    const behind = timeOf(ord) - createdAt
    const old: Day = known?.day === day ? known : { day, behind: -1, ahead: -1 }
    if (behind <= old.behind && -behind <= old.ahead) return
    known = {
      day,
      behind: Math.max(old.behind, roundUp(behind)),
      ahead: Math.max(old.ahead, roundUp(-behind)),
    }
    write.run(day, known.behind, known.ahead)
  }
}

/** One of a mail: where it goes, and what is on a list against it. */
type NewRecipient = ReturnType<typeof recipientOf>

/** What is on a list against a recipient, of those for whom it is asked. */
type Listed = ReadonlyMap<string, string>

const recipientOf = (one: WireRecipient, poolId: string, entry: string | undefined) => ({
  id: one.id,
  address: one.address,
  kind: one.kind,
  suppressed: one.suppressed || entry !== undefined,
  dsn: one.dsn,
  poolId: one.poolId ?? poolId,
  entry: entry ?? null,
})

const recipientsOf = ({ recipients, poolId }: WireMail, listed: Listed): NewRecipient[] =>
  recipientsIn(recipients).map((one) => recipientOf(one, poolId, listed.get(one.id)))

const prepare = (context: WriteContext) => ({
  body: context.db.prepare(
    'INSERT INTO bodies (n, email_id, created_at, content, raw, beside) VALUES (?, ?, ?, ?, ?, ?)',
  ),
  email: context.db.prepare(
    `INSERT INTO emails (ord, id, workspace, test, status, total, scheduled, queued, bounced, created_at, updated_at, scheduled_at,
       pool, body_apart, size, lists, submitter, ${BROUGHT.names.join(', ')})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?${', ?'.repeat(BROUGHT.names.length)})`,
  ),
  tag: context.db.prepare(
    'INSERT OR IGNORE INTO tags (workspace, name, value, email_ord) VALUES (?, ?, ?, ?)',
  ),
  recipient: context.db.prepare(
    `INSERT INTO recipients (id, email_ord, workspace, pool, kind, status, updated_at, queued_at, due_at, boot, lease_until,
       lease_gen, written, address_lc, notify, orcpt, reason, first)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  anyone: context.db.prepare('SELECT 1 FROM suppressions LIMIT 1'),
  suppressed: context.db
    .prepare<[list: string, again: string, ...entries: unknown[]], string>(SUPPRESSED)
    .pluck(),
  answer: context.db.prepare(
    `UPDATE idempotency SET status = ?, body = ?, completed_at = ?
     WHERE workspace = ? AND test = ? AND key = ? AND token = ? AND completed_at IS NULL`,
  ),
})

export const createAccept = (
  context: WriteContext,
  addEvent: AddEvent,
  holdRecipients: HoldRecipients,
  dsns: PendingDsns,
  noteDay: NoteDay,
) => {
  const sql = prepare(context)

  const answered = (answer: IdempotentAnswer, now: number): boolean => {
    const workspace = context.names.workspace(answer.workspaceId)
    const test = testOf(answer.mode)
    return (
      sql.answer.run(answer.status, answer.body, now, workspace, test, answer.key, answer.token).changes === 1
    )
  }

  const holdOver = (mail: WireMail, { poolId, address }: NewRecipient, workspace: number) => {
    const pool = context.names.pool(poolId)
    const address_lc = address.toLowerCase()
    return context.holds.any ? context.holds.over({ workspace, pool, email_id: mail.id, address_lc }) : null
  }

  /** Of the only recipient, where it is hot: as settle.ts would find it. */
  const knownOf = (mail: WireMail, ord: number, { address }: NewRecipient): SettledRow => {
    const row = [mail.id, context.names.workspace(mail.workspaceId), address, null, 'queued', 1] as const
    return [...row, testOf(mail.mode), ord, 'queued', 0, null, context.boot, 1, null, null, null, null, null]
  }

  const addRow = (
    mail: WireMail,
    ord: number,
    recipient: NewRecipient,
    number: number,
    { status, dueAt, boot, leaseGen, reason }: RecipientState,
    now: number,
  ): void => {
    const { written, address_lc } = shortAddress(recipient.address)
    sql.recipient.run(
      recipient.id,
      ord,
      context.names.workspace(mail.workspaceId),
      context.names.pool(recipient.poolId),
      recipient.kind,
      status,
      mail.createdAt,
      now,
      dueAt,
      boot,
      boot === null ? null : now + FIRST_LEASE_MS,
      leaseGen,
      written,
      address_lc,
      recipient.dsn?.notify ?? null,
      recipient.dsn?.orcpt ?? null,
      reason,
      recipient.suppressed ? 0 : number,
    )
  }

  const addRecipient = (
    mail: WireMail,
    place: MailPlace,
    recipient: NewRecipient,
    number: number,
    size: number,
    now: number,
  ): void => {
    const { id, poolId } = recipient
    const workspace = context.names.workspace(mail.workspaceId)
    const status = firstStatus(recipient, mail.scheduledAt)
    const hold = status === 'queued' ? holdOver(mail, recipient, workspace) : null
    const known = isToOne(mail) ? knownOf(mail, place.ord, recipient) : undefined
    const hot =
      status === 'queued' &&
      hold === null &&
      context.hot.admit(id, poolId, workspace, mail.raw.byteLength, known)
    // before anything can fail: by this list it leaves the hot set when it is undone
    if (hot) {
      // a body in a file does not go along
      const raw = size === mail.raw.byteLength ? mail.raw : null
      const ambiguous = context.names.ambiguous(workspace)
      context.effects.leased.push(firstClaimed(mail, recipient, { size, raw, ambiguous, queuedAt: now }))
    }
    const state = firstState(status, mail.scheduledAt ?? now, hot ? context.boot : null)
    addRow(mail, place.ord, recipient, number, state, now)
    if (recipient.suppressed) {
      const detail = entryDetail(recipient.entry)
      const event = addEvent({
        ...plainEvent(place, id, status, 'system', now, state.reason),
        more: { ...NOTHING, detail },
      })
      dsns.add({ recipientId: id, seen: 'suppressed', at: now, detail: null }, mail.id, event)
    }
    if (hold !== null) holdRecipients.hold({ id, email_id: mail.id, status, due_at: state.dueAt }, hold, now)
    else if (state.dueAt !== null && context.hot.wants(poolId)) context.effects.due = true
  }

  /** `size` of the body, which is not in `raw` when it stands in a file. */
  const addEmail = (mail: WireMail, size: number, listed: Listed, now: number): void => {
    const recipients = recipientsOf(mail, listed)
    const counts = firstCounts(recipients, mail.scheduledAt)
    const workspace = context.names.workspace(mail.workspaceId)
    const beside = size === mail.raw.byteLength ? 0 : 1
    const ord = context.order.next()
    noteDay(ord, mail.createdAt)
    sql.body.run(ord, mail.id, mail.createdAt, textOf(mail.content), mail.raw, beside)
    sql.email.run(
      ord,
      mail.id,
      workspace,
      testOf(mail.mode),
      aggregate(counts),
      recipients.length,
      counts.scheduled,
      counts.queued,
      counts.bounced,
      mail.createdAt,
      mail.createdAt,
      mail.scheduledAt,
      context.names.pool(mail.poolId),
      0,
      size,
      mail.lists,
      mail.submittedBy == null ? null : context.names.submitter(mail.submittedBy),
      ...BROUGHT.pack(mail),
    )
    for (let i = 0; i < mail.tags.length; i += 2) sql.tag.run(workspace, mail.tags[i], mail.tags[i + 1], ord)
    const place = { ord, scope: scopeOf(workspace, mail.mode === 'test') }
    for (const [i, recipient] of recipients.entries()) addRecipient(mail, place, recipient, i + 1, size, now)
  }

  const against = (list: string, normal: string, now: number): string | undefined => {
    const entries = entriesAgainst(normal)
    const found = sql.suppressed.all(list, list, entries[0], entries[1], entries[2] ?? null, now)
    return entries.find((entry) => found.includes(entry))
  }

  /** Null where an answer that goes along says something else. */
  const listedOf = (mails: readonly WireMail[], isAnswered: boolean, now: number): Listed | null => {
    const listed = new Map<string, string>()
    const isAnyone = sql.anyone.get() !== undefined
    for (const { workspaceId, mode, recipients } of mails) {
      const list = suppressionList(workspaceId, mode)
      for (const { id, normal, suppressed } of recipientsIn(recipients)) {
        if (normal === undefined) continue
        const entry = isAnyone ? against(list, normal, now) : undefined
        if (isAnswered && (entry !== undefined) !== suppressed) return null
        if (entry !== undefined) listed.set(id, entry)
      }
    }
    return listed
  }

  return (batch: WireAcceptance): AcceptResult => {
    const mails = batch.mails.map(fromMailArray)
    const listed = listedOf(mails, batch.idempotency !== null, batch.now)
    if (listed === null) return 'stale'
    if (batch.idempotency !== null && !answered(batch.idempotency, batch.now)) return 'lock_lost'
    if (batch.dsn !== null && !dsns.sent(batch.dsn, mails[0]?.id ?? '', batch.now)) return 'lock_lost'
    for (const mail of mails)
      addEmail(mail, batch.beside?.[mail.id] ?? mail.raw.byteLength, listed, batch.now)
    return listed.size === 0 ? 'accepted' : { suppressed: [...listed.keys()] }
  }
}

type Held = { readonly n: number } & Omit<IdempotencyRow, 'token'>

export const createIdempotency = (context: WriteContext) => {
  const { db, names } = context
  const find = db.prepare<[number, number, string], Held>(
    `SELECT n, fingerprint, locked_until AS lockedUntil, completed_at AS completedAt, status, body FROM idempotency
     WHERE workspace = ? AND test = ? AND key = ?`,
  )
  const add = db.prepare(
    'INSERT INTO idempotency (workspace, test, key, fingerprint, token, locked_until) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const drop = db.prepare('DELETE FROM idempotency WHERE n = ?')
  const release = db.prepare(
    'DELETE FROM idempotency WHERE workspace = ? AND test = ? AND key = ? AND token = ? AND completed_at IS NULL',
  )
  return {
    claimKey(claim: IdempotencyClaim): IdempotencyState {
      const workspace = names.workspace(claim.workspaceId)
      const held = find.get(workspace, testOf(claim.mode), claim.key)
      const found = keyState(held ?? null, claim)
      if (found.state !== 'claimed') return found
      if (held !== undefined) drop.run(held.n)
      add.run(workspace, testOf(claim.mode), claim.key, claim.fingerprint, claim.token, claim.lockedUntil)
      return found
    },
    releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): void {
      release.run(names.workspace(claim.workspaceId), testOf(claim.mode), claim.key, claim.token)
    },
  }
}

// Mail that comes from another store, into these tables.

const BODY = `INSERT INTO bodies (n, email_id, created_at, content, raw, beside) VALUES (?, ?, ?, ?, ?, ?)
  RETURNING n`

const createInsert = () => {
  const known = new Map<string, ReadonlySet<string>>()
  return function* (table: 'emails' | 'recipients', fields: CarriedFields): Asking<void> {
    let columns = known.get(table)
    if (columns === undefined) {
      const rows = yield* all('SELECT name FROM pragma_table_info(?)', table)
      columns = new Set(rows.map((row) => row.name as string))
      known.set(table, columns)
    }
    const given = fieldsFor(columns, fields)
    const names = given.map(([name]) => name)
    const marks = names.map(() => '?').join(', ')
    const values = given.map(([, value]) => value)
    yield* run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, ...values)
  }
}

export const createCarryIn = (
  context: WriteContext,
  queue: QueueWrites,
  noteDay: NoteDay,
  unindex: Pick<Unindex, 'remove' | 'restore'>,
) => {
  const numbers = createNumbers(context)
  return carryWrites({
    ...{ places: context.order, queue, insert: createInsert() },
    numbers: () => atOnce(() => numbers),
    *addBody({ id, email, content }, raw, place, size) {
      const row = yield* first(BODY, place, id, email.created_at, content, raw, size === null ? 0 : 1)
      return row?.n as number
    },
    removeRecipients: (place) => run('DELETE FROM recipients WHERE email_ord = ?', place),
    noteDay: (place, createdAt) => atOnce(() => noteDay(place, createdAt)),
    unindex: (place) => atOnce(() => unindex.remove(place)),
    index: (place) => atOnce(() => unindex.restore(place)),
  })
}
