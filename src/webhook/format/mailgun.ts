/**
 * NAME      mailgun - posts as Mailgun's webhooks make them
 * DESCRIPTION
 *   `event-data` and, made anew at each try, `signature`: hex of HMAC-SHA-256 of timestamp and a token that is used once.
 *   The signing key is the endpoint's signing secret as it stands; after a rotation it is the new one.
 *   `permanent` means that nothing more is tried, as it does there; whether an address is dead says `bounce-type`.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { domainOf, parseAddress } from '../../mail/address.js'
import { bounceTypesOf } from '../../mail/report/category.js'
import type { LogRow } from '../../store/port/log.js'
import { aboutOf, type Format, lineOf, secondsOf } from './format.js'

const domain = (address: string): string => {
  const plain = parseAddress(address)?.address
  return plain === undefined ? '' : domainOf(plain)
}

const reasonOf = (reason: string | null, isHard: boolean): string => {
  if (reason === 'suppressed') return 'suppress-bounce'
  if (reason === 'lifetime' || reason === 'expired') return 'old'
  return isHard ? 'bounce' : 'generic'
}

const statusOf = ({ reply, attempt, mta, reason }: LogRow) => ({
  'attempt-no': attempt ?? 1,
  code: reply?.code ?? 0,
  ...(reply?.enhanced != null && { 'enhanced-code': reply.enhanced }),
  message: reply === null ? (reason ?? '') : lineOf(reply),
  description: reply === null ? (reason ?? '') : reply.text,
  ...(mta?.host != null && { 'mx-host': mta.host }),
})

const ownOf = (row: LogRow) => {
  const { type, reason } = row
  if (type === 'email.delivered') return { 'log-level': 'info', 'delivery-status': statusOf(row) }
  if (type === 'email.deferred')
    return {
      'log-level': 'warn',
      severity: 'temporary',
      reason: 'generic',
      'delivery-status': statusOf(row),
    }
  if (type === 'email.bounced') {
    const isHard = bounceTypesOf(reason).ses.type === 'Permanent'
    return {
      'log-level': 'error',
      severity: 'permanent',
      reason: reasonOf(reason, isHard),
      'delivery-status': { ...statusOf(row), 'bounce-type': isHard ? 'hard' : 'soft' },
    }
  }
  return type === 'email.complained'
    ? { 'log-level': 'warn' }
    : { 'log-level': 'info', method: methodOf(row) }
}

const methodOf = ({ source }: LogRow): string => (source === 'smtp' ? 'SMTP' : 'HTTP')

export const mailgun: Format = {
  service: 'Mailgun',
  counterparts: {
    'email.queued': 'accepted',
    'email.deferred': 'failed',
    'email.delivered': 'delivered',
    'email.bounced': 'failed',
    'email.complained': 'complained',
  },
  mayBeThin: false,
  hasLogin: false,
  body(row) {
    const { recipient, from, to, subject, messageId, tags, said } = aboutOf(row)
    return {
      'event-data': {
        event: mailgun.counterparts[row.type],
        id: row.id,
        timestamp: row.occurredAt / 1000,
        account: { id: row.workspaceId ?? row.accountId },
        domain: { name: domain(from) },
        recipient,
        'recipient-domain': domain(recipient),
        envelope: { sender: parseAddress(from)?.address ?? from, targets: recipient, transport: 'smtp' },
        message: {
          headers: {
            'message-id': messageId.replace(/^<|>$/g, ''),
            from,
            to: to.join(', '),
            subject,
          },
          attachments: [],
        },
        flags: {
          'is-routed': false,
          'is-authenticated': true,
          'is-system-test': false,
          'is-test-mode': row.mode === 'test',
        },
        campaigns: [],
        tags,
        'user-variables': said,
        ...ownOf(row),
      },
    }
  },
  sign([secret], { at, body }) {
    const timestamp = String(secondsOf(at))
    const token = randomBytes(25).toString('hex')
    const signature = createHmac('sha256', secret)
      .update(timestamp + token)
      .digest('hex')
    const own = JSON.stringify({ signature: { timestamp, token, signature } })
    return { body: `${own.slice(0, -1)},${body.slice(1)}`, headers: {} }
  },
}
