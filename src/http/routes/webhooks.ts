/**
 * NAME      webhooks - where events are posted to, and what was posted
 *   An endpoint belongs to the workspace and mode of who made it, or to the account as a whole; for others it does not exist. A
 *   workspace key sees those of its workspace and mode; a platform key those of its mode in all of the account, or in the
 *   workspace that it names; a session both modes. Its signing secret is answered when it is made and when it is rotated.
 *   Failures, replays and tests are shown in full, what was taken at once in brief, for four days.
 */
import Joi from 'joi'
import { Fault, type FieldError, readValid, throwInvalid, wrongBy } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { CHANGE_TYPES } from '../../mail/event-type.js'
import { MarkCodec } from '../../record/event.js'
import {
  shownWebhook,
  WEBHOOK,
  WEBHOOK_EVENT,
  WEBHOOK_REPLAY,
  webhookAttempts,
  webhookEvent,
  webhook as webhookRecord,
  webhookReplay,
} from '../../resource/webhook.js'
import { type KnownEndpoint, type ListedPost, WEBHOOK_FORMATS } from '../../store/port/hooks.js'
import type { LogRow } from '../../store/port/log.js'
import { type Principal, seesBodies, visibleMode } from '../../tenant/principal.js'
import { bodyOf } from '../../webhook/body.js'
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  GRACE_MS,
  type HookDeps,
  ignoredOf,
  type Made,
  MOST_GRACE_MS,
  rotateSecret,
  updateEndpoint,
  type WishedEndpoint,
  wrongWithChange,
  wrongWithEndpoint,
} from '../../webhook/endpoints.js'
import {
  behindOf,
  endpointsBehind,
  findEvent,
  postsOf,
  type ReplayWish,
  replayEvent,
  replayMany,
  testEndpoint,
} from '../../webhook/repost.js'
import type { HttpDeps } from '../deps.js'
import {
  ANYBODY,
  type Call,
  GET,
  listing,
  PATCH,
  POST,
  param,
  type RouteRow,
  removing,
  scopeOf,
} from '../endpoint.js'
import {
  anyBody,
  asRead,
  body,
  membersOf,
  need,
  notAsRead,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  settable,
  shape,
  shapeOf,
  span,
  type TypeOf,
  time,
} from '../shapes/common.js'
import { readSpan, readTime } from '../wire/values.js'
import { nothingShape } from './domains.js'

const events = () =>
  Joi.array<readonly string[]>()
    .items(Joi.string().max(100))
    .min(1)
    .max(100)
    .description(
      `What to tell: ${CHANGE_TYPES.join(', ')}; \`email.delivery_delayed\` is \`email.deferred\` under Resend's name; \`*\` is everything, also what is yet to come. Changes only: orders of an operator and email.reported stand in GET /v1/events, and are not told`,
    )

const tag = shapeOf(() => ({ name: need(Joi.string().max(256)), value: orNull(Joi.string().max(256)) }))

const filters = shape(() => ({
  domains: orNull(
    Joi.array<readonly string[]>()
      .items(Joi.string().max(255))
      .max(100)
      .description('Only of mail that is from these domains; empty: of all. What is about no mail passes'),
  ),
  tags: orNull(
    Joi.array<readonly (TypeOf<typeof tag> | undefined)[]>()
      .items(tag())
      .max(20)
      .description('Only of mail that has one of these tags; without a value, whatever its value is'),
  ),
  auth: orNull(
    Joi.string()
      .allow('')
      .max(500)
      .description(
        'With format `postmark`: `user:password`, sent as a Basic login with every post, kept sealed, and never shown again; empty takes it away',
      ),
  ),
  headers: orNull(
    Joi.object<Readonly<Record<string, string>>>()
      .pattern(Joi.string().max(100), Joi.string().max(2000))
      .description(
        'At most 10 header fields to send with every post, such as a token. They take the place of all that were, are kept sealed, and never shown again',
      ),
  ),
  ...settable(WEBHOOK, {}),
}))

const url = () =>
  Joi.string()
    .max(2048)
    .description(
      'An https URL without a login (`auth` is for that), on a public address; redirects are not followed',
    )

const endpointBody = body(() => ({
  endpoint: need(orNull(url())),
  events: need(orNull(events())),
  format: orNull(
    oneOf(...WEBHOOK_FORMATS).description(
      'In whose words events are posted, for receivers that were written for that service; default `standard`. Types without a counterpart there are not posted',
    ),
  ),
  mode: orNull(
    oneOf('live', 'test').description(
      'Whose mail it is told of; a session chooses, default `live`; of a key its own',
    ),
  ),
  ...filters(),
}))

type NewEndpoint = TypeOf<typeof endpointBody>

/** Members of the record that a client may send back as it read them. */
const READ_ENDPOINT = ['id', 'object', 'format', 'workspace_id', 'mode', 'created_at'] as const
const PASSED_OVER = [
  'public_key',
  'has_auth',
  'header_names',
  'disabled_reason',
  'disabled_at',
  'previous_secret_until',
  'health',
  'waiting',
  'behind',
  'ignored',
  'updated_at',
] as const

const endpointChangeShape = body(() => ({
  endpoint: orNull(url()),
  events: orNull(events()),
  ...filters(),
  status: orNull(oneOf('enabled', 'disabled')),
  from: orNull(
    oneOf('now').description('With `"status": "enabled"`: go on from now, and pass over what waits'),
  ),
  ...Object.fromEntries(READ_ENDPOINT.map((name) => [name, asRead.text()])),
  managed: asRead.managed(),
  ...Object.fromEntries(
    PASSED_OVER.map((name) => [name, Joi.any().description('As it was read; passed over')]),
  ),
}))
type EndpointChange = TypeOf<typeof endpointChangeShape>

const rotationBody = anyBody(() => ({
  grace: span(MOST_GRACE_MS).description(
    'How long the secret so far signs as well: `90m`, `24h`, at most `7d`; or seconds. Default `24h`',
  ),
}))
type Rotation = TypeOf<typeof rotationBody>

const members = shape(() => membersOf(WEBHOOK))

const ignoredShape = shape(() =>
  Joi.array()
    .items(Joi.string())
    .description(
      'Types that were asked for and are never told: a well-known API has them, but this one not, such as `email.opened`, or the format has no counterpart of them. Absent where there were none',
    ),
)

const behind = shape(() =>
  Joi.object({
    events: Joi.number().integer().required(),
    capped: Joi.boolean().required().description('Counting ended early: there are more'),
  }).description('Events of the log that it has not come to yet; null: its place is older than the log'),
)

const webhookShape = record('Webhook', () => ({
  ...members(),
  behind: nullable(behind()),
  ignored: ignoredShape(),
}))
const madeWebhookShape = record('MadeWebhook', () => ({
  ...members(),
  signing_secret: Joi.string()
    .pattern(/^whsec_/)
    .required()
    .description('Shown now, and never again'),
  ignored: ignoredShape(),
}))

const postsQuery = shapeOf(() => ({
  ...pageQuery(),
  failed: Joi.string().valid('true', 'false').description('`true`: only those whose last try failed'),
}))

const replayBody = anyBody(() => ({
  since: orNull(
    Joi.string()
      .max(200)
      .description(
        'From where: an ISO 8601 time with its zone, a day, or a mark of the log; needed without `failed`',
      ),
  ),
  until: orNull(Joi.string().max(64).description('Up to when events happened, default now')),
  failed: orNull(Joi.boolean().description('Only events that were given up, and were not posted since')),
  dry_run: orNull(Joi.boolean().description('Only count')),
}))
type ReplayBody = TypeOf<typeof replayBody>

const postMembers = shape(() =>
  membersOf(WEBHOOK_EVENT, {
    request_headers: nullable(Joi.object().pattern(Joi.string(), Joi.string())).description(
      'As sent; values of own headers are hidden',
    ),
  }),
)

const webhookEventShape = record('WebhookEvent', postMembers)
const shownWebhookEventShape = record('ShownWebhookEvent', () => ({
  ...postMembers(),
  payload: nullable(
    Joi.alternatives(Joi.object().unknown(), Joi.array().items(Joi.object().unknown())),
  ).description(
    'What is posted, a list in format `sendgrid`; null once the event is no longer kept. What a signature adds at each try is left out',
  ),
}))

const attemptListShape = record('WebhookAttemptList', () => ({
  object: Joi.string().valid('list').required(),
  has_more: Joi.boolean().required(),
  data: Joi.array()
    .items(
      Joi.object({
        id: Joi.string().required(),
        http_status_code: Joi.number().integer().required().description('0: no answer came'),
        response: Joi.string().allow('').required().description('Kept of the last try only'),
        sent_at: time(),
        duration_ms: Joi.number().integer().required(),
        cause: nullable(Joi.string()),
      }),
    )
    .required(),
}))

const replayedShape = record('WebhookReplay', () => membersOf(WEBHOOK_REPLAY))

const hookDeps = ({ store, tenants, clock, dialler }: HttpDeps): HookDeps => ({
  store,
  clock,
  dialler,
  pepper: tenants.deps.pepper,
})

/** The endpoint of a path; throws webhook.not_found. */
const endpointOf = (
  deps: HttpDeps,
  call: Pick<Call, 'principal' | 'workspace' | 'params'>,
): Promise<KnownEndpoint> => findEndpoint(deps, scopeOf(call), param(call, 'id'))

const wishOf = ({ endpoint, tags, ...body }: Partial<Omit<NewEndpoint, 'mode'>>): WishedEndpoint => ({
  ...camel(body),
  url: endpoint,
  tags: tags?.map((tag) => ({ name: tag?.name ?? '', value: tag?.value ?? null })),
})

const changeOf = ({ status, from, ...body }: EndpointChange) => ({ ...wishOf(body), status, from })

const made = ({ row, secret }: Made) => ({ ...webhookRecord(row), signing_secret: secret })

/** Beside the record: what was asked for and is never told. */
const ignored = (
  { events }: Pick<EndpointChange, 'events'>,
  { format }: Pick<KnownEndpoint, 'format'>,
): { readonly ignored?: readonly string[] } => {
  const names = ignoredOf(events ?? [], format)
  return names.length === 0 ? {} : { ignored: names }
}

/** With what waits in the log, which enabling would begin with. */
const shown = async (deps: HttpDeps, row: KnownEndpoint) => shownWebhook(row, await behindOf(deps, row))

const graceOf = (body: Partial<Rotation> | undefined, errors: FieldError[]): number =>
  body?.grace === undefined ? GRACE_MS : readSpan('body.grace', body.grace, MOST_GRACE_MS, errors)

const wrongWithMode = (mode: 'live' | 'test' | undefined, principal: Principal): readonly FieldError[] => {
  const own = visibleMode(principal)
  if (own === null || mode === undefined || mode === own) return []
  return [{ field: 'body.mode', kind: 'forbidden', message: `this key is told of ${own} mail only` }]
}

/** All that is wrong with a change, also of what can not be changed. */
const wrongWith = async (
  deps: HttpDeps,
  row: KnownEndpoint,
  body: EndpointChange,
): Promise<readonly FieldError[]> => [
  ...notAsRead(body, READ_ENDPOINT, [webhookRecord(row)]),
  ...(await wrongWithChange(deps, row, changeOf(body))),
]

export const webhooks: readonly RouteRow[] = [
  POST('/v1/webhooks', {
    ...ANYBODY,
    id: 'createWebhook',
    cli: 'webhook create',
    summary: 'Post events to an endpoint of yours',
    description:
      'From now on, signed as Standard Webhooks 1.0.0 says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. `signing_secret` is shown here and at rotation only. It belongs to the workspace and mode of the key; a platform key or session names a workspace in X-Workspace-Id, or makes one for all of the account. A private address, and a name that leads to one, are refused. Answer 2xx within 15 s; anything else is tried again for 76 hours. With `format` it is posted and signed as that service does it, and by Standard Webhooks as well.',
    locates: true,
    body: endpointBody,
    answers: { 201: madeWebhookShape },
    alsoWrong: async ({ body }, _, { workspace, principal }, deps) => [
      ...wrongWithMode(body.mode, principal),
      ...(await wrongWithEndpoint(wishOf(body), workspace === null, deps.dialler.refusal)),
    ],
    async handle(call, deps) {
      const { principal, workspace, body } = call
      throwInvalid(wrongWithMode(body.mode, principal))
      const owner = {
        accountId: principal.accountId,
        workspaceId: workspace?.id ?? null,
        mode: body.mode ?? principal.mode,
      }
      const wish = { ...wishOf(body), url: body.endpoint, events: body.events }
      const done = await createEndpoint(hookDeps(deps), owner, wish)
      return {
        status: 201,
        body: { ...made(done), ...ignored(body, done.row) },
        headers: { location: `/v1/webhooks/${done.row.id}` },
      }
    },
  }),

  listing({
    ...ANYBODY,
    id: 'listWebhooks',
    cli: 'webhook list',
    path: '/v1/webhooks',
    summary: 'Endpoints of webhooks, newest first',
    description:
      'Without secrets. Of each, `behind` is counted up to 100 events; asked for alone, up to 1,000.',
    of: webhookShape,
    rows(call, deps) {
      const scope = scopeOf(call)
      return {
        filters: { workspaceId: scope.workspaceId },
        fetch: (page) => endpointsBehind(deps, scope, page),
        render: (row) => shownWebhook(row, row.behind),
      }
    },
  }),
  GET('/v1/webhooks/{id}', {
    ...ANYBODY,
    id: 'getWebhook',
    cli: 'webhook show',
    summary: 'One endpoint of webhooks',
    description: 'How it does, and what it has not come to yet.',
    answers: { 200: webhookShape },
    faults: ['webhook.not_found'],
    handle: async (call, deps) => ({ status: 200, body: await shown(deps, await endpointOf(deps, call)) }),
  }),

  PATCH('/v1/webhooks/{id}', {
    ...ANYBODY,
    id: 'updateWebhook',
    cli: 'webhook update',
    summary: 'Change, disable or enable an endpoint',
    description:
      'What is left out stays as it is; but where `endpoint` becomes another server, `auth` and `headers` that are kept must be given anew, or empty. Enabled again, it goes on from where it stood (`behind` shows what that is), or with `"from": "now"` from now.',
    body: endpointChangeShape,
    answers: { 200: webhookShape },
    faults: ['webhook.not_found'],
    alsoWrong: async ({ body }, _, call: Pick<Call, 'principal' | 'workspace' | 'params'>, deps) =>
      wrongWith(deps, await endpointOf(deps, call), body),
    async handle(call, deps) {
      const { body } = call
      const old = await endpointOf(deps, call)
      throwInvalid(await wrongWith(deps, old, body))
      const row = await updateEndpoint(hookDeps(deps), scopeOf(call), old.id, changeOf(body))
      return { status: 200, body: { ...(await shown(deps, row)), ...ignored(body, row) } }
    },
  }),
  POST('/v1/webhooks/{id}/signing-secret/rotate', {
    ...ANYBODY,
    id: 'rotateWebhookSecret',
    cli: 'webhook rotate',
    summary: 'Make a new signing secret',
    description:
      'Until `grace` is over each post has two signatures, under the new secret and under the one before, and either verifies it.',
    body: rotationBody,
    answers: { 200: madeWebhookShape },
    faults: ['webhook.not_found'],
    alsoWrong: ({ body }) => wrongBy((errors) => graceOf(body, errors)),
    async handle(call, deps) {
      const ms = readValid((errors) => graceOf(call.body, errors))
      const done = await rotateSecret(hookDeps(deps), scopeOf(call), param(call, 'id'), ms)
      return { status: 200, body: made(done) }
    },
  }),

  removing({
    ...ANYBODY,
    id: 'deleteWebhook',
    cli: 'webhook delete',
    path: '/v1/webhooks/{id}',
    summary: 'Remove an endpoint, and all that is known of its posts',
    description: 'What waits for it is posted no more.',
    of: webhookShape,
    object: 'webhook',
    remove: (call, id, deps) => deleteEndpoint(hookDeps(deps), scopeOf(call), id),
  }),
]

/** What is known of an event at an endpoint, oldest first; throws event.not_found where nothing is. */
const postsOfEvent = async (
  deps: HttpDeps,
  row: KnownEndpoint,
  eventId: string,
): Promise<{
  readonly posts: readonly ListedPost[]
  readonly about: LogRow | null
  readonly payload: unknown
}> => {
  const logged = await findEvent(deps, row, eventId).catch((error: unknown) => {
    if (error instanceof Fault) return null
    throw error
  })
  const posts = await deps.store.postsOfEvent(row.id, eventId, logged?.createdAt ?? null)
  if (posts.length === 0) throw new Fault('event.not_found')
  return { posts, about: logged, payload: logged === null ? null : JSON.parse(bodyOf(logged, row)) }
}

/** A mark of the log, or a time; adds to `errors` when it is neither. */
const sinceOf = (
  { tenants, store }: HttpDeps,
  { principal, body }: Call<unknown, ReplayBody | undefined>,
  errors: FieldError[],
): ReplayWish['since'] => {
  const { since: text, failed } = body ?? {}
  if (text === undefined) {
    if (failed !== true)
      errors.push({ field: 'body.since', kind: 'missing', message: 'is required without failed' })
    return null
  }
  const mark = new MarkCodec(tenants.deps.pepper).read(text, principal.accountId)
  if (mark !== null && store.isMark(mark)) {
    if (failed === true)
      errors.push({ field: 'body.since', kind: 'format', message: 'must be a time, with failed' })
    return { mark }
  }
  const at = readTime('body.since', text, errors)
  return at === null ? null : { at }
}

/** The oldest mark goes out signed, as all do. */
const signed = ({ tenants }: HttpDeps, { principal }: Pick<Call, 'principal'>, error: unknown): unknown => {
  if (!(error instanceof Fault) || error.options.oldest === undefined) return error
  const oldest = new MarkCodec(tenants.deps.pepper).write(error.options.oldest, principal.accountId)
  return new Fault(error.code, { ...error.options, oldest })
}

export const webhookPosts: readonly RouteRow[] = [
  listing({
    ...ANYBODY,
    id: 'listWebhookEvents',
    cli: 'webhook events',
    path: '/v1/webhooks/{id}/events',
    summary: 'What was posted to an endpoint, newest first',
    description: 'Kept for four days. Failures, replays and tests in full; what was taken at once in brief.',
    query: postsQuery,
    of: webhookEventShape,
    faults: ['webhook.not_found'],
    async rows(call, deps) {
      const row = await endpointOf(deps, call)
      const failed = call.query.failed === 'true'
      const mayRead = seesBodies(call.principal, deps.config.identity.viewers_see)
      return {
        name: `webhook-events ${row.id}`,
        filters: { failed: failed ? 'true' : null },
        fetch: (page) => postsOf(deps, row, failed, page),
        // an endpoint may answer with what it was posted
        render: (post) => ({ ...webhookEvent(post), ...(mayRead ? {} : { response: null }) }),
      }
    },
  }),
  GET('/v1/webhooks/{id}/events/{event}', {
    ...ANYBODY,
    id: 'getWebhookEvent',
    cli: { none: 'webhook events --json has all but the payload, and events show it' },
    summary: 'One event at an endpoint, with what is posted',
    description: 'What is said of the exchange is said of the latest try.',
    answers: { 200: shownWebhookEventShape },
    faults: ['webhook.not_found', 'event.not_found'],
    async handle(call, deps) {
      const row = await endpointOf(deps, call)
      const { posts, about, payload } = await postsOfEvent(deps, row, param(call, 'event'))
      const latest = posts.at(-1)
      if (latest === undefined) throw new Fault('event.not_found')
      return { status: 200, body: { ...webhookEvent({ ...latest, about }), payload } }
    },
  }),

  GET('/v1/webhooks/{id}/events/{event}/attempts', {
    ...ANYBODY,
    id: 'listWebhookAttempts',
    cli: { none: 'webhook events shows how often and the last of them' },
    summary: 'The tries of one event at an endpoint, newest first',
    description: 'The latest twelve of each post; of its last one the answer is kept.',
    answers: { 200: attemptListShape },
    faults: ['webhook.not_found', 'event.not_found'],
    async handle(call, deps) {
      const { posts } = await postsOfEvent(deps, await endpointOf(deps, call), param(call, 'event'))
      return { status: 200, body: { object: 'list', has_more: false, data: webhookAttempts(posts) } }
    },
  }),

  POST('/v1/webhooks/{id}/test', {
    ...ANYBODY,
    id: 'testWebhook',
    cli: 'webhook test',
    summary: 'Post a `webhook.test` now, and see what comes back',
    description: 'The answer is 200 however it went; `status` says how, and `cause` why. Takes up to 15 s.',
    body: nothingShape,
    answers: { 200: webhookEventShape },
    faults: ['webhook.not_found'],
    async handle(call, deps) {
      const post = await testEndpoint(hookDeps(deps), await endpointOf(deps, call))
      return { status: 200, body: webhookEvent(post) }
    },
  }),

  POST('/v1/webhooks/{id}/events/{event}/replay', {
    ...ANYBODY,
    id: 'replayWebhookEvent',
    cli: 'webhook replay',
    summary: 'Post one event again',
    description:
      'Under the same `webhook-id`. Any event that the log still has, and that the endpoint may see.',
    body: nothingShape,
    answers: { 202: webhookEventShape },
    faults: ['webhook.not_found', 'event.not_found', 'resource.conflict'],
    async handle(call, deps) {
      const row = await endpointOf(deps, call)
      const post = await replayEvent(hookDeps(deps), row, param(call, 'event'))
      return { status: 202, body: webhookEvent(post) }
    },
  }),
  POST('/v1/webhooks/{id}/replay', {
    ...ANYBODY,
    id: 'replayWebhook',
    cli: 'webhook replay',
    summary: 'Post many events again',
    description:
      'Those that the endpoint asks for now and that happened since a time or a mark, or with `failed` those that were given up; `rate` of the endpoint a second. One replay at a time: else 409 `resource.conflict`, reason `replaying`; reason `disabled` while the endpoint is. With `dry_run` they are only counted, and the answer is 200.',
    body: replayBody,
    answers: { 200: replayedShape, 202: replayedShape },
    faults: ['webhook.not_found', 'resource.conflict', 'event.expired'],
    async handle(call, deps) {
      const row = await endpointOf(deps, call)
      const errors: FieldError[] = []
      const since = sinceOf(deps, call, errors)
      const until = readTime('body.until', call.body?.until, errors) ?? deps.clock.now()
      throwInvalid(errors)
      const failed = call.body?.failed === true
      const isDry = call.body?.dry_run === true
      const done = await replayMany(hookDeps(deps), row, { since, until, failed }, isDry).catch(
        (error: unknown) => {
          throw signed(deps, call, error)
        },
      )
      return { status: isDry ? 200 : 202, body: webhookReplay(done) }
    },
  }),
]
