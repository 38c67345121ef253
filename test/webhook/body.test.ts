/** What an endpoint is told: Resend's fields and ours, nothing of the mail when thin, and the name that it asked for. */
import t from 'tap'
import { bodyOf, loggedType, postedType } from '../../src/webhook/body.js'
import { logRow, noticeRow } from './rows.js'

const full = { fields: 'full', format: 'standard', events: ['email.bounced'] } as const
const told = (...args: Parameters<typeof bodyOf>) =>
  JSON.parse(bodyOf(...args)) as { type: string; data: Record<string, unknown> }

t.test('of a mail, in full', async (t) => {
  t.strictSame(told(logRow(), full), {
    type: 'email.bounced',
    timestamp: '2026-11-20T10:00:00.005Z',
    created_at: '2026-11-20T10:00:00.006Z',
    data: {
      email_id: 'em_1',
      created_at: '2026-11-20T09:59:59.005Z',
      message_id: '<em_1@mail.acme.test>',
      workspace_id: 'ws_1',
      mode: 'live',
      sequence: 900719925474099,
      from: 'Acme <no-reply@acme.test>',
      to: ['ana@example.com'],
      subject: 'Your code is 123456',
      tags: { kind: 'receipt' },
      recipient: 'ana@example.com',
      source: 'dsn',
      attempt: 1,
      smtp: { code: 550, enhanced: '5.1.1', text: 'no such user' },
      mta: { pool_id: 'pool_1', host: 'mta2.int' },
      reason: 'unknown_user',
      bounce: {
        message: 'no such user',
        type: 'Permanent',
        subType: 'NoEmail',
        provider: null,
        provider_types: { ses: { type: 'Permanent', sub_type: 'NoEmail' }, postmark: 'HardBounce' },
      },
    },
  })
})

t.test('bounces are sorted as others sort them', async (t) => {
  const bounce = (reason: string | null) => told(logRow({ reason, reply: null }), full).data
  t.match(bounce('suppressed').bounce, { message: 'suppressed', type: 'Permanent', subType: 'Suppressed' })
  t.match(bounce('mailbox_full').bounce, { type: 'Transient', subType: 'MailboxFull' })
  t.match(bounce('spam').bounce, { type: 'Transient', subType: 'ContentRejected' })
  t.match(bounce('policy').bounce, { type: 'Transient', subType: 'General' })
  t.match(bounce(null).bounce, { message: '', type: 'Undetermined', subType: 'General' })
  t.match(bounce('toString').bounce, { type: 'Undetermined', subType: 'General' })
  t.notOk('bounce' in told(logRow({ type: 'email.delivered' }), full).data)
})

t.test('thin names the mail, and holds nothing that was in it', async (t) => {
  const text = bodyOf(logRow(), { ...full, fields: 'thin' })
  t.strictSame(Object.keys((JSON.parse(text) as { data: object }).data), [
    'email_id',
    'created_at',
    'message_id',
    'workspace_id',
    'mode',
    'sequence',
  ])
  for (const secret of ['ana@', 'no-reply', '123456', 'receipt', 'no such user', 'mta2'])
    t.notMatch(text, secret)
})

t.test('of no mail: what it is about', async (t) => {
  for (const fields of ['full', 'thin'] as const) {
    t.strictSame(told(noticeRow(), { ...full, fields, events: ['*'] }), {
      type: 'domain.failed',
      timestamp: '2026-11-20T10:00:00.005Z',
      created_at: '2026-11-20T10:00:00.006Z',
      data: { id: 'dom_1', name: 'acme.test', workspace_id: null, mode: 'live' },
    })
  }
})

t.test('a mail that is gone', async (t) => {
  t.match(told(logRow({ mail: null }), full).data, { email_id: 'em_1', recipient: 'ana@example.com' })
})

t.test('the name that was asked for', async (t) => {
  t.equal(loggedType('email.delivery_delayed'), 'email.deferred')
  t.equal(loggedType('email.sent'), 'email.sent')
  t.equal(loggedType('*'), null)
  t.equal(postedType('email.deferred', ['email.delivery_delayed']), 'email.delivery_delayed')
  t.equal(postedType('email.deferred', ['email.delivery_delayed', 'email.deferred']), 'email.deferred')
  t.equal(postedType('email.deferred', ['*']), 'email.deferred')
  t.equal(postedType('email.sent', ['email.delivery_delayed']), 'email.sent')
})

t.test('the same event, the same text', async (t) => {
  t.equal(bodyOf(logRow(), full), bodyOf(logRow(), full))
})
