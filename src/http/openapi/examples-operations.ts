/**
 * NAME      examples-operations - of sending domains, the queue and who is asking
 */
import {
  EMAIL,
  type Example,
  LATER,
  list,
  MADE,
  POOL,
  removed,
  UPSTREAM,
  WORKSPACE,
} from './example-parts.js'

const DOMAIN = 'dom_01k9f3q9sz7w3v1t9r7p5n3m1k'

const dkimKey = (selector: string, algorithm: string) => ({
  selector,
  algorithm,
  state: 'active',
  created_at: MADE,
  retired_at: null,
})

const dkimRecord = (selector: string, value: string) => ({
  purpose: 'dkim',
  type: 'TXT',
  name: `${selector}._domainkey.shop.example`,
  value,
  state: 'active',
})

const domain = {
  id: DOMAIN,
  object: 'domain',
  name: 'shop.example',
  workspace_id: WORKSPACE,
  verified: false,
  verified_at: null,
  checked_at: null,
  keys: [dkimKey('pn20261120r', 'rsa'), dkimKey('pn20261120e', 'ed25519')],
  records: [
    dkimRecord('pn20261120r', 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'),
    dkimRecord('pn20261120e', 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='),
    {
      purpose: 'dmarc',
      type: 'TXT',
      name: '_dmarc.shop.example',
      value: 'v=DMARC1; p=none',
      state: null,
    },
  ],
  created_at: MADE,
}

const checked = {
  ...domain,
  verified: true,
  verified_at: LATER,
  checked_at: LATER,
  records: domain.records.map((record) => ({ ...record, seen: 'ok', found: null })),
}

const QUIET = { deferred: 0, greylisted: 0, complained: 0, suppressed: 0, canceled: 0, dropped: 0 }

const figures = (n: number) => ({
  accepted: n,
  sent: n,
  delivered: n - 1,
  ...QUIET,
  bounced: { total: 1, hard: 1, soft: 0, by_category: { unknown_user: 1 } },
  of_accepted: {
    accepted: n,
    sent: n,
    delivered: n - 1,
    ...QUIET,
    bounced_hard: 1,
    bounced_soft: 0,
    tried: n,
  },
  rates: {
    delivered: (n - 1) / n,
    deferred: 0,
    bounced: 1 / n,
    bounced_hard: 1 / n,
    bounced_soft: 0,
    complained: 0,
  },
  time_to_sent: { count: n, p50: 0.214, p95: 0.721, p99: 0.944 },
  time_to_delivered: { count: n - 1, p50: 1.842, p95: 2.9, p99: 4.511 },
})

const statistics = {
  object: 'statistics',
  workspace_id: WORKSPACE,
  mode: 'live',
  from: '2026-11-19T19:00:00.000Z',
  to: '2026-11-20T19:00:00.000Z',
  interval: 'day',
  tz: 'Asia/Tashkent',
  group_by: 'recipient_domain',
  as_of: LATER,
  rate_bases: {
    delivered: 'of_accepted.tried',
    deferred: 'of_accepted.tried',
    bounced: 'of_accepted.tried',
    bounced_hard: 'of_accepted.tried',
    bounced_soft: 'of_accepted.tried',
    complained: 'of_accepted.sent',
  },
  totals: figures(80),
  data: [{ at: '2026-11-19T19:00:00.000Z', ...figures(80) }],
  groups: [
    {
      key: 'example.com',
      name: null,
      totals: figures(80),
      data: [{ at: '2026-11-19T19:00:00.000Z', ...figures(80) }],
    },
  ],
}

const scope = { workspace_id: WORKSPACE, egress_pool_id: null, domain: null, email_id: null }
const matched = { waiting: 41, held: 0, under_way: 2 }

const incident = {
  id: 'inc_01k9f3r0tz8x4w2v0s8q6n4m2q',
  object: 'incident',
  workspace_id: WORKSPACE,
  upstream_id: UPSTREAM,
  domain: 'example.com',
  said: 'recipient address rejected user unknown',
  addresses: 20,
  delivered_before: 0,
  outcomes: 41,
  pending: 187,
  decision: null,
  created_at: MADE,
  decided_at: null,
}

const job = {
  id: 'job_01k9f3r0tz8x4w2v0s8q6n4m2m',
  object: 'job',
  action: 'resend',
  state: 'running',
  reason: 'their mail server was away',
  q: 'domain:shop.example status:bounced',
  workspace_id: WORKSPACE,
  matched: 412,
  done: 200,
  skipped: 0,
  failed: 0,
  last_error: null,
  per_second: 416.7,
  seconds_left: 1,
  created_by: 'key_01k9f3m2zq8v6t4r2p0nxcwbhb',
  created_by_name: 'ops',
  created_at: MADE,
  updated_at: MADE,
  finished_at: null,
}

const hold = {
  id: 'hold_01k9f3r0tz8x4w2v0s8q6n4m2k',
  object: 'hold',
  ...scope,
  reason: 'the template shows the wrong price',
  owner: 'workspace',
  created_at: MADE,
}

const waiting = { reason: 'backoff', detail: 'pool eu tries again later', until: LATER }

const entry = {
  email_id: EMAIL,
  workspace_id: WORKSPACE,
  egress_pool_id: POOL,
  address: 'ana@example.com',
  status: 'deferred',
  attempts: 1,
  due_at: LATER,
  held: null,
  under_way: false,
  last_response: '451 4.3.0 try again later',
  waiting,
}

const depth = {
  egress_pool_id: POOL,
  workspace_id: WORKSPACE,
  due: 0,
  leased: 2,
  waiting: 41,
  held: 0,
  oldest_due_at: LATER,
  waiting_for: null,
}

const state = {
  tone: 'bad',
  title: 'No upstream of pool main answers: 41 recipients wait.',
  says: 'Upstream mta1.shop.example:587 has failed for 12 minutes (connect: ECONNREFUSED). The oldest has waited for 14 minutes.',
  short: '41 wait',
  down: 1,
  waiting: 41,
  scheduled: 0,
  held: 0,
  oldest_at: MADE,
  pools: [
    {
      ...{ egress_pool_id: POOL, state: 'down', since: LATER, waiting: 41, scheduled: 0, held: 0 },
      oldest_at: MADE,
      says: 'No upstream of pool main answers: 41 recipients wait. Upstream mta1.shop.example:587 has failed for 12 minutes (connect: ECONNREFUSED).',
      failing: [{ upstream: 'mta1.shop.example:587', since: LATER, error: 'connect: ECONNREFUSED' }],
    },
  ],
  holds: [],
}

const flowing = {
  ...{ tone: 'ok', title: 'Nothing waits.', says: 'Mail leaves as it comes in.', short: null },
  ...{ down: 0, waiting: 0, scheduled: 0, held: 0, oldest_at: null, pools: [], holds: [] },
}

const throttled = {
  egress_pool_id: POOL,
  domain: 'gmx.example',
  at_once: 2,
  until: null,
  since: MADE,
  rule: 'connections',
  last_response: '421 4.7.0 too many connections from your address',
}

const age = {
  key: 'gmx.example',
  recipients: 43,
  ages: { under_1m: 2, under_10m: 41, under_1h: 0, under_1d: 0, over_1d: 0 },
  oldest_at: MADE,
  next_due_at: LATER,
  last_response: '421 4.7.0 too many connections from your address',
}

const ordered = (action: string, to: string | null = null) => ({
  ...{ action, ...scope, to, matched },
  ...{ changed: 41, dry_run: false },
})
const named = { scope: { workspace_id: WORKSPACE } }

export const OPERATIONS: Readonly<Record<string, Example>> = {
  createDomain: { request: { name: domain.name, workspace_id: WORKSPACE }, answer: domain },
  listDomains: { answer: list(domain) },
  getDomain: { answer: domain },
  checkDomain: { request: {}, answer: checked },
  verifyDomain: { request: {}, answer: checked },
  updateDomain: { request: { open_tracking: false, tls: 'opportunistic' }, answer: domain },
  rotateDomain: { request: { now: false }, answer: domain },
  deleteDomain: { answer: removed(domain) },
  getStatistics: { answer: statistics },
  getQueue: {
    answer: { object: 'queue', state: { live: state, test: flowing }, data: [depth], throttled: [throttled] },
  },
  getQueueAges: { answer: { object: 'queue_ages', by: 'domain', complete: true, scheduled: 0, data: [age] } },
  listQueueEntries: { answer: list(entry) },
  retryQueue: { request: named, answer: ordered('retry') },
  releaseQueue: { request: named, answer: ordered('release') },
  rerouteQueue: {
    request: { ...named, to: 'spare', reason: 'eu is down' },
    answer: ordered('reroute', 'spare'),
  },
  purgeQueue: { request: { ...named, reason: 'sent by mistake' }, answer: ordered('purge') },
  bulkEmails: {
    request: { action: job.action, q: job.q, reason: job.reason },
    answer: { ...job, done: 0 },
    others: {
      200: { object: 'job_preview', action: job.action, matched: 412, dry_run: true },
    },
  },
  listIncidents: { answer: list(incident) },
  getIncident: { answer: incident },
  acceptIncident: {
    request: {},
    answer: { ...incident, pending: 0, decision: 'accepted', decided_at: LATER },
  },
  dismissIncident: {
    request: {},
    answer: { ...incident, pending: 0, decision: 'dismissed', decided_at: LATER },
  },
  listJobs: { answer: list(job) },
  getJob: { answer: job },
  cancelJob: { answer: { ...job, state: 'canceled', finished_at: LATER } },
  placeHold: { request: { ...named, reason: hold.reason }, answer: { ...hold, matched, changed: 41 } },
  listHolds: { answer: list(hold) },
  liftHold: { request: { reason: 'the price is right' }, answer: { ...removed(hold), changed: 41 } },
  getSummary: {
    answer: {
      ...{ object: 'summary', waiting: 41, held: 0, pools_down: 1, webhooks_failing: 0 },
      ...{ live: state, test: flowing },
    },
  },
  getCluster: {
    answer: {
      object: 'cluster',
      store: 'postgresql',
      same_settings: true,
      put_back: null,
      daemons: [
        {
          id: '5f0c1c4e-7d55-4f1b-9a0e-2b6f6f0d3c11',
          host: 'mail-1.shop.example',
          version: '1.0.0',
          settings: '9f2c31d0',
          pools: null,
          share: { part: 1, of: 2 },
          lag_ms: 812,
          writers: [
            { number: 0, role: 'main', epoch: 7, lag_ms: 812 },
            { number: 1, role: 'relay', epoch: 4, lag_ms: 40 },
          ],
        },
      ],
    },
  },
  getInstallation: {
    answer: {
      object: 'installation',
      base_url: 'https://mail.shop.example',
      hostname: 'mail.shop.example',
      bounce_domain: 'bounce.shop.example',
      submission: [{ host: 'mail.shop.example', port: 587, tls: 'starttls', ip_credentials: false }],
    },
  },
}
