/**
 * NAME      records - from a row of the log to what it tells
 * DESCRIPTION
 *   What belongs to one mail is read once for all of its records in a batch. A
 *   follower may read thousands of records a second, so each is written down field
 *   by field: copying objects into one another costs several times as much.
 */
import type { EventRow } from '../../../lifecycle/event.js'
import type { LogRow, MailOfEvent } from '../../port/log.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'
import { BESIDE_LISTS, readLists } from '../schema/lists.js'
import { createUnpackMore, type More, readFlags, typeOf } from './codec.js'
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

const MAIL = `SELECT e.id, e.workspace, e.test, e.source, e.scheduled_at, e.sender, e.subject, e.message_id, e.lists, e.created_at,
  p.id AS pool_id, ${BESIDE_LISTS} FROM emails e JOIN pools p ON p.n = e.pool WHERE e.ord = ?`

const readMail = (sql: Statements, ord: number): Mail | null => {
  const row = sql(MAIL).get(ord)
  if (row === undefined) return null
  const { to, tags } = readLists(row)
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

/** Makes the records of one batch; to be forgotten with it. */
export const createRecords = (sql: Statements) => {
  const unpackMore = createUnpackMore(sql)
  const mails = new Map<number, Mail | null>()
  const owners = new Map<number, Owner | null>()

  const mailAt = (ord: number): Mail | null => {
    let mail = mails.get(ord)
    if (mail === undefined) {
      mail = readMail(sql, ord)
      mails.set(ord, mail)
    }
    return mail
  }

  const ownerOf = (workspace: number): Owner | null => {
    let owner = owners.get(workspace)
    if (owner === undefined) {
      const row = sql('SELECT id, account_id FROM workspaces WHERE n = ? AND deleted_at IS NULL').get(
        workspace,
      )
      owner =
        row === undefined ? null : { accountId: row.account_id as string, workspaceId: row.id as string }
      owners.set(workspace, owner)
    }
    return owner
  }

  const eventOf = (mail: Mail, found: Found): EventRow =>
    found.n > 0
      ? toFirst(mail, found.row)
      : toStored(mail, found.row, unpackMore(found.row.more as string | null))

  const notice = (found: Found): LogRow | null => {
    const workspace = Math.floor((found.row.scope as number) / 2)
    const owner = workspace === 0 ? null : ownerOf(workspace)
    return workspace !== 0 && owner === null ? null : toNotice(found.row, owner, markOf(above(found)))
  }

  return {
    /** Null for what nobody who follows is told: history, and what its mail or its workspace is gone of. */
    told(found: Found): LogRow | null {
      const { n, row, ord } = found
      if (n === 0 && row.scope === null) return null
      if (n === 0 && row.email === null) return notice(found)
      const mail = mailAt(n > 0 ? ord : (row.email as number))
      const owner = mail === null ? null : ownerOf(mail.workspace)
      return mail === null || owner === null ? null : toTold(mail, owner, eventOf(mail, found), found)
    },
    /** Of its mail's timeline, which tells of history, too. */
    event(found: Found, emailOrd: number): EventRow | null {
      const mail = mailAt(emailOrd)
      return mail === null ? null : eventOf(mail, found)
    },
  }
}
