/**
 * NAME      judge - whether a mail that a lead offers is what is looked for
 */
import { isAway } from '../../../lifecycle/orders.js'
import { matches, needsComplaints, needsRecipients, type Sought, termsIn } from '../../../mail/query.js'
import type { EmailRow, SearchFilter } from '../../port/mail.js'
import { addressLc, toEmail } from '../mails.js'
import { type Asking, first, Memory, type Row } from '../query.js'
import { keysCalled } from './keys.js'
import type { Words } from './words.js'

const isInScope = (filter: SearchFilter, mail: EmailRow): boolean => {
  const { query, accountId, workspaceId, mode, status, tag, createdAfter, createdBefore } = filter
  return (
    mail.accountId === accountId &&
    (workspaceId === null || mail.workspaceId === workspaceId) &&
    (mode === null || mail.mode === mode) &&
    (status === null || mail.status === status) &&
    (createdAfter === null || mail.createdAt > createdAfter) &&
    (createdBefore === null || mail.createdAt < createdBefore) &&
    (query.from === null || mail.createdAt >= query.from) &&
    (query.before === null || mail.createdAt < query.before) &&
    (tag === null || mail.tags.some(({ name, value }) => name === tag.name && value === tag.value))
  )
}

const recipientOf = (row: Row): Sought['recipients'][number] => ({
  address: row.address_lc as string,
  reason: row.reason as string | null,
  isHeld: row.held !== null && !isAway(row.held as string),
  isDeferred: row.status === 'deferred',
})

const soughtOf = (
  mail: EmailRow,
  pool: Row | null,
  recipients: readonly Row[],
  isComplained: boolean,
  isOfKey: (named: string, id: string | null | undefined) => boolean,
): Sought => ({
  id: mail.id,
  subject: mail.subject,
  from: mail.from,
  messageId: mail.messageId,
  tags: mail.tags,
  mode: mail.mode,
  status: mail.status,
  poolId: (pool?.id as string | undefined) ?? '',
  poolName: (pool?.name as string | undefined) ?? '',
  isResent: mail.extras?.resent_from !== undefined,
  isOfKey: (named) => isOfKey(named, mail.submittedBy),
  hasAttachment: mail.attachments.length > 0,
  isComplained,
  recipients: recipients.map(recipientOf),
})

function* keysIn({ query, accountId }: SearchFilter): Asking<ReadonlySet<string>> {
  const keys = new Set<string>()
  for (const { field, value } of termsIn(query))
    if (field === 'key')
      for (const id of [value, ...(yield* keysCalled(accountId, value))]) keys.add(`${value} ${id}`)
  return keys
}

export interface Judged {
  readonly ord: number
  readonly mail: EmailRow
}

/** Of mails at some places those that are meant, in that order. */
type Judge = (ords: readonly number[]) => Asking<readonly Judged[]>

export function* judgeOf(words: Words, filter: SearchFilter): Asking<Judge> {
  const { query, subjects } = filter
  const to = filter.to === null ? null : addressLc(filter.to)
  const asksRecipients = to !== null || needsRecipients(query)
  const asksComplaints = needsComplaints(query)
  const asksPool = termsIn(query).some(({ field }) => field === 'pool')
  const keys = yield* keysIn(filter)
  const isOfKey = (named: string, id: string | null | undefined) => keys.has(`${named} ${id}`)
  const pools = new Memory((n) => first('SELECT id, name FROM pools WHERE n = ?', n))

  return function* (ords) {
    const found = (yield* words.mailsAt(ords))
      .map((row) => ({ row, ord: row.ord as number, mail: toEmail(row) }))
      .filter(({ mail }) => isInScope(filter, mail))
    const recipients = asksRecipients ? yield* words.recipientsAt(found.map(({ ord }) => ord)) : []
    const complained = asksComplaints ? yield* words.complainedAt(found.map(({ ord }) => ord)) : []
    const judged = new Map<number, EmailRow>()
    for (const { row, ord, mail } of found) {
      const pool = asksPool ? yield* pools.of(row.pool as number) : null
      const own = recipients.filter((one) => one.email_ord === ord)
      if (to !== null && !own.some(({ address_lc }) => address_lc === to)) continue
      const isComplained = complained.some(({ email_ord }) => email_ord === ord)
      if (matches(query, soughtOf(mail, pool, own, isComplained, isOfKey), subjects)) judged.set(ord, mail)
    }
    return ords.flatMap((ord) => {
      const mail = judged.get(ord)
      return mail === undefined ? [] : [{ ord, mail }]
    })
  }
}
