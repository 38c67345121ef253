/** The record of an event: one of a mail, in its timeline and in the log, and one of no mail. */
import t from 'tap'
import { event, loggedEvent } from '../../src/record/event.js'
import type { LogRow } from '../../src/store/port/log.js'

const AT = Date.UTC(2026, 10, 20, 10, 0, 0, 5)
const ROW: LogRow = {
  id: 'evt_1',
  type: 'email.bounced',
  mark: '12',
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
  reason: null,
  detail: null,
  data: null,
  mail: {
    id: 'em_1',
    poolId: 'pool_1',
    from: 'Acme <no-reply@acme.test>',
    to: ['ana@example.com'],
    subject: 'Receipt 42',
    messageId: '<em_1@mail.acme.test>',
    tags: [{ name: 'kind', value: 'receipt' }],
    createdAt: AT,
    scheduledAt: null,
  },
}

const RECORD = {
  id: 'evt_1',
  object: 'event',
  type: 'email.bounced',
  email_id: 'em_1',
  recipient: 'ana@example.com',
  source: 'dsn',
  occurred_at: '2026-11-20T10:00:00.005Z',
  created_at: '2026-11-20T10:00:00.006Z',
  smtp: { code: 550, enhanced: '5.1.1', text: 'no such user' },
  mta: { pool_id: 'pool_1', host: 'mta2.int' },
  attempt: 1,
  change: true,
  applied: true,
  bounce: {
    provider: null,
    provider_types: { ses: { type: 'Undetermined', sub_type: 'Undetermined' }, postmark: 'Unknown' },
  },
  workspace_id: 'ws_1',
  mode: 'live',
  from: 'Acme <no-reply@acme.test>',
  subject: 'Receipt 42',
  message_id: '<em_1@mail.acme.test>',
  tags: [{ name: 'kind', value: 'receipt' }],
}

t.test('the log says what the timeline says, and more', async (t) => {
  t.strictSame(loggedEvent(ROW), RECORD)
  const { emailId } = ROW
  t.match(RECORD, event({ ...ROW, emailId }))
})

t.test('an event without a mail names its thing', async (t) => {
  const row: LogRow = {
    ...ROW,
    type: 'domain.failed',
    workspaceId: null,
    emailId: null,
    recipientId: null,
    recipient: null,
    source: 'system',
    reply: null,
    mta: null,
    attempt: null,
    mail: null,
    data: { domain_id: 'dom_1', name: 'acme.test' },
  }
  const { from: _f, subject: _s, message_id: _m, tags: _t, bounce: _b, ...rest } = RECORD
  t.strictSame(loggedEvent(row), {
    ...rest,
    type: 'domain.failed',
    email_id: null,
    recipient: null,
    source: 'system',
    smtp: null,
    mta: null,
    attempt: null,
    workspace_id: null,
    data: { domain_id: 'dom_1', name: 'acme.test' },
  })
})

t.test('a bounce names the provider, and what others call it', async (t) => {
  const row: LogRow = { ...ROW, reason: 'unknown_user', detail: { remote_mta: 'aspmx.l.google.com' } }
  t.strictSame(loggedEvent(row).bounce, {
    provider: 'google',
    provider_types: { ses: { type: 'Permanent', sub_type: 'NoEmail' }, postmark: 'HardBounce' },
  })
  t.equal(loggedEvent({ ...row, recipient: null }).bounce?.provider, null)
  t.notOk('bounce' in loggedEvent({ ...row, type: 'email.deferred' }))
})

t.test('a reason, a detail and an upstream are there when they say something', async (t) => {
  const mta = { poolId: 'pool_1', upstreamId: 'up_1', host: null }
  const record = loggedEvent({ ...ROW, reason: 'suppressed', detail: { stage: 'rcpt' }, mta })
  t.match(record, {
    reason: 'suppressed',
    detail: { stage: 'rcpt' },
    mta: { pool_id: 'pool_1', host: null, upstream_id: 'up_1' },
  })
})
