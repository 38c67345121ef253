/**
 * NAME      operator-mail - owners of an endpoint hear that it fails, and mail to postmaster@ goes on to the operator
 *   An endpoint that takes no posts can not be told so by a post. So whoever `webhook.notify` names gets a
 *   mail when an endpoint begins to fail, when posts to it are given up, and when it is disabled: through
 *   the pool of its workspace, or of the default one, tagged `webhook` with its id, not counted as a send.
 *   It follows the log, from half a day back at a start; one endpoint gives at most one mail of a kind in an
 *   hour, also over restarts, since the hour is its idempotency key.
 *   Every domain that takes mail has these two (RFC 5321 section 4.5.1, RFC 2142). What comes to them goes
 *   to `bounce.postmaster`, through the pool of the default workspace, as it came but for the trace on top;
 *   not counted as a send, and whatever is on a suppression list. No loop: it leaves from `<>`, so nobody is
 *   told its failure; a mail whose Delivered-To says that it has been here is refused. Its record shows `<>`
 *   as its sender: whoever wrote it is a stranger, and no key of ours signs for a stranger. Where nobody is
 *   named, it is taken even so, and its sender, subject and first lines are kept as an event of the log
 *   (`postmaster.received`), which owners read; no endpoint of a webhook is told what strangers write.
 *   Anybody may write here, so there is a limit for each minute; for what is kept, for each day, too.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { Fault, orFault } from '../base/fault.js'
import { newId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { overIn, repeated, type Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import type { NewEmail } from '../lifecycle/facts.js'
import { parseAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import { wellFormed } from '../mail/encoding.js'
import { asBuffer, fieldValue, formatDate, isHeaderTooLarge, receivedLine } from '../mail/header.js'
import { readableOf, readMail, toBinary, words } from '../mail/report/mime.js'
import { prepareForRelay, readSubmitted, type Submitted } from '../mail/submitted.js'
import type { EventLog, EventNotice, LogRow } from '../store/port/log.js'
import type { Queue } from '../store/port/mail.js'
import type { Tenants, WorkspaceRow } from '../store/port/tenants.js'
import { defaultWorkspace, ownMail } from './own-mail.js'

interface NoticeMailParts {
  readonly store: Pick<EventLog, 'follow' | 'logEnds'> &
    Pick<Queue, 'accept' | 'claimKey'> &
    Pick<Tenants, 'workspace' | 'workspaces'>
  readonly config: Pick<Config, 'hostname' | 'default_from'> & {
    readonly webhook: Pick<Config['webhook'], 'notify'>
  }
  readonly clock: Clock
  readonly log: Log
  /** False while nothing may be stored. */
  readonly accepting: () => boolean
}

const LOOK_MS = 2_000
const STEP = 100
const HOUR = 3600_000
const LOOK_BACK_MS = 12 * HOUR
const LOCK_MS = 60_000

const TYPES = ['webhook.failing', 'webhook.exhausted', 'webhook.disabled'] as const
const isTold = ({ type, data, createdAt }: LogRow, now: number): boolean =>
  createdAt > now - LOOK_BACK_MS && !(type === 'webhook.disabled' && data?.reason === 'requested')

const HEADLINES: Readonly<Record<string, string>> = {
  'webhook.failing': 'takes no posts',
  'webhook.exhausted': 'missed events for good',
  'webhook.disabled': 'was disabled',
}

const REASONS: Readonly<Record<string, string>> = {
  gone: 'It answered 410 Gone.',
  failures: 'It took no post for five days.',
}

const textOf = ({ type, data, occurredAt }: LogRow, workspace: WorkspaceRow): string => {
  const id = String(data?.webhook_id)
  const what: Readonly<Record<string, string>> = {
    'webhook.failing': `${data?.failures} posts in a row failed, the first at ${data?.since}. ${data?.waiting} wait. Posts are tried again for 76 hours; after five days without a success the endpoint is disabled.`,
    'webhook.exhausted': `${data?.count} events were tried for 76 hours and are given up. They can be posted again: postern webhook replay ${id}${data?.since == null ? '' : ` --since ${data.since}`}`,
    'webhook.disabled': `${REASONS[String(data?.reason)] ?? ''} Nothing is posted to it any more. To go on from where it stood: postern webhook update ${id} --enable`,
  }
  return [
    `Endpoint  ${data?.endpoint}`,
    `Webhook   ${id}, workspace ${workspace.slug}`,
    `At        ${new Date(occurredAt).toISOString()}`,
    '',
    what[type] ?? '',
    '',
    `What it answered: postern webhook events ${id} --failed`,
    '',
  ].join('\n')
}

/** The endpoint's own workspace; of one for all of the account, the default one. */
const workspaceOf = async (
  { store }: NoticeMailParts,
  { accountId, workspaceId }: LogRow,
): Promise<WorkspaceRow | null> => {
  if (workspaceId !== null) return store.workspace(accountId, workspaceId)
  return defaultWorkspace(store, accountId)
}

const noticeEmail = async (
  parts: NoticeMailParts,
  row: LogRow,
  workspace: WorkspaceRow,
): Promise<NewEmail> => {
  const { hostname, default_from: fallback, webhook } = parts.config
  const now = parts.clock.now()
  const id = newId('em', now)
  const messageId = `<${id}@${hostname}>`
  const from = workspace.defaultFrom ?? fallback ?? `Postern <postmaster@${hostname}>`
  const sender = parseAddress(from) ?? { address: `postmaster@${hostname}`, name: 'Postern' }
  const to = webhook.notify.flatMap((text) => parseAddress(text) ?? [])
  const subject = `Webhook ${HEADLINES[row.type]}: ${row.data?.endpoint}`
  const parsed = { html: null, text: textOf(row, workspace), headers: { 'Auto-Submitted': 'auto-generated' } }
  const addressed = { messageId, date: now, from: sender, to, cc: [], replyTo: [], subject, attachments: [] }
  return {
    ...ownMail({
      ...{ id, messageId, workspace, now, routing: workspace, from, subject },
      recipients: to.map(({ address }) => ({ address, kind: 'to', dsn: null })),
      tag: { name: 'webhook', value: String(row.data?.webhook_id) },
      raw: await composeMessage({ ...addressed, ...parsed }),
    }),
    content: JSON.stringify(parsed),
  }
}

/** Sends the mail of an event, unless one like it was sent within the hour. */
const send = async (parts: NoticeMailParts, row: LogRow): Promise<void> => {
  const { store, clock, log } = parts
  const workspace = await workspaceOf(parts, row)
  if (workspace === null) return
  const now = clock.now()
  const webhook = String(row.data?.webhook_id)
  const hour = Math.floor(row.createdAt / HOUR)
  const key = {
    workspaceId: workspace.id,
    mode: 'live',
    key: `notice ${row.type} ${webhook} ${hour}`,
  } as const
  const token = randomUUID()
  const found = await store.claimKey({ ...key, fingerprint: '', token, now, lockedUntil: now + LOCK_MS })
  if (found.state !== 'claimed') return
  const mail = await noticeEmail(parts, row, workspace)
  const answer = { ...key, token, status: 202, body: '' }
  if ((await store.accept({ mails: [mail], idempotency: answer, now })) === 'accepted')
    log.info({ event: 'notice_mail', webhook, type: row.type, email: mail.id })
}

export const createNoticeMails = (parts: NoticeMailParts): Service => {
  const { store, clock, log } = parts
  let mark: string | null = null

  const turn = async (): Promise<number> => {
    for (let isEnd = false; !isEnd && parts.accepting(); ) {
      const read = await store.follow({ types: TYPES }, mark, STEP)
      if (read === 'gone') {
        mark = (await store.logEnds()).oldest
        continue
      }
      for (const row of read.rows) if (isTold(row, clock.now())) await send(parts, row)
      mark = read.mark
      isEnd = read.isEnd
    }
    return LOOK_MS
  }
  const telling = {
    told: ({ message }: Error) =>
      log.error({ event: 'notice_mail_failed', error: message }, 'notice mail not stored'),
    over: overIn(log, 'notice mail not stored'),
  }
  return repeated('notice-mail', turn, { restMs: LOOK_MS, ...telling }, LOOK_MS)
}

export interface MailToPostmaster {
  /** `postmaster@`, `abuse@` or `fbl@` the bounce domain, as the envelope has it. */
  readonly to: string
  readonly raw: Uint8Array
  readonly ip: string
  readonly hello: string
  readonly tls: string | null
}

/** Resolves when the mail is on disk, or was not taken because it has been here; throws a Fault. */
export type ToPostmaster = (mail: MailToPostmaster) => Promise<'taken' | 'loop'>

interface PostmasterMailParts {
  readonly store: Pick<Queue, 'accept'> & Pick<Tenants, 'workspaces'> & Pick<EventLog, 'addNotice'>
  readonly config: Pick<Config, 'hostname'> & { readonly bounce: Pick<Config['bounce'], 'postmaster'> }
  readonly accountId: string
  readonly clock: Clock
  readonly log: Log
  /** False while nothing may be stored. */
  readonly accepting: () => boolean
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const MOST_A_MINUTE = 30
/** That are kept in the log. */
const MOST_A_DAY = 200
const MOST_READ = 64 * 1024
const MOST_TEXT = 2_000
const MOST_FIELD = 300
const RETRY_AFTER_S = 5

const wasHere = (raw: Uint8Array, { section }: Submitted, to: string): boolean =>
  section.fields.some(
    (field) =>
      field.name === 'delivered-to' &&
      fieldValue(asBuffer(raw), field).trim().toLowerCase() === to.toLowerCase(),
  )

const toEmail = (
  { config: { hostname } }: PostmasterMailParts,
  { to, raw, ip, hello, tls }: MailToPostmaster,
  submitted: Submitted,
  address: string,
  workspace: WorkspaceRow,
  now: number,
): NewEmail => {
  const id = newId('em', now)
  const messageId = submitted.messageId ?? `<${id}@${hostname}>`
  const received = receivedLine({
    ...{ helo: hello, ip, host: `${hostname} (bounce door)`, id, now },
    ...{ tls: tls !== null, authenticated: false, recipients: [to] },
  })
  const octets = prepareForRelay(raw, submitted, {
    messageId,
    date: formatDate(now),
    receivedLine: `Delivered-To: ${to}\r\n${received}`,
    normalize: true,
  })
  const own = ownMail({
    ...{ id, messageId, workspace, now, routing: workspace, from: '<>', subject: submitted.subject },
    recipients: [{ address, kind: 'bcc', dsn: { notify: 'NEVER', orcpt: null } }],
    tag: { name: 'mail_to', value: to.slice(0, to.indexOf('@')).toLowerCase() },
    raw: octets,
  })
  return {
    ...own,
    needsSmtpUtf8: submitted.needsSmtpUtf8 || own.needsSmtpUtf8,
    mailFrom: '',
    ignoreSuppressions: true,
  }
}

/** Text of a stranger, without what a terminal would act on. */
const plain = (text: string, most: number): string =>
  wellFormed(
    text
      .replace(/\r\n?/g, '\n')
      .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, ' ')
      .slice(0, most),
  ).trim()

/** What of it is kept where nobody is named. */
const noticeOf = (
  { accountId }: PostmasterMailParts,
  { to, raw, ip, hello }: MailToPostmaster,
  now: number,
): EventNotice => {
  const mail = readMail(toBinary(raw.subarray(0, MOST_READ)))
  const text = mail.parts.map((part) => readableOf(part)).find((one) => one.trim() !== '') ?? ''
  const field = (name: string): string => plain(words(mail.headers, name).replace(/\s+/g, ' '), MOST_FIELD)
  const from = field('from')
  return {
    ...{ type: 'postmaster.received', accountId, workspaceId: null, mode: 'live', now },
    data: {
      ...{ from, subject: field('subject'), to: plain(to.toLowerCase(), MOST_FIELD) },
      ...{ text: plain(text.trim(), MOST_TEXT), size: raw.length, ip, hello: plain(hello, MOST_FIELD) },
    },
  }
}

/** Counts within a span, and refuses what is too much of it. */
const createLimit = (span: number, most: number) => {
  let current = 0
  let taken = 0
  return (now: number): void => {
    const at = Math.floor(now / span)
    if (at !== current) taken = 0
    current = at
    if (++taken > most) throw new Fault('rate_limit.exceeded', { retryAfter: Math.ceil(span / 1_000) })
  }
}

export const createToPostmaster = (parts: PostmasterMailParts): ToPostmaster => {
  const { store, clock, log, accountId } = parts
  const address = parseAddress(parts.config.bounce.postmaster ?? '')?.address
  const ofMinute = createLimit(MINUTE, MOST_A_MINUTE)
  const ofDay = createLimit(DAY, MOST_A_DAY)
  return async (mail) => {
    if (!parts.accepting()) throw new Fault('service.unavailable', { retryAfter: RETRY_AFTER_S })
    if (isHeaderTooLarge(asBuffer(mail.raw))) throw new Fault('validation.request_invalid')
    const submitted = readSubmitted(mail.raw)
    if (wasHere(mail.raw, submitted, mail.to)) return 'loop'
    const now = clock.now()
    ofMinute(now)
    if (address === undefined) {
      ofDay(now)
      await store.addNotice(noticeOf(parts, mail, now))
      log.info({ event: 'mail_to_postmaster', email: null, from: mail.ip })
      return 'taken'
    }
    const workspace = orFault(await defaultWorkspace(store, accountId), 'service.unavailable')
    const email = toEmail(parts, mail, submitted, address, workspace, now)
    await store.accept({ mails: [email], idempotency: null, now })
    log.info({ event: 'mail_to_postmaster', email: email.id, from: mail.ip })
    return 'taken'
  }
}
