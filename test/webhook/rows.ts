/** Rows of the log for tests of what is made of them. */
import type { LogRow } from '../../src/store/port/log.js'

export const AT = Date.UTC(2026, 10, 20, 10, 0, 0, 5)

export const logRow = (change: Partial<LogRow> = {}): LogRow => ({
  id: 'evt_1',
  type: 'email.bounced',
  mark: '900719925474099.1',
  accountId: 'acct_1',
  workspaceId: 'ws_1',
  mode: 'live',
  change: true,
  begunHere: true,
  emailId: 'em_1',
  recipientId: 'rcp_1',
  recipient: 'ana@example.com',
  source: 'dsn',
  occurredAt: AT,
  createdAt: AT + 1,
  reply: { code: 550, enhanced: '5.1.1', text: 'no such user' },
  mta: { poolId: 'pool_1', upstreamId: null, host: 'mta2.int' },
  attempt: 1,
  applied: true,
  reason: 'unknown_user',
  detail: null,
  data: null,
  mail: {
    id: 'em_1',
    poolId: 'pool_1',
    from: 'Acme <no-reply@acme.test>',
    to: ['ana@example.com'],
    subject: 'Your code is 123456',
    messageId: '<em_1@mail.acme.test>',
    tags: [{ name: 'kind', value: 'receipt' }],
    createdAt: AT - 1000,
    scheduledAt: null,
  },
  ...change,
})

export const noticeRow = (change: Partial<LogRow> = {}): LogRow =>
  logRow({
    type: 'domain.failed',
    workspaceId: null,
    emailId: null,
    recipientId: null,
    recipient: null,
    source: 'system',
    reply: null,
    mta: null,
    attempt: null,
    reason: null,
    mail: null,
    data: { id: 'dom_1', name: 'acme.test' },
    ...change,
  })
