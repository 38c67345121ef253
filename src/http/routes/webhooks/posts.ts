/**
 * NAME      posts - what was posted to an endpoint, and posting it again
 * DESCRIPTION
 *   Failures, replays and tests are shown in full, what was taken at once in brief,
 *   for four days. A replay has the ids that the events had.
 */
import { Fault, type FieldError, invalid } from '../../../base/fault.js'
import { MarkCodec } from '../../../record/mark.js'
import { webhookAttempts, webhookEvent, webhookReplay } from '../../../record/webhook.js'
import type { KnownEndpoint, ListedPost } from '../../../store/port/hooks.js'
import { bodyOf } from '../../../webhook/body.js'
import {
  findEvent,
  type ReplayWish,
  replayEvent,
  replayMany,
  testEndpoint,
} from '../../../webhook/endpoint/replay.js'
import { type Deps, listing } from '../../deps.js'
import { type Call, type Endpoint, endpoint, param } from '../../endpoint.js'
import { nothing } from '../../shapes/operate/domain.js'
import * as shapes from '../../shapes/webhook/post.js'
import { readTime } from '../../wire/time.js'
import { endpointOf, hookDeps, PER_ENDPOINT } from './scope.js'

/** What is known of an event at an endpoint, oldest first; throws event.not_found where nothing is. */
const postsOf = async (
  deps: Deps,
  row: KnownEndpoint,
  eventId: string,
): Promise<{ readonly posts: readonly ListedPost[]; readonly payload: unknown }> => {
  const logged = await findEvent(deps, row, eventId).catch((error: unknown) => {
    if (error instanceof Fault) return null
    throw error
  })
  const posts = await deps.store.postsOfEvent(row.id, eventId, logged?.createdAt ?? null)
  if (posts.length === 0) throw new Fault('event.not_found')
  return { posts, payload: logged === null ? null : JSON.parse(bodyOf(logged, row)) }
}

const reading = (deps: Deps): readonly Endpoint[] => [
  listing(deps, {
    ...PER_ENDPOINT,
    id: 'listWebhookEvents',
    path: '/v1/webhooks/{id}/events',
    summary: 'What was posted to an endpoint, newest first',
    description: 'Kept for four days. Failures, replays and tests in full; what was taken at once in brief.',
    query: shapes.postsQuery,
    of: shapes.webhookEvent,
    faults: ['webhook.not_found'],
    async rows(call) {
      const { id } = await endpointOf(deps, call)
      const failed = call.query.failed === 'true'
      return {
        name: `webhook-events ${id}`,
        filters: { failed: failed ? 'true' : null },
        fetch: (page) => deps.store.posts(id, failed, page),
        render: webhookEvent,
      }
    },
  }),
  endpoint({
    ...PER_ENDPOINT,
    id: 'getWebhookEvent',
    method: 'GET',
    path: '/v1/webhooks/{id}/events/{event}',
    summary: 'One event at an endpoint, with what is posted',
    description: 'What is said of the exchange is said of the latest try.',
    answers: { 200: shapes.shownWebhookEvent },
    faults: ['webhook.not_found', 'event.not_found'],
    async handle(call) {
      const row = await endpointOf(deps, call)
      const { posts, payload } = await postsOf(deps, row, param(call, 'event'))
      const latest = posts.at(-1)
      if (latest === undefined) throw new Fault('event.not_found')
      return { status: 200, body: { ...webhookEvent(latest), payload } }
    },
  }),
]

const attempts = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...PER_ENDPOINT,
    id: 'listWebhookAttempts',
    method: 'GET',
    path: '/v1/webhooks/{id}/events/{event}/attempts',
    summary: 'The tries of one event at an endpoint, newest first',
    description: 'The latest twelve of each post; of its last one the answer is kept.',
    answers: { 200: shapes.attemptList },
    faults: ['webhook.not_found', 'event.not_found'],
    async handle(call) {
      const { posts } = await postsOf(deps, await endpointOf(deps, call), param(call, 'event'))
      return { status: 200, body: { object: 'list', has_more: false, data: webhookAttempts(posts) } }
    },
  }),
]

/** A mark of the log, or a time; adds to `errors` when it is neither. */
const sinceOf = (
  { tenants, store }: Deps,
  { principal, body }: Call<unknown, shapes.ReplayBody | undefined>,
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

const testing = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...PER_ENDPOINT,
    id: 'testWebhook',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    summary: 'Post a `webhook.test` now, and see what comes back',
    description: 'The answer is 200 however it went; `status` says how, and `cause` why. Takes up to 15 s.',
    body: nothing,
    answers: { 200: shapes.webhookEvent },
    faults: ['webhook.not_found'],
    async handle(call) {
      const post = await testEndpoint(hookDeps(deps), await endpointOf(deps, call))
      return { status: 200, body: webhookEvent(post) }
    },
  }),
]

const replaying = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...PER_ENDPOINT,
    id: 'replayWebhookEvent',
    method: 'POST',
    path: '/v1/webhooks/{id}/events/{event}/replay',
    summary: 'Post one event again',
    description:
      'Under the same `webhook-id`. Any event that the log still has, and that the endpoint may see.',
    body: nothing,
    answers: { 202: shapes.webhookEvent },
    faults: ['webhook.not_found', 'event.not_found', 'resource.conflict'],
    async handle(call) {
      const row = await endpointOf(deps, call)
      const post = await replayEvent(hookDeps(deps), row, param(call, 'event'))
      return { status: 202, body: webhookEvent(post) }
    },
  }),
  endpoint({
    ...PER_ENDPOINT,
    id: 'replayWebhook',
    method: 'POST',
    path: '/v1/webhooks/{id}/replay',
    summary: 'Post many events again',
    description:
      'Those that the endpoint asks for now and that happened since a time or a mark, or with `failed` those that were given up; `rate` of the endpoint a second. One replay at a time: else 409 `resource.conflict`, reason `replaying`; reason `disabled` while the endpoint is. With `dry_run` they are only counted, and the answer is 200.',
    body: shapes.replayBody,
    answers: { 200: shapes.replayed, 202: shapes.replayed },
    faults: ['webhook.not_found', 'resource.conflict', 'event.expired'],
    async handle(call) {
      const row = await endpointOf(deps, call)
      const errors: FieldError[] = []
      const since = sinceOf(deps, call, errors)
      const until = readTime('body.until', call.body?.until, errors) ?? deps.clock.now()
      if (errors.length > 0) throw invalid(errors)
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

/** The oldest mark goes out signed, as all do. */
const signed = ({ tenants }: Deps, { principal }: Pick<Call, 'principal'>, error: unknown): unknown => {
  if (!(error instanceof Fault) || error.options.oldest === undefined) return error
  const oldest = new MarkCodec(tenants.deps.pepper).write(error.options.oldest, principal.accountId)
  return new Fault(error.code, { ...error.options, oldest })
}

export const webhookPosts = (deps: Deps): readonly Endpoint[] => [
  ...reading(deps),
  ...attempts(deps),
  ...testing(deps),
  ...replaying(deps),
]
