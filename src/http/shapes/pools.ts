/**
 * NAME      pool - the shapes of egress pools and their members
 * DESCRIPTION
 *   Passwords go in and never come out: a member reads back `has_auth`. Files for
 *   authorities, client certificates and tokens are named on the host only (CLI), so that no one can make
 *   the daemon open a path from outside.
 */
import Joi from 'joi'
import { WARMUP_MOST } from '../../lifecycle/warmup.js'
import { POOL, UPSTREAM, WARMUP } from '../../resource/tenants.js'
import { MECHANISMS } from '../../tenant/upstream.js'
import {
  anyBody,
  asRead,
  body,
  clearable,
  count,
  id,
  membersOf,
  need,
  nullable,
  object,
  oneOf,
  orNull,
  record,
  type Shape,
  shape,
  shapeOf,
  type TypeOf,
  time,
  why,
} from './common.js'

const oauth = shapeOf(() => ({
  token_url: need(Joi.string().max(500)).description('Token endpoint (RFC 6749)'),
  client_id: need(Joi.string().max(500)),
  client_secret: orNull(Joi.string().max(5_000)),
  refresh_token: orNull(Joi.string().max(5_000)).description(
    'Tokens are got by it, and not for the client itself; a new one that the endpoint gives is kept',
  ),
  scope: clearable(Joi.string().max(1_000)),
}))

const memberFields = shape(() => ({
  id: orNull(Joi.string().max(100)),
  service: clearable(oneOf(...UPSTREAM.service.words)).description(
    'A service that takes mail by HTTPS, in place of a mail server; its key is `auth`: of `ses` the access key as `user` and `pass`, of `mailgun` the user `api` and the key as `pass`',
  ),
  host: need(orNull(Joi.string().max(255))).description(
    'Of a mail server its name or address; of `ses` the region, of `mailgun` the sending domain',
  ),
  region: clearable(oneOf(...UPSTREAM.region.words)).description('Where Mailgun keeps the domain; null: us'),
  port: orNull(Joi.number().integer().min(1).max(65_535)),
  tls: orNull(oneOf(...UPSTREAM.tls.words)),
  fingerprint: clearable(Joi.string().max(200)),
  auth: clearable(
    object({
      user: need(Joi.string().max(255)),
      pass: orNull(Joi.string().max(1_000)),
      oauth: orNull(oauth()).description('In place of a password'),
    }),
  ),
  auth_mechanism: clearable(oneOf(...MECHANISMS)).description(
    'The only one to sign in by; null: what is offered and fits',
  ),
  bind: clearable(Joi.array<readonly string[]>().items(Joi.string().max(64)).max(16)).description(
    'Addresses of this machine to connect from, IPv4 and IPv6; null: as the system chooses',
  ),
  helo: clearable(Joi.string().max(255)).description('What EHLO says; null: `hostname` of the settings'),
  warmup: clearable(
    object({
      first: need(Joi.number().integer().min(1).max(WARMUP_MOST.first)),
      days: need(Joi.number().integer().min(1).max(WARMUP_MOST.days)).description(
        'On so many days with mail there is a limit',
      ),
    }),
  ).description(
    'While it is new: `first` recipients on its first day with mail, twice as many on each further one, any number after `days`. Null ends it; set again it begins anew, and other numbers go on',
  ),
  weight: orNull(Joi.number().integer().min(1).max(1_000)),
  priority: orNull(Joi.number().integer().min(0).max(1_000)),
  max_connections: orNull(Joi.number().integer().min(1).max(1_000)),
  messages_per_connection: orNull(Joi.number().integer().min(1).max(1_000_000)),
  rate: clearable(Joi.number().min(0.001).max(100_000)),
  state: orNull(oneOf(...UPSTREAM.state.words)),
}))

export const READ_MEMBER = ['has_auth', 'has_oauth', 'has_ca', 'has_client_certificate'] as const
export const READ_POOL = ['id', 'object', 'kind', 'follows'] as const

const member = shapeOf(memberFields)
export type MemberBody = TypeOf<typeof member>
const changedMember: Shape<Joi.ObjectSchema<MemberBody>> = shapeOf(() => ({
  ...memberFields(),
  has_auth: asRead.flag(),
  has_oauth: asRead.flag(),
  has_ca: asRead.flag(),
  has_client_certificate: asRead.flag(),
}))

const members = (item: Joi.ObjectSchema<MemberBody>) =>
  orNull(Joi.array<readonly MemberBody[]>().items(item).max(100))
const fields = shape(() => ({
  return_path: orNull(oneOf(...POOL.return_path.words)),
  notify_success: orNull(Joi.boolean()),
  relayed_means: orNull(oneOf(...POOL.relayed_means.words)),
}))

const name = () => orNull(Joi.string().max(63))

export const poolBody = body(() => ({ name: need(name()), members: members(member()), ...fields() }))
export const poolChange = body(() => ({
  id: asRead.text(),
  object: asRead.text(),
  name: name(),
  kind: asRead.text(),
  follows: asRead.text(),
  members: members(changedMember()),
  ...fields(),
  created_at: asRead.text(),
  updated_at: asRead.text(),
  managed: asRead.managed(),
  reason: why(),
}))
export type PoolChange = TypeOf<typeof poolChange>

export const pool = record('EgressPool', () => membersOf(POOL))

const memberRecord = shape(() => {
  const { id, host, port, tls, state } = UPSTREAM
  return membersOf({ id, host, port, tls, state })
})

export const poolHealth = record('EgressPoolHealth', () => ({
  id: id('pool'),
  object: Joi.string().valid('egress_pool_health').required(),
  status: Joi.string().valid('ok', 'degraded', 'down').required(),
  since: nullable(Joi.string()).description('Since when no upstream of it has taken mail, where it is down'),
  says: Joi.string().required().description('How it does and what waits in it, in some sentences'),
  queue: Joi.object({
    due: count(),
    leased: count(),
    waiting: count(),
    held: count(),
    oldest_due_at: nullable(Joi.string()),
  }).required(),
  members: Joi.array()
    .items(
      Joi.object({
        ...memberRecord(),
        breaker: nullable(Joi.string().valid('closed', 'open', 'half-open')),
        connections: nullable(Joi.number().integer()),
        under_way: nullable(Joi.number().integer()),
        limit: nullable(Joi.number().integer()),
        full: nullable(Joi.string().valid('warmup', 'rate', 'connections')).description(
          'Which of its limits is used up now',
        ),
        warmup: nullable(Joi.object(membersOf(WARMUP))).description(
          'How much it may be given while it is new; null: as much as there is',
        ),
        last_success_at: nullable(Joi.string()),
        last_error: nullable(
          Joi.object({
            at: time(),
            stage: Joi.string().required(),
            message: Joi.string().required(),
          }),
        ),
      }),
    )
    .required(),
}))

export const poolTest = anyBody(() => ({
  upstream_id: orNull(Joi.string().max(100)).description('Only this one'),
}))

export const poolTested = record('EgressPoolTest', () => ({
  object: Joi.string().valid('list').required(),
  data: Joi.array()
    .items(
      Joi.object({
        id: id('up'),
        service: nullable(oneOf(...UPSTREAM.service.words)),
        host: Joi.string().required(),
        port: Joi.number().integer().required(),
        ok: Joi.boolean().required(),
        stage: nullable(Joi.string().valid('connect', 'greeting', 'tls', 'auth')).description(
          'Where it failed',
        ),
        said: Joi.string().required().description('What failed, or what is offered'),
        tls: nullable(Joi.string()).description('Such as TLSv1.3; null in clear'),
        dsn: Joi.boolean().required().description('Whether it makes delivery reports (RFC 3461)'),
        offers: Joi.array().items(Joi.string()).required(),
        auth_offered: Joi.array()
          .items(Joi.string())
          .required()
          .description('Mechanisms of AUTH, as far as it came'),
        auth_mechanism: nullable(Joi.string()).description(
          'The one that signs in; null without a login, or when none that is offered will do',
        ),
        ms: count(),
      }),
    )
    .required(),
}))
