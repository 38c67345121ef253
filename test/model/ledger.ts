/**
 * NAME      ledger - what became of the mails
 */
import { rowBeside } from '../../src/lifecycle/page.js'
import type { EmailFilter, EmailRecord, EmailRow, Ledger } from '../../src/store/port/mail.js'
import { type Log, plainAddress } from './log.js'
import { markOf } from './page.js'
import type { Plain } from './plain.js'
import type { Mail, Recipient, State } from './state.js'
import { listed } from './tenants.js'

export const rowOf = (mail: Mail): EmailRow => {
  const { id, accountId, workspaceId, mode, source, from, to, cc, bcc, replyTo, subject, tags } = mail
  const { attachments, messageId, scheduledAt, createdAt, updatedAt, status, counts, extras } = mail
  return {
    ...{ id, accountId, workspaceId, mode, source, from, to, cc, bcc, replyTo, subject, tags, attachments },
    ...{ messageId, scheduledAt, createdAt, updatedAt, status, counts },
    ...(extras && { extras }),
  }
}

const recipientRow = (row: Recipient): EmailRecord['recipients'][number] => {
  const { id, address, kind, status, attempts, lastResponse, reason, updatedAt, dueAt } = row
  return { id, address, kind, status, attempts, lastResponse, reason, updatedAt, dueAt }
}

export const recipientsOf = ({ recipients }: State, emailId: string): Recipient[] =>
  recipients.where((row) => row.emailId === emailId).sort((a, b) => (a.id < b.id ? -1 : 1))

export const createMatches = (state: State) => {
  const isTo = (mail: Mail, address: string): boolean =>
    recipientsOf(state, mail.id).some((one) => one.address.toLowerCase() === plainAddress(address))
  return ({ accountId, workspaceId, mode, status, to, tag, createdAfter, createdBefore }: EmailFilter) =>
    (mail: Mail): boolean =>
      mail.accountId === accountId &&
      state.workspaces.get(mail.workspaceId) !== null &&
      (workspaceId === null || workspaceId === mail.workspaceId) &&
      (mode === null || mode === mail.mode) &&
      (status === null || status === mail.status) &&
      (tag === null || mail.tags.some(({ name, value }) => name === tag.name && value === tag.value)) &&
      (createdAfter === null || mail.createdAt > createdAfter) &&
      (createdBefore === null || mail.createdAt < createdBefore) &&
      (to === null || isTo(mail, to))
}

const NO_FILTER = { status: null, to: null, tag: null, createdAfter: null, createdBefore: null }

export const createLedger = (
  state: State,
  log: Pick<Log, 'events'>,
): Plain<Omit<Ledger, 'onSettled'>> & { body(emailId: string): Uint8Array | null } => {
  const { mails, recipients, workspaces } = state
  const matches = createMatches(state)
  return {
    email(scope, id) {
      const mail = mails.get(id)
      if (mail === null || !matches({ ...scope, ...NO_FILTER })(mail)) return null
      return {
        ...rowOf(mail),
        recipients: recipientsOf(state, id).map(recipientRow),
        poolId: mail.poolId,
        requireTls: mail.requireTls === true,
        ...(mail.mailFrom === '' && { mailFrom: '' }),
      }
    },
    emails(filter, page) {
      const id = rowBeside(page.anchor)
      const mail = id === null ? null : mails.get(id)
      // a row may be named whatever became of it, as long as it is the caller's
      const isOurs = mail !== null && matches({ ...filter, ...NO_FILTER })(mail)
      const beside = isOurs ? { ord: mails.ordOf(mail.id), n: page.direction === 'older' ? 0 : 1 } : null
      const found = listed(
        mails,
        matches(filter),
        beside === null ? page : { ...page, anchor: markOf(beside) },
      )
      return { ...found, rows: found.rows.map(rowOf) }
    },
    content: (emailId) => mails.get(emailId)?.content ?? null,
    body: (emailId) => mails.get(emailId)?.raw ?? null,
    events: log.events,
    lastWords: (emailIds) =>
      emailIds.flatMap((emailId) => {
        const status = mails.get(emailId)?.status
        const one = recipientsOf(state, emailId).find((row) => row.status === status)
        if (one === undefined || (status !== 'bounced' && status !== 'deferred')) return []
        return [{ emailId, lastResponse: one.lastResponse, reason: one.reason }]
      }),
    report: (emailId, name) =>
      state.reports.where((row) => row.emailId === emailId && row.name === name)[0]?.octets ?? null,
    trace: (emailId) => mails.get(emailId)?.trace ?? null,
    recipient(recipientId) {
      const one = recipients.get(recipientId)
      const mail = one === null ? null : mails.get(one.emailId)
      if (one === null || mail === null) return null
      const { emailId, workspaceId, address, status, poolId } = one
      const { accountId, mode, messageId, envid, createdAt } = mail
      return {
        ...{ recipientId, emailId, accountId, workspaceId, mode, address, status, poolId },
        ...{ messageId, envid, createdAt, orcpt: one.dsn?.orcpt ?? null },
        tried: one.attempts !== 0 || one.attempting !== null,
        isDeleted: workspaces.get(workspaceId) === null,
      }
    },
    findEmails(text, limit) {
      const own = /^<(em_[0-9a-z]{26})@/.exec(text)?.[1]
      const isFound = (mail: Mail): boolean =>
        text.startsWith('<')
          ? mail.id === own || (mail.messageId === text && text.length < 600)
          : recipientsOf(state, mail.id).some((one) => one.address.toLowerCase() === plainAddress(text))
      return mails
        .where((mail) => workspaces.get(mail.workspaceId) !== null && isFound(mail))
        .reverse()
        .slice(0, limit)
        .map(rowOf)
    },
  }
}
