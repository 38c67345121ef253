/**
 * NAME      examples - one request and its answer for each operation
 * DESCRIPTION
 *   What a reader of the document sees first, and what tools send that try a
 *   contract out. A test holds each against its schema.
 */

import {
  BOUNCED,
  CREDENTIAL,
  EMAIL,
  type Example,
  KEY,
  LATER,
  list,
  MADE,
  NEXT_KEY,
  OTHER,
  POOL,
  removed,
  SUPPRESSION,
  TOMORROW,
  UPSTREAM,
  WORKSPACE,
} from './example-parts.js'
import { OPERATIONS } from './examples-operations.js'
import { PEOPLE } from './examples-people.js'
import { WEBHOOKS } from './examples-webhooks.js'

const FROM = 'Shop EU <no-reply@shop.example>'
const TO = 'ana@example.com'

const request = {
  from: FROM,
  to: [TO],
  subject: 'Your receipt 42',
  html: '<p>Thank you, Ana.</p>',
  text: 'Thank you, Ana.',
  tags: [{ name: 'kind', value: 'receipt' }],
}

const COUNTS = { queued: 0, sent: 0, deferred: 0, delivered: 0, bounced: 0, canceled: 0 }

const head = (status: string) => ({
  id: EMAIL,
  object: 'email',
  status,
  last_event: status,
  workspace_id: WORKSPACE,
  mode: 'live',
  source: 'api',
  from: FROM,
  to: [TO],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: request.subject,
  tags: request.tags,
  message_id: `<${EMAIL}@mail.shop.example>`,
})

const times = (scheduledAt: string | null, updatedAt: string) => ({
  scheduled_at: scheduledAt,
  created_at: MADE,
  updated_at: updatedAt,
})

const recipient = (status: string, response: string | null, updatedAt: string) => ({
  address: TO,
  kind: 'to',
  status,
  attempts: response === null ? 0 : 1,
  last_response: response,
  updated_at: updatedAt,
})

const accepted = {
  ...head('queued'),
  attachments: [],
  ...times(null, MADE),
  recipients: [recipient('queued', null, MADE)],
  counts: { ...COUNTS, queued: 1 },
}

const content = { html: request.html, text: request.text, headers: {} }

const delivered = {
  ...head('delivered'),
  attachments: [],
  ...times(null, LATER),
  recipients: [{ ...recipient('delivered', '250 2.0.0 Ok: queued as 4C1F2', LATER), waiting: null }],
  counts: { ...COUNTS, delivered: 1 },
  waiting: null,
  ...content,
}

const scheduled = {
  ...head('scheduled'),
  attachments: [],
  ...times(TOMORROW, LATER),
  recipients: [{ ...recipient('scheduled', null, LATER), waiting: null }],
  counts: { scheduled: 1, ...COUNTS },
  waiting: { reason: 'scheduled', detail: 'its time has not come', until: TOMORROW },
  ...content,
}

const canceled = {
  ...scheduled,
  ...head('canceled'),
  recipients: [{ ...recipient('canceled', null, LATER), waiting: null }],
  counts: { ...COUNTS, canceled: 1 },
  waiting: null,
}

const listed = { ...head('delivered'), ...times(null, LATER), counts: delivered.counts, waiting: null }

const event = {
  id: 'evt_01k9f3m4bq0x8w6v4t2s0r8p6n',
  object: 'event',
  type: 'email.sent',
  email_id: EMAIL,
  recipient: TO,
  source: 'api',
  occurred_at: LATER,
  created_at: LATER,
  smtp: { code: 250, enhanced: '2.0.0', text: 'Ok: queued as 4C1F2' },
  mta: { pool_id: POOL, host: 'mta1.internal', upstream_id: UPSTREAM },
  attempt: 1,
  change: true,
  applied: true,
}

const bounced = { ...event, ...BOUNCED }

const loggedEvent = {
  ...event,
  workspace_id: WORKSPACE,
  mode: 'live',
  from: FROM,
  subject: request.subject,
  message_id: `<${EMAIL}@mail.shop.example>`,
  tags: request.tags,
}

const MARK = 'm1_MTA0Mi4x4fJmQ0pVb2xTbGd6QmE5Yw'

const workspace = {
  id: WORKSPACE,
  object: 'workspace',
  name: 'Shop EU',
  slug: 'shop-eu',
  is_default: false,
  egress_pool_id: POOL,
  routes: [{ domain: '.example.com', egress_pool_id: POOL }],
  default_from: FROM,
  restrict_senders: false,
  sender_dsn: false,
  line_endings: 'normalize',
  ambiguous: 'retry',
  alarms: {
    complaints: { rate: 0.003, at_least: 5 },
    hard_bounces: { rate: 0.05, at_least: 20 },
    deferrals: 'off',
  },
  on_alarm: 'notify',
  suppress_soft: { mailbox_full: { bounces: 8, days: 30 } },
  alarmed: [
    {
      ...{ alarm: 'complaints', since: MADE, count: 6, tried: 750 },
      cause: { reason: 'abuse', title: 'Called spam', count: 6, of: 6, domain: 'example.com' },
    },
  ],
  statistics: { tags: ['kind'] },
  suspended: false,
  suspended_at: null,
  suspended_reason: null,
  created_at: MADE,
}

const key = {
  id: KEY,
  object: 'api_key',
  name: 'shop server',
  mode: 'live',
  scope: 'workspace',
  workspace_id: WORKSPACE,
  prefix: 'svc_live_7Qm2xK9aB3dE',
  created_at: MADE,
  last_used_at: null,
  last_used_from: null,
  expires_at: null,
  rate_limit_per_minute: null,
  permission: 'full_access',
}

const credential = {
  id: CREDENTIAL,
  object: 'credential',
  workspace_id: WORKSPACE,
  mode: 'live',
  username: 'shop',
  cidr: null,
  certificate_fingerprint: null,
  imported: false,
  created_at: MADE,
  last_used_at: null,
  last_used_from: null,
}

const suppression = {
  id: SUPPRESSION,
  object: 'suppression',
  email: 'gone@example.com',
  origin: 'manual',
  source_id: null,
  created_at: MADE,
}

const member = { id: UPSTREAM, host: 'mta1.internal', port: 587, tls: 'required', state: 'active' }

const pool = {
  id: POOL,
  object: 'egress_pool',
  name: 'eu',
  kind: 'relay',
  return_path: 'verp',
  notify_success: true,
  relayed_means: 'delivered',
  follows: null,
  members: [
    {
      ...member,
      fingerprint: null,
      has_auth: true,
      has_oauth: false,
      auth_mechanism: null,
      has_ca: false,
      has_client_certificate: false,
      weight: 10,
      priority: 0,
      max_connections: 5,
      messages_per_connection: 100,
      rate: null,
    },
  ],
  created_at: MADE,
  updated_at: MADE,
}

const health = {
  id: POOL,
  object: 'egress_pool_health',
  status: 'ok',
  since: null,
  says: '6 recipients wait in pool main.',
  queue: { due: 3, leased: 2, waiting: 1, held: 0, oldest_due_at: LATER },
  members: [
    {
      ...member,
      breaker: 'closed',
      connections: 2,
      under_way: 2,
      limit: 5,
      full: null,
      last_success_at: LATER,
      last_error: null,
    },
  ],
}

const errorType = {
  code: 'email.not_found',
  type: 'https://mail.shop.example/errors/email.not_found',
  status: 404,
  title: 'Email not found',
  description: 'No email with that id is visible to this credential.',
  remedy: 'Look whether the id was copied whole.',
  retryable: false,
  smtp: '550 5.1.1',
}

/** By the id of the operation. */
const trial = {
  ...{ id: UPSTREAM, host: 'mta1.example.net', port: 587 },
  ...{ ok: true, stage: null, said: 'TLSv1.3, signed in by PLAIN', tls: 'TLSv1.3', dsn: true },
  ...{ offers: ['dsn', 'pipelining'], auth_offered: ['PLAIN', 'LOGIN'], auth_mechanism: 'PLAIN', ms: 41 },
}

export const EXAMPLES: Readonly<Record<string, Example>> = {
  sendEmail: { request, answer: accepted },
  getEmail: { answer: delivered },
  listEmails: { answer: list(listed) },
  listEmailAttachments: {
    answer: {
      object: 'list',
      data: [
        {
          id: '1',
          object: 'attachment',
          ...{ filename: 'receipt.pdf', content_type: 'application/pdf', size: 18_230, content_id: null },
        },
      ],
      has_more: false,
    },
  },
  sendBatch: {
    request: [request, { ...request, to: 'bo@example.com' }],
    answer: { object: 'batch', data: [{ id: EMAIL }, { id: OTHER }] },
  },
  rescheduleEmail: { request: { scheduled_at: TOMORROW }, answer: scheduled },
  cancelEmail: { request: {}, answer: canceled },
  getEmailSource: {
    answer: `From: ${FROM}\r\nTo: ${TO}\r\nSubject: ${request.subject}\r\nMessage-ID: <${EMAIL}@mail.shop.example>\r\n\r\n${request.text}\r\n`,
  },
  getEventReport: {
    answer: `From: MAILER-DAEMON@mx.example.net\r\nSubject: Undelivered Mail\r\n\r\n<${TO}>: 550 5.1.1 User unknown\r\n`,
  },
  resendEmail: {
    request: { to: [TO] },
    answer: { ...accepted, id: OTHER, message_id: `<${OTHER}@mail.shop.example>`, resent_from: EMAIL },
  },
  listEmailEvents: { answer: list(bounced) },
  listEvents: { answer: list(loggedEvent) },
  getEvent: { answer: loggedEvent },
  streamEvents: {
    answer: `retry: 2000\nid: ${MARK}\n\nid: ${MARK}\nevent: email.sent\ndata: ${JSON.stringify(loggedEvent)}\n\n`,
  },
  createWorkspace: {
    request: { name: 'Shop EU', slug: 'shop-eu', egress_pool_id: POOL, default_from: FROM },
    answer: workspace,
  },
  listWorkspaces: { answer: list(workspace) },
  getWorkspace: { answer: workspace },
  updateWorkspace: { request: { suspended: true }, answer: { ...workspace, suspended: true } },
  deleteWorkspace: { answer: removed(workspace) },
  createApiKey: {
    request: { name: key.name, mode: 'live', scope: 'workspace', workspace_id: WORKSPACE },
    answer: { ...key, secret: 'svc_live_7Qm2xK9aB3dE…', token: 'svc_live_7Qm2xK9aB3dE…' },
  },
  listApiKeys: { answer: list(key) },
  rotateApiKey: {
    request: { overlap: '48h', reason: 'a year is over' },
    answer: {
      ...{ ...key, id: NEXT_KEY, secret: 'svc_live_1Rk8vT4mXq2Z…', token: 'svc_live_1Rk8vT4mXq2Z…' },
      replaces: key,
    },
  },
  revokeApiKey: { request: { reason: 'its owner has left' }, answer: removed(key) },
  createCredential: {
    request: { workspace_id: WORKSPACE, username: 'shop', password: 'a long and random text' },
    answer: credential,
  },
  listCredentials: { answer: list(credential) },
  revokeCredential: { request: { reason: 'the printer is gone' }, answer: removed(credential) },
  addSuppression: { request: { email: suppression.email }, answer: suppression },
  listSuppressions: { answer: list(suppression) },
  getSuppression: { answer: suppression },
  removeSuppression: { request: { reason: 'Ana has a mailbox again' }, answer: removed(suppression) },
  addSuppressions: {
    request: { emails: [suppression.email] },
    answer: { object: 'list', data: [suppression] },
  },
  removeSuppressions: {
    request: { emails: [suppression.email] },
    answer: { object: 'list', data: [removed(suppression)] },
  },
  createEgressPool: {
    request: {
      name: 'eu',
      members: [
        {
          host: member.host,
          port: 587,
          tls: 'required',
          auth: { user: 'postern', pass: 'a long and random text' },
          weight: 10,
          max_connections: 5,
        },
      ],
    },
    answer: pool,
  },
  updateEgressPool: {
    request: {
      notify_success: false,
      members: [
        {
          host: 'smtp.office365.com',
          port: 587,
          tls: 'verify',
          auth: {
            user: 'gateway@acme.example',
            oauth: {
              token_url: 'https://login.microsoftonline.com/acme.example/oauth2/v2.0/token',
              client_id: '00000000-0000-0000-0000-000000000000',
              client_secret: 'a long and random text',
              scope: 'https://outlook.office365.com/.default',
            },
          },
        },
      ],
    },
    answer: {
      ...pool,
      notify_success: false,
      members: [
        {
          ...pool.members[0],
          host: 'smtp.office365.com',
          tls: 'verify',
          has_oauth: true,
          weight: 1,
          max_connections: 10,
        },
      ],
    },
  },
  deleteEgressPool: { request: { reason: 'eu took its place' }, answer: removed(pool) },
  listEgressPools: { answer: list(pool) },
  getEgressPool: { answer: pool },
  getEgressPoolHealth: { answer: health },
  testEgressPool: { request: { upstream_id: UPSTREAM }, answer: { object: 'list', data: [trial] } },
  ...OPERATIONS,
  ...PEOPLE,
  ...WEBHOOKS,
  listErrors: { answer: { object: 'error_catalog', version: 'v1', errors: [errorType] } },
  getError: { answer: errorType },
  getOpenApi: { answer: { openapi: '3.1.0' } },
  getOpenDocument: { answer: { openapi: '3.1.0' } },
}
