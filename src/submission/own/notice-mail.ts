/**
 * NAME      notice-mail - the owners of an endpoint are written to when it fails
 * DESCRIPTION
 *   An endpoint that takes no posts can not be told so by a post. So whoever
 *   `webhook.notify` names gets a mail when an endpoint begins to fail, when posts to it
 *   are given up, and when it is disabled: through the pool of its workspace, or of
 *   the default one, tagged `webhook` with its id, not counted as a send.
 *   It follows the log, from half a day back at a start; one endpoint gives at most one
 *   mail of a kind in an hour, also over restarts, since the hour is its idempotency key.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import type { Log } from '../../base/log.js'
import { repeated, type Service } from '../../base/service.js'
import { overIn } from '../../base/time/trouble.js'
import type { Config } from '../../config/config.js'
import type { NewEmail } from '../../lifecycle/facts.js'
import { parseAddress } from '../../mail/address.js'
import { composeMessage } from '../../mail/compose.js'
import type { EventLog, LogRow } from '../../store/port/log.js'
import type { Queue } from '../../store/port/mail.js'
import type { Tenants, WorkspaceRow } from '../../store/port/tenants.js'
import { defaultWorkspace } from './default-workspace.js'
import { ownMail } from './own-mail.js'

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

/** What happened, and what mends it, in plain lines. */
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

const toEmail = async (parts: NoticeMailParts, row: LogRow, workspace: WorkspaceRow): Promise<NewEmail> => {
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
  const mail = await toEmail(parts, row, workspace)
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
