/**
 * NAME      examples-webhooks - of endpoints and what was posted to them
 */
import { EMAIL, type Example, LATER, list, MADE, removed, TOMORROW, WORKSPACE } from './example-parts.js'

const WEBHOOK = 'wh_01k9f3r0tz8x4w2v0s8q6n4m2l'
const EVENT = 'evt_01k9f3m4bq0x8w6v4t2s0r8p6n'
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD2jN6kQz0nGs='

const request = {
  endpoint: 'https://app.shop.example/hooks/mail',
  events: ['email.delivered', 'email.bounced', 'email.complained'],
}

const webhook = {
  id: WEBHOOK,
  object: 'webhook',
  ...request,
  status: 'enabled',
  disabled_reason: null,
  disabled_at: null,
  workspace_id: WORKSPACE,
  mode: 'live',
  domains: [],
  tags: [],
  header_names: [],
  fields: 'full',
  max_in_flight: 8,
  rate: 50,
  previous_secret_until: null,
  health: {
    state: 'healthy',
    failing_since: null,
    failures: 0,
    last_failed_at: null,
    last_succeeded_at: LATER,
    next_try_at: null,
  },
  waiting: 0,
  created_at: MADE,
  updated_at: MADE,
}

const shown = { ...webhook, behind: { events: 0, capped: false } }

const headers = {
  'content-type': 'application/json',
  'user-agent': 'Postern-Webhooks/1.0',
  'webhook-id': EVENT,
  'webhook-timestamp': '1795168802',
  'webhook-signature': 'v1,9Fv4GfJ1mDxkvOB0MUDI4T2L6VvUpS0sDkZTWBY6cmQ=',
}

const failed = {
  id: EVENT,
  object: 'webhook_event',
  type: 'email.delivered',
  created_at: MADE,
  status: 'attempting',
  next_attempt_at: TOMORROW,
  post_id: 'post_01k9f3r2vb0z6y4w2t0r8p6n4m',
  kind: 'event',
  attempts: 2,
  url: request.endpoint,
  request_headers: headers,
  http_status_code: 302,
  duration_ms: 41,
  response: '',
  cause: 'redirected to https://shop.example/login, we do not follow',
  updated_at: LATER,
}

const tested = {
  ...failed,
  type: 'webhook.test',
  status: 'success',
  next_attempt_at: null,
  kind: 'test',
  attempts: 1,
  http_status_code: 200,
  response: 'ok',
  cause: null,
}

const payload = {
  type: 'email.delivered',
  timestamp: LATER,
  created_at: LATER,
  data: {
    email_id: EMAIL,
    subject: 'Your receipt 42',
    recipient: 'ana@example.com',
    sequence: 891247183724544,
  },
}

export const WEBHOOKS: Readonly<Record<string, Example>> = {
  createWebhook: { request, answer: { ...webhook, signing_secret: SECRET } },
  listWebhooks: { answer: list(webhook) },
  getWebhook: { answer: shown },
  updateWebhook: { request: { status: 'enabled', from: 'now' }, answer: shown },
  rotateWebhookSecret: {
    request: { grace: '24h' },
    answer: { ...webhook, previous_secret_until: TOMORROW, signing_secret: SECRET },
  },
  deleteWebhook: { answer: removed(webhook) },
  testWebhook: { request: {}, answer: tested },
  listWebhookEvents: { answer: list(failed) },
  getWebhookEvent: { answer: { ...failed, payload } },
  listWebhookAttempts: {
    answer: {
      object: 'list',
      has_more: false,
      data: [
        {
          id: `${failed.post_id}.2`,
          http_status_code: 302,
          response: '',
          sent_at: LATER,
          duration_ms: 41,
          cause: failed.cause,
        },
      ],
    },
  },
  replayWebhookEvent: {
    request: {},
    answer: {
      ...failed,
      status: 'pending',
      kind: 'replay',
      attempts: 0,
      ...{
        url: null,
        request_headers: null,
        http_status_code: null,
        duration_ms: null,
        response: null,
        cause: null,
      },
    },
  },
  replayWebhook: {
    request: { since: MADE, failed: true, dry_run: true },
    answer: {
      id: null,
      object: 'webhook_replay',
      webhook_id: WEBHOOK,
      failed: true,
      since: MADE,
      until: LATER,
      matched: 12,
      capped: false,
      dry_run: true,
    },
  },
}
