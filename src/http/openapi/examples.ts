/**
 * NAME      examples - one request and its answer for each operation
 *   What a reader of the document sees first, and what tools send that try a contract out. An answer is made of what its
 *   members look like (members.ts); here stands what is otherwise in it, and which members it has that need not be there.
 *   A test holds each against its schema.
 */
interface Example {
  readonly request?: unknown
  readonly answer?: unknown
  /** By status, where an answer is another one. */
  readonly others?: Readonly<Record<string, unknown>>
}

const TOMORROW = '2026-11-21T08:00:00.000Z'
const OTHER = 'em_01k9f3m2zq8v6t4r2p0nxcwbhb'
const WORKSPACE = 'ws_01k9f2a7yt5n3m1k8h6g4f2d0c'
const POOL = 'pool_01k9f2a7yt5n3m1k8h6g4f2d0d'
const UPSTREAM = 'up_01k9f2a7yt5n3m1k8h6g4f2d0e'
const SECRET = 'a long and random text'
const SETUP = {
  setup: {
    setup: 'shop',
    pools: { eu: { upstreams: ['smtp://mta1.eu.example:587?tls=verify'] } },
    workspaces: { shop: { pool: 'eu' } },
    keys: { 'shop/web': {} },
  },
}
const PASSWORD = { current_password: 'a sentence that nobody guesses' }

const mail = {
  from: 'Shop EU <no-reply@shop.example>',
  to: ['ana@example.com'],
  subject: 'Your receipt 42',
  html: '<p>Thank you, Ana.</p>',
  text: 'Thank you, Ana.',
  tags: [{ name: 'kind', value: 'receipt' }],
}

/** A mail to one recipient, who stands so. */
const one = (status: string, more: object = {}) => ({
  ...{ status, last_event: status, counts: { [status]: 1 } },
  recipients: [{ status, ...(status === 'delivered' ? { attempts: 1 } : { last_response: null }) }],
  ...more,
})
const accepted = one('queued', { attachments: [] })

const logged = {
  message_id: `<${OTHER}@mail.shop.example>`,
  from: mail.from,
  subject: mail.subject,
  tags: [{}],
}

const workspace = { alarms: { deferrals: 'off' }, suppress_soft: { mailbox_full: {} } }

const dkim = (selector: string, value: string, algorithm = 'rsa') => ({
  key: { selector, algorithm },
  record: { name: `${selector}._domainkey.shop.example`, value },
})
const KEYS = [
  dkim('pn20261120r', 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'),
  dkim('pn20261120e', 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=', 'ed25519'),
]
const domain = {
  keys: KEYS.map(({ key }) => key),
  records: [
    ...KEYS.map(({ record }) => record),
    { purpose: 'dmarc', name: '_dmarc.shop.example', value: 'v=DMARC1; p=none', state: null },
  ],
}
const checked = { ...domain, verified: true, verified_at: TOMORROW, checked_at: TOMORROW }

const counted = { messages: 1204, passed: 1190, failed: 14, dkim: 1190, spf: 0, quarantined: 0, rejected: 0 }
const source = { address: '203.0.113.24', origin: 'ours', ...counted }
const reported = {
  ...{ kind: 'dmarc', reporter: 'google.com', contact: 'noreply-dmarc-support@google.com' },
  ...{ report_id: '10862137434712348017', policy: 'p=none', total: 1204, failed: 14 },
  ...{ sources: [source], failures: [] },
}
const summed = {
  ...{ domain: 'shop.example', reports: 34, cut: false, policy: 'p=none' },
  ...{ mail: counted, own: counted, sources: [source] },
  reporters: [{ kind: 'dmarc', reporter: 'google.com', reports: 30, total: 1204, failed: 14 }],
  tls: {
    sessions: 12,
    failed: 1,
    failures: [{ type: 'certificate-expired', mx: 'mx.shop.example', sessions: 1 }],
  },
  publish: [
    {
      ...{ type: 'TXT', name: '_dmarc.shop.example' },
      value: 'v=DMARC1; p=none; rua=mailto:dmarc-reports@bounces.shop.example',
    },
  ],
}

const down = {
  title: 'No upstream of pool main answers: 41 recipients wait.',
  says: 'Upstream mta1.shop.example:587 has failed for 12 minutes (connect: ECONNREFUSED). The oldest has waited for 14 minutes.',
  holds: [],
}
const flowing = {
  ...{ tone: 'ok', title: 'Nothing waits.', says: 'Mail leaves as it comes in.', short: null },
  ...{ down: 0, waiting: 0, oldest_at: null, pools: [], holds: [] },
}

const WIDE = { egress_pool_id: null, domain: null, email_id: null }
const ordered = (action: string, to: string | null = null) => ({ ...WIDE, action, to, dry_run: false })
const named = { scope: { workspace_id: WORKSPACE } }

const webhook = {
  endpoint: 'https://app.shop.example/hooks/mail',
  events: ['email.delivered', 'email.bounced', 'email.complained'],
}
const UNTRIED = {
  ...{ url: null, request_headers: null, http_status_code: null, duration_ms: null },
  ...{ response: null, cause: null },
}

const view = { title: 'Bounced today', path: '/emails?status=bounced' }
const mine = { workspace_id: null, mode: null }

export const EXAMPLES: Readonly<Record<string, Example>> = {
  sendEmail: { request: mail, answer: accepted },
  getEmail: { answer: one('delivered') },
  listEmails: {
    answer: { data: [{ status: 'delivered', last_event: 'delivered', counts: { delivered: 1 } }] },
  },
  sendBatch: {
    request: [mail, { ...mail, to: 'bo@example.com' }],
    answer: { data: [{}, { id: OTHER }] },
  },
  rescheduleEmail: {
    request: { scheduled_at: TOMORROW },
    answer: one('scheduled', { scheduled_at: TOMORROW, waiting: { until: TOMORROW } }),
  },
  cancelEmail: { request: {}, answer: one('canceled') },
  getEmailSource: {
    answer: `From: ${mail.from}\r\nTo: ${mail.to}\r\nSubject: ${mail.subject}\r\nMessage-ID: <${OTHER}@mail.shop.example>\r\n\r\n${mail.text}\r\n`,
  },
  getEventReport: {
    answer: `From: MAILER-DAEMON@mx.example.net\r\nSubject: Undelivered Mail\r\n\r\n<${mail.to}>: 550 5.1.1 User unknown\r\n`,
  },
  resendEmail: {
    request: { to: mail.to },
    answer: {
      ...accepted,
      id: OTHER,
      message_id: logged.message_id,
      resent_from: 'em_01k9f3m2zq8v6t4r2p0nxcwbha',
    },
  },
  listEmailEvents: {
    answer: {
      data: [
        {
          ...{ type: 'email.bounced', source: 'smtp', reason: 'unknown_user', bounce: {} },
          smtp: { code: 550, enhanced: '5.1.1', text: 'No such user - gsmtp' },
          detail: { stage: 'rcpt', class: 'hard', fault: 'recipient' },
          mta: { upstream_id: UPSTREAM },
        },
      ],
    },
  },
  listEvents: { answer: { data: [logged] } },
  getEvent: { answer: logged },
  streamEvents: {
    answer:
      'retry: 2000\nid: m1_MTA0Mi4x4fJmQ0pVb2xTbGd6QmE5Yw\n\nid: m1_MTA0Mi4x4fJmQ0pVb2xTbGd6QmE5Yw\nevent: email.sent\ndata: {"object":"event","type":"email.sent"}\n\n',
  },
  createWorkspace: {
    request: { name: 'Shop EU', slug: 'shop-eu', egress_pool_id: POOL, default_from: mail.from },
    answer: workspace,
  },
  listWorkspaces: { answer: { data: [workspace] } },
  getWorkspace: { answer: workspace },
  updateWorkspace: { request: { suspended: true }, answer: { ...workspace, suspended: true } },
  planSetup: { request: SETUP },
  applySetup: { request: { ...SETUP, digest: 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA' } },
  createApiKey: {
    request: { name: 'shop server', mode: 'live', scope: 'workspace', workspace_id: WORKSPACE },
  },
  rotateApiKey: {
    request: { overlap: '48h', reason: 'a year is over' },
    answer: { secret: 'svc_live_1Rk8vT4mXq2Z…', token: 'svc_live_1Rk8vT4mXq2Z…' },
  },
  revokeApiKey: { request: { reason: 'its owner has left' } },
  createCredential: { request: { workspace_id: WORKSPACE, username: 'shop', password: SECRET } },
  revokeCredential: { request: { reason: 'the printer is gone' } },
  addSuppression: { request: { email: 'gone@example.com' } },
  removeSuppression: { request: { reason: 'Ana has a mailbox again' } },
  addSuppressions: { request: { emails: ['gone@example.com'] } },
  removeSuppressions: { request: { emails: ['gone@example.com'] } },
  createEgressPool: {
    request: {
      name: 'eu',
      members: [
        {
          ...{ host: 'mta1.internal', port: 587, tls: 'required', weight: 10, max_connections: 5 },
          auth: { user: 'postern', pass: SECRET },
        },
      ],
    },
  },
  updateEgressPool: {
    request: {
      notify_success: false,
      members: [
        {
          ...{ host: 'smtp.office365.com', port: 587, tls: 'verify' },
          auth: {
            user: 'gateway@acme.example',
            oauth: {
              token_url: 'https://login.microsoftonline.com/acme.example/oauth2/v2.0/token',
              client_id: '00000000-0000-0000-0000-000000000000',
              client_secret: SECRET,
              scope: 'https://outlook.office365.com/.default',
            },
          },
        },
      ],
    },
    answer: {
      notify_success: false,
      members: [
        { host: 'smtp.office365.com', tls: 'verify', has_oauth: true, weight: 1, max_connections: 10 },
      ],
    },
  },
  deleteEgressPool: { request: { reason: 'eu took its place' } },
  getEgressPoolHealth: { answer: { since: null, queue: { waiting: 1 } } },
  testEgressPool: { request: { upstream_id: UPSTREAM } },
  createDomain: { request: { name: 'shop.example', workspace_id: WORKSPACE }, answer: domain },
  listDomains: { answer: { data: [domain] } },
  getDomain: { answer: domain },
  listDomainReports: { answer: { data: [reported] } },
  getDomainReportSummary: { answer: summed },
  checkDomain: { request: {}, answer: checked },
  verifyDomain: { request: {}, answer: checked },
  updateDomain: { request: { open_tracking: false, tls: 'opportunistic' }, answer: domain },
  rotateDomain: { request: { now: false }, answer: domain },
  getQueue: { answer: { state: { live: down, test: flowing } } },
  listQueueEntries: {
    answer: { data: [{ held: null, waiting: { reason: 'backoff', detail: 'pool eu tries again later' } }] },
  },
  retryQueue: { request: named, answer: ordered('retry') },
  releaseQueue: { request: named, answer: ordered('release') },
  rerouteQueue: {
    request: { ...named, to: 'spare', reason: 'eu is down' },
    answer: ordered('reroute', 'spare'),
  },
  purgeQueue: { request: { ...named, reason: 'sent by mistake' }, answer: ordered('purge') },
  bulkEmails: {
    request: {
      action: 'resend',
      q: 'domain:shop.example status:bounced',
      reason: 'their mail server was away',
    },
    answer: { done: 0 },
  },
  acceptIncident: { request: {}, answer: { pending: 0, decision: 'accepted', decided_at: TOMORROW } },
  dismissIncident: { request: {}, answer: { pending: 0, decision: 'dismissed', decided_at: TOMORROW } },
  cancelJob: { answer: { state: 'canceled', finished_at: TOMORROW } },
  placeHold: { request: { ...named, reason: 'the template shows the wrong price' }, answer: WIDE },
  listHolds: { answer: { data: [WIDE] } },
  liftHold: { request: { reason: 'the price is right' } },
  getSummary: { answer: { live: down, test: flowing } },
  getCluster: {
    answer: { daemons: [{ writers: [{}, { number: 1, role: 'relay', epoch: 4, lag_ms: 40 }] }] },
  },
  createUser: { request: { email: 'ana@shop.example', name: 'Ana', role: 'member' } },
  updateUser: { request: { role: 'member', disabled: false } },
  resetUserFactors: { answer: { second_factor: false, factors: [], recovery_codes_left: 0 } },
  beginFactor: {
    request: { kind: 'totp', ...PASSWORD },
    answer: {
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      uri: 'otpauth://totp/Postern%20mail.shop.example:ana%40shop.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    },
  },
  addFactor: { request: { enrolment: 'q0n7T4…', name: 'Phone', code: '492039' } },
  removeFactor: { request: PASSWORD },
  replaceRecoveryCodes: { request: PASSWORD },
  createInvitation: { request: { email: 'ana@shop.example', role: 'member' }, answer: { email_id: null } },
  getSession: { answer: mine },
  updateSession: { request: { time_zone: 'Europe/Prague', views: [view] }, answer: mine },
  createWebhook: { request: webhook },
  updateWebhook: { request: { status: 'enabled', from: 'now' } },
  rotateWebhookSecret: { request: { grace: '24h' }, answer: { previous_secret_until: TOMORROW } },
  testWebhook: {
    request: {},
    answer: {
      ...{ type: 'webhook.test', status: 'success', next_attempt_at: null, kind: 'test', attempts: 1 },
      ...{ http_status_code: 200, response: 'ok', cause: null },
    },
  },
  replayWebhookEvent: { request: {}, answer: { status: 'pending', kind: 'replay', attempts: 0, ...UNTRIED } },
  replayWebhook: {
    request: { since: '2026-11-20T10:00:00.000Z', failed: true, dry_run: true },
    others: { 200: { id: null } },
  },
  getOpenApi: { answer: { openapi: '3.1.0' } },
  getOpenDocument: { answer: { openapi: '3.1.0' } },
}
