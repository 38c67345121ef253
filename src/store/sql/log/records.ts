/**
 * NAME      records - from a row of the log to what it tells
 * DESCRIPTION
 *   What belongs to one mail is read once for all of its records in a batch. A
 *   follower may read thousands of records a second, so each is written down field
 *   by field: copying objects into one another costs several times as much.
 */
import type { EventRow } from '../../../lifecycle/facts.js'
import type { LogRow, MailOfEvent } from '../../port/log.js'
import { BESIDE_LISTS, readLists, SUBMITTED_BY } from '../mails.js'
import { type Asking, first, Memory, type Row, several } from '../query.js'
import { type More, readFlags, typeOf, UnpackMore } from './codec.js'
import { firstId, storedId } from './event-id.js'
import { above, type Found, markOf } from './places.js'

/** Whose a scope is; null when its workspace is deleted. */
interface Owner {
  readonly accountId: string
  readonly workspaceId: string
}

interface Mail {
  readonly told: MailOfEvent
  readonly workspace: number
  readonly test: boolean
  readonly source: EventRow['source']
  readonly isScheduled: boolean
}

const OF_MAIL = `e.id, e.workspace, e.test, e.source, e.scheduled_at, e.sender, e.subject, e.message_id, e.lists, e.created_at,
  p.id AS pool_id`
const MAIL = `SELECT ${OF_MAIL}, ${BESIDE_LISTS} FROM emails e JOIN pools p ON p.n = e.pool WHERE e.ord = ?`
/** Mails for know(), and for the index of words; a condition on `e` follows. */
export const MAILS_BY_PLACE = `SELECT e.ord, e.total, ${OF_MAIL}, ${SUBMITTED_BY} FROM emails e LEFT JOIN pools p ON p.n = e.pool`

function* readMail(ord: number): Asking<Mail | null> {
  const row = yield* first(MAIL, ord)
  return row === null ? null : toMail(row)
}

const toMail = (row: Row, only = row.only_address): Mail => {
  const { to, tags } = readLists({ lists: row.lists, only_address: only })
  return {
    told: {
      id: row.id as string,
      poolId: row.pool_id as string,
      from: row.sender as string,
      to,
      subject: row.subject as string,
      messageId: row.message_id as string,
      tags,
      createdAt: row.created_at as number,
      scheduledAt: row.scheduled_at as number | null,
    },
    workspace: row.workspace as number,
    test: row.test === 1,
    source: row.source as EventRow['source'],
    isScheduled: row.scheduled_at !== null,
  }
}

const toFirst = (mail: Mail, row: Row): EventRow => ({
  id: firstId(row.recipient as string),
  type: mail.isScheduled ? 'email.scheduled' : 'email.queued',
  emailId: mail.told.id,
  recipientId: row.recipient as string,
  recipient: row.address as string,
  source: mail.source,
  occurredAt: mail.told.createdAt,
  createdAt: mail.told.createdAt,
  attempt: null,
  change: true,
  applied: true,
  reason: null,
  reply: null,
  mta: null,
  detail: null,
})

const toStored = (mail: Mail, row: Row, more: More): EventRow => {
  const { source, applied, change } = readFlags(row.flags as number)
  const { reply, mta, detail } = more
  const occurredAt = row.occurred_at as number
  return {
    id: (row.id as string | null) ?? storedId(row.ord as number, mail.told.id),
    type: typeOf(row.kind),
    emailId: mail.told.id,
    recipientId: row.recipient as string | null,
    recipient: row.address as string | null,
    source,
    occurredAt,
    createdAt: occurredAt + (row.late as number),
    attempt: row.attempt as number | null,
    change,
    applied,
    reason: row.reason as string | null,
    reply,
    mta,
    detail,
  }
}

const toTold = (mail: Mail, owner: Owner, event: EventRow, found: Found): LogRow => ({
  id: event.id,
  type: event.type as LogRow['type'],
  mark: markOf(above(found)),
  accountId: owner.accountId,
  workspaceId: owner.workspaceId,
  mode: mail.test ? 'test' : 'live',
  emailId: event.emailId,
  recipientId: event.recipientId,
  recipient: event.recipient,
  source: event.source,
  occurredAt: event.occurredAt,
  createdAt: event.createdAt,
  attempt: event.attempt,
  change: event.change,
  begunHere: found.n > 0 || found.row.first !== 0,
  applied: event.applied,
  reason: event.reason,
  reply: event.reply,
  mta: event.mta,
  detail: event.detail,
  mail: mail.told,
  data: null,
})

const toNotice = (row: Row, owner: Owner | null, mark: string): LogRow => {
  const { account, data } = JSON.parse(row.more as string) as { account: string; data: LogRow['data'] }
  return {
    id: storedId(row.ord as number, account),
    type: typeOf(row.kind),
    mark,
    accountId: account,
    workspaceId: owner?.workspaceId ?? null,
    mode: (row.scope as number) % 2 === 1 ? 'test' : 'live',
    emailId: null,
    recipientId: null,
    recipient: null,
    occurredAt: row.occurred_at as number,
    createdAt: row.occurred_at as number,
    attempt: null,
    ...readFlags(row.flags as number),
    begunHere: true,
    reason: null,
    reply: null,
    mta: null,
    detail: null,
    mail: null,
    data,
  }
}

function* readOwner(workspace: number): Asking<Owner | null> {
  const row = yield* first(
    'SELECT id, account_id FROM workspaces WHERE n = ? AND deleted_at IS NULL',
    workspace,
  )
  return row === null ? null : { accountId: row.account_id as string, workspaceId: row.id as string }
}

/** Makes the records of one batch; to be forgotten with it. */
export class Records {
  readonly #unpack = new UnpackMore()
  readonly #mails = new Memory(readMail)
  readonly #owners = new Memory(readOwner)

  /** A mail that is read already, and its recipients. */
  know(row: Row, recipients: readonly Row[]): void {
    if (row.pool_id !== null) this.#mails.know(row.ord as number, toMail(row, recipients[0]?.address))
  }

  *#eventOf(mail: Mail, found: Found): Asking<EventRow> {
    if (found.n > 0) return toFirst(mail, found.row)
    return toStored(mail, found.row, yield* this.#unpack.more(found.row.more as string | null))
  }

  *#notice(found: Found): Asking<LogRow | null> {
    const workspace = Math.floor((found.row.scope as number) / 2)
    const owner = workspace === 0 ? null : yield* this.#owners.of(workspace)
    return workspace !== 0 && owner === null ? null : toNotice(found.row, owner, markOf(above(found)))
  }

  /** Null for what nobody who follows is told: history, and what its mail or its workspace is gone of. */
  *told(found: Found): Asking<LogRow | null> {
    const { n, row, ord } = found
    if (n === 0 && row.scope === null) return null
    if (n === 0 && row.email === null) return yield* this.#notice(found)
    const mail = yield* this.#mails.of(n > 0 ? ord : (row.email as number))
    const owner = mail === null ? null : yield* this.#owners.of(mail.workspace)
    if (mail === null || owner === null) return null
    return toTold(mail, owner, yield* this.#eventOf(mail, found), found)
  }

  *allTold(places: readonly Found[]): Asking<LogRow[]> {
    const rows = yield* several(places.map((found) => () => this.told(found)))
    return rows.filter((row) => row !== null)
  }

  /** Of its mail's timeline, which tells of history, too. */
  *event(found: Found, emailOrd: number): Asking<EventRow | null> {
    const mail = yield* this.#mails.of(emailOrd)
    return mail === null ? null : yield* this.#eventOf(mail, found)
  }
}
