/**
 * NAME      endpoints - where events are posted to
 * DESCRIPTION
 *   An endpoint belongs to the workspace and mode of who made it, or to the account
 *   as a whole; for others it does not exist. Its signing secret is answered when
 *   it is made and when it is rotated.
 */
import { type FieldError, invalid } from '../../../base/fault.js'
import { webhook as record, shownWebhook } from '../../../record/webhook.js'
import type { KnownEndpoint } from '../../../store/port/hooks.js'
import { type Principal, visibleMode } from '../../../tenant/principal.js'
import {
  createEndpoint,
  deleteEndpoint,
  GRACE_MS,
  type Made,
  MOST_GRACE_MS,
  rotateSecret,
  updateEndpoint,
  wrongWithChange,
} from '../../../webhook/endpoint/endpoints.js'
import { countAfter } from '../../../webhook/endpoint/replay.js'
import { type EndpointWish, ignoredOf, wrongWithEndpoint } from '../../../webhook/endpoint/wish.js'
import { type Deps, listing, removing } from '../../deps.js'
import { type Call, type Endpoint, endpoint, param } from '../../endpoint.js'
import { notAsRead } from '../../shapes/read-back.js'
import * as shapes from '../../shapes/webhook/endpoint.js'
import { readSpan } from '../../wire/time.js'
import { endpointOf, hookDeps, PER_ENDPOINT, scopeOf } from './scope.js'

/** A member that was not given is none. */
const given = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never

const wishOf = (body: shapes.EndpointChange): Partial<EndpointWish> =>
  given({
    url: body.endpoint,
    events: body.events,
    domains: body.domains,
    tags: body.tags?.map((tag) => ({ name: tag?.name ?? '', value: tag?.value ?? null })),
    headers: body.headers,
    fields: body.fields,
    maxInFlight: body.max_in_flight,
    replayRate: body.rate,
  }) as Partial<EndpointWish>

const made = ({ row, secret }: Made) => ({ ...record(row), signing_secret: secret })

/** Beside the record: what was asked for and is never told. */
const ignored = ({
  events,
}: Pick<shapes.EndpointChange, 'events'>): { readonly ignored?: readonly string[] } => {
  const names = ignoredOf(events ?? [])
  return names.length === 0 ? {} : { ignored: names }
}

/** With what waits in the log, which enabling would begin with. */
const shown = async (deps: Deps, row: KnownEndpoint) => {
  const counted = await countAfter(deps, row, row.state.mark)
  const behind = counted === 'gone' ? null : { events: counted.matched, capped: counted.isCapped }
  return shownWebhook(row, behind)
}

const graceOf = (body: Partial<shapes.Rotation> | undefined, errors: FieldError[]): number =>
  body?.grace === undefined ? GRACE_MS : readSpan('body.grace', body.grace, MOST_GRACE_MS, errors)

const wrongWithMode = (mode: 'live' | 'test' | undefined, principal: Principal): readonly FieldError[] => {
  const own = visibleMode(principal)
  if (own === null || mode === undefined || mode === own) return []
  return [{ field: 'body.mode', kind: 'forbidden', message: `this key is told of ${own} mail only` }]
}

const create = (deps: Deps): Endpoint =>
  endpoint({
    ...PER_ENDPOINT,
    id: 'createWebhook',
    method: 'POST',
    path: '/v1/webhooks',
    summary: 'Post events to an endpoint of yours',
    description:
      'From now on, signed as Standard Webhooks 1.0.0 says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. `signing_secret` is shown here and at rotation only. It belongs to the workspace and mode of the key; a platform key or session names a workspace in X-Workspace-Id, or makes one for all of the account. A private address, and a name that leads to one, are refused. Answer 2xx within 15 s; anything else is tried again for 76 hours.',
    locates: true,
    body: shapes.endpointBody,
    answers: { 201: shapes.madeWebhook },
    faults: [],
    alsoWrong: async ({ body }, _, { workspace, principal }) => [
      ...wrongWithMode(body.mode, principal),
      ...(await wrongWithEndpoint(wishOf(body), workspace === null, deps.dialler.refusal)),
    ],
    async handle(call) {
      const { principal, workspace, body } = call
      const wrong = wrongWithMode(body.mode, principal)
      if (wrong.length > 0) throw invalid(wrong)
      const owner = {
        accountId: principal.accountId,
        workspaceId: workspace?.id ?? null,
        mode: body.mode ?? principal.mode,
      }
      const wish = { ...wishOf(body), url: body.endpoint, events: body.events }
      const done = await createEndpoint(hookDeps(deps), owner, wish)
      return {
        status: 201,
        body: { ...made(done), ...ignored(body) },
        headers: { location: `/v1/webhooks/${done.row.id}` },
      }
    },
  })

const reading = (deps: Deps): readonly Endpoint[] => [
  listing(deps, {
    ...PER_ENDPOINT,
    id: 'listWebhooks',
    path: '/v1/webhooks',
    summary: 'Endpoints of webhooks, newest first',
    description: 'Without secrets.',
    of: shapes.webhook,
    rows(call) {
      const scope = scopeOf(call)
      return {
        filters: { workspaceId: scope.workspaceId },
        fetch: (page) => deps.store.endpoints(scope, page),
        render: record,
      }
    },
  }),
  endpoint({
    ...PER_ENDPOINT,
    id: 'getWebhook',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    summary: 'One endpoint of webhooks',
    description: 'How it does, and what it has not come to yet.',
    answers: { 200: shapes.shownWebhook },
    faults: ['webhook.not_found'],
    handle: async (call) => ({ status: 200, body: await shown(deps, await endpointOf(deps, call)) }),
  }),
]

/** All that is wrong with a change, also of what can not be changed. */
const wrongWith = async (
  deps: Deps,
  row: KnownEndpoint,
  body: shapes.EndpointChange,
): Promise<readonly FieldError[]> => [
  ...notAsRead(body, shapes.READ_ENDPOINT, [record(row)]),
  ...(await wrongWithChange(deps, row, {
    ...wishOf(body),
    ...given({ status: body.status, from: body.from }),
  })),
]

const changing = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...PER_ENDPOINT,
    id: 'updateWebhook',
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    summary: 'Change, disable or enable an endpoint',
    description:
      'What is left out stays as it is. Enabled again, it goes on from where it stood (`behind` shows what that is), or with `"from": "now"` from now.',
    body: shapes.endpointChange,
    answers: { 200: shapes.shownWebhook },
    faults: ['webhook.not_found'],
    alsoWrong: async ({ body }, _, call: Pick<Call, 'principal' | 'workspace' | 'params'>) =>
      wrongWith(deps, await endpointOf(deps, call), body),
    async handle(call) {
      const { body } = call
      const old = await endpointOf(deps, call)
      const wrong = await wrongWith(deps, old, body)
      if (wrong.length > 0) throw invalid(wrong)
      const wish = { ...wishOf(body), ...given({ status: body.status, from: body.from }) }
      const row = await updateEndpoint(hookDeps(deps), scopeOf(call), old.id, wish)
      return { status: 200, body: { ...(await shown(deps, row)), ...ignored(body) } }
    },
  }),
  endpoint({
    ...PER_ENDPOINT,
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/v1/webhooks/{id}/signing-secret/rotate',
    summary: 'Make a new signing secret',
    description:
      'Until `grace` is over each post has two signatures, under the new secret and under the one before, and either verifies it.',
    body: shapes.rotationBody,
    answers: { 200: shapes.madeWebhook },
    faults: ['webhook.not_found'],
    alsoWrong({ body }) {
      const errors: FieldError[] = []
      graceOf(body, errors)
      return errors
    },
    async handle(call) {
      const wrong: FieldError[] = []
      const ms = graceOf(call.body, wrong)
      if (wrong.length > 0) throw invalid(wrong)
      const done = await rotateSecret(hookDeps(deps), scopeOf(call), param(call, 'id'), ms)
      return { status: 200, body: made(done) }
    },
  }),
]

const removal = (deps: Deps): readonly Endpoint[] => [
  removing({
    ...PER_ENDPOINT,
    id: 'deleteWebhook',
    path: '/v1/webhooks/{id}',
    summary: 'Remove an endpoint, and all that is known of its posts',
    description: 'What waits for it is posted no more.',
    of: shapes.webhook,
    object: 'webhook',
    remove: (call, id) => deleteEndpoint(hookDeps(deps), scopeOf(call), id),
  }),
]

export const webhooks = (deps: Deps): readonly Endpoint[] => [
  create(deps),
  ...reading(deps),
  ...changing(deps),
  ...removal(deps),
]
