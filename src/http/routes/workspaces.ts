/**
 * NAME      workspaces - sending tenants of the account
 *   A workspace's own key sees its workspace and nothing of the others.
 */
import Joi from 'joi'
import { type FieldError, throwInvalid } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { WORKSPACE, workspaceRecord } from '../../resource/tenants.js'
import {
  ALARM_LIMITS,
  ALARMS,
  type Alarm,
  MOST_SOFT_BOUNCES,
  MOST_SOFT_DAYS,
  SOFT_KINDS,
  type SoftLimits,
} from '../../store/port/alarms.js'
import type { WorkspaceRow } from '../../store/port/tenants.js'
import {
  type AlarmsWish,
  MOST_DOMAIN_ROUTES,
  MOST_STATISTICS_TAGS,
  type WorkspaceWish,
} from '../../tenant/workspace.js'
import type { HttpDeps } from '../deps.js'
import { GET, listing, PATCH, POST, param, type RouteRow, removing } from '../endpoint.js'
import {
  asRead,
  body,
  clearable,
  membersOf,
  need,
  notAsRead,
  nullable,
  object,
  oneOf,
  orNull,
  record,
  settable,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from '../shapes/common.js'

const MEANS: Readonly<Record<Alarm, string>> = {
  complaints: 'Recipients who complained within 24 hours, of those tried',
  hard_bounces: 'Recipients who do not exist, within an hour, of those tried',
  deferrals:
    'Recipients refused for now in an answer, within an hour, of those tried; greylisting does not count',
}

const share = () => Joi.number().min(0.0001).max(1).description('A share: 0.003 is 0.3 %')
const least = () => Joi.number().integer().min(1).max(1_000_000).description('Fewer than this are no alarm')

/** A limit, or none. */
const limitFor = (alarm: Alarm, limit: Joi.ObjectSchema) => {
  const { rate, atLeast } = ALARM_LIMITS[alarm]
  return Joi.alternatives(Joi.string().valid('off'), limit).description(
    `${MEANS[alarm]}; ${rate * 100} % and ${atLeast} unless it says otherwise`,
  )
}

const wishedLimit = shapeOf(() => ({ rate: orNull(share()), at_least: orNull(least()) }))
const readLimit = shapeOf(() => ({ rate: share().required(), at_least: least().required() }))

const wishedAlarms = shape(() =>
  Joi.object<AlarmsWish>(
    Object.fromEntries(ALARMS.map((alarm) => [alarm, orNull(limitFor(alarm, wishedLimit()))])),
  ),
)

const tags = () =>
  Joi.array<readonly string[]>()
    .items(Joi.string().max(256))
    .max(MOST_STATISTICS_TAGS)
    .description('Names of tags whose values statistics count apart, from now on')

const softLimits = () =>
  Joi.object<SoftLimits>(
    Object.fromEntries(
      SOFT_KINDS.map((kind) => [
        kind,
        Joi.object({
          bounces: Joi.number().integer().min(1).max(MOST_SOFT_BOUNCES).required(),
          days: Joi.number().integer().min(0).max(MOST_SOFT_DAYS).required(),
        }),
      ]),
    ),
  ).description(
    'An address is suppressed after so many soft bounces of that kind, if the first is so many days older than the last and it took no mail between; {} for none. Mail older than its retention does not count',
  )

const route = shapeOf(() => ({
  domain: need(Joi.string().max(256)),
  egress_pool_id: need(Joi.string().max(100)),
}))

const routes = () =>
  Joi.array<readonly (TypeOf<typeof route> | undefined)[]>()
    .items(route())
    .max(MOST_DOMAIN_ROUTES)
    .description(
      'Pools for domains of recipients: `example.com` is that domain, `.example.com` all under it; the longest that fits counts',
    )

const fields = shape(() =>
  settable(WORKSPACE, {
    slug: orNull(Joi.string().max(63)),
    egress_pool_id: clearable(Joi.string().max(100)),
    routes: orNull(routes()),
    default_from: clearable(Joi.string().max(1_000)),
    alarms: orNull(wishedAlarms()),
    suppress_soft: orNull(softLimits()),
    statistics: orNull(object({ tags: orNull(tags()) })),
  }),
)

const workspaceBody = body(() => ({
  name: need(orNull(Joi.string().max(200))),
  ...fields(),
}))

const workspaceChangeShape = body(() => ({
  id: asRead.text(),
  object: asRead.text(),
  name: orNull(Joi.string().max(200)),
  is_default: asRead.flag(),
  ...fields(),
  alarmed: orNull(Joi.array().description('As it was read; it can not be changed here')),
  suspended: orNull(Joi.boolean()),
  suspended_at: asRead.text(),
  suspended_reason: clearable(Joi.string().max(200)).description(
    'With `"suspended": true`: why, for whoever runs this',
  ),
  created_at: asRead.text(),
  managed: asRead.managed(),
}))
type WorkspaceChange = TypeOf<typeof workspaceChangeShape>

const READ_WORKSPACE = ['id', 'object', 'is_default'] as const

const alarmCause = shape(() =>
  Joi.object({
    reason: Joi.string().required(),
    title: Joi.string().required(),
    count: Joi.number().integer().required(),
    of: Joi.number().integer().required(),
    domain: nullable(Joi.string()),
  }).description(
    'The most frequent reason, in a word and in plain words: so often among the newest of those counted, at most 1,000, at most a minute ago; and the domain of most of those recipients, where one has more than half. Of complaints it is the type of feedback. null: nothing is known',
  ),
)

const workspaceShape = record('Workspace', () =>
  membersOf(WORKSPACE, {
    routes: routes().required(),
    alarms: Joi.object(
      Object.fromEntries(ALARMS.map((alarm) => [alarm, limitFor(alarm, readLimit()).required()])),
    ).required(),
    suppress_soft: softLimits().required(),
    alarmed: Joi.array()
      .items(
        Joi.object({
          alarm: need(oneOf(...ALARMS)),
          since: time(),
          count: Joi.number().integer().required(),
          tried: Joi.number().integer().required(),
          cause: nullable(alarmCause()),
        }),
      )
      .required()
      .description(
        'The alarms that stand: since when, and what was counted at the last look, a second or two ago',
      ),
    statistics: Joi.object({ tags: tags().required() }).required(),
  }),
)

/** Its slug, so that nobody deletes another one than he means. */
const confirmationShape = shapeOf(() => ({
  confirm: Joi.string().allow('').max(100).description('The slug of the workspace'),
}))

const wishOf = (body: WorkspaceChange): WorkspaceWish => ({
  ...camel(body),
  pool: body.egress_pool_id,
  routes: body.routes?.map((one) => ({ domain: one?.domain, pool: one?.egress_pool_id })),
  statisticsTags: body.statistics?.tags,
})

const wrongWithChange = async (
  { tenants }: HttpDeps,
  body: WorkspaceChange,
  old: WorkspaceRow,
): Promise<readonly FieldError[]> => [
  ...notAsRead(body, READ_WORKSPACE, [workspaceRecord(old)]),
  ...(await tenants.wrongWithWorkspace(old.accountId, wishOf(body), old.id)),
]

/** One confirms by the slug. */
const wrongWithConfirm = ({ slug }: WorkspaceRow, confirm = ''): readonly FieldError[] => {
  if (confirm === slug) return []
  const kind = confirm === '' ? 'missing' : 'format'
  return [{ field: 'query.confirm', kind, message: `must be the slug of the workspace: ${slug}` }]
}

export const workspaces: readonly RouteRow[] = [
  POST('/v1/workspaces', {
    id: 'createWorkspace',
    cli: 'workspace create',
    summary: 'Make a workspace',
    description:
      "Without `egress_pool_id` it has a pool of its own, which uses the upstreams of the default workspace's pool until it is given some. Needs a live platform key or a session.",
    access: 'platform',
    workspace: 'none',
    locates: true,
    body: workspaceBody,
    answers: { 201: workspaceShape },
    alsoWrong: ({ body }, _, { principal }, deps) =>
      deps.tenants.wrongWithWorkspace(principal.accountId, wishOf(body), null),
    async handle({ principal, body }, deps) {
      const wish = { ...wishOf(body), name: body.name }
      const row = await deps.tenants.createWorkspace(principal.accountId, wish)
      return { status: 201, body: workspaceRecord(row), headers: { location: `/v1/workspaces/${row.id}` } }
    },
  }),

  listing({
    id: 'listWorkspaces',
    cli: 'workspace list',
    path: '/v1/workspaces',
    summary: 'Workspaces, newest first',
    description: 'A platform key and a session see all of the account; the key of a workspace sees its own.',
    access: 'any',
    workspace: 'none',
    of: workspaceShape,
    rows: ({ principal: { accountId, workspaceId, scope } }, deps) => ({
      fetch: (page) => deps.store.workspaces(accountId, page, workspaceId),
      render: (row) => workspaceRecord(row, scope),
    }),
  }),
  GET('/v1/workspaces/{id}', {
    id: 'getWorkspace',
    cli: 'workspace show',
    summary: 'One workspace',
    description: "By id or slug. One that is not there and one that is not the caller's are the same answer.",
    access: 'any',
    workspace: 'none',
    answers: { 200: workspaceShape },
    faults: ['workspace.not_found'],
    async handle(call, deps) {
      const { tenants } = deps
      const id = await tenants.workspaceForRead(call.principal, param(call, 'id'))
      const row = await tenants.findWorkspace(call.principal.accountId, id ?? '')
      return { status: 200, body: workspaceRecord(row, call.principal.scope) }
    },
  }),

  PATCH('/v1/workspaces/{id}', {
    id: 'updateWorkspace',
    cli: 'workspace update',
    summary: 'Change a workspace',
    description:
      'What is left out stays as it is. `suspended: true` takes no more mail and holds what waits; `false` goes on with it. Mail that waits moves along to another pool. Of `alarms` each limit may stand alone. Needs a live platform key or a session.',
    access: 'platform',
    workspace: 'none',
    body: workspaceChangeShape,
    answers: { 200: workspaceShape },
    faults: ['workspace.not_found'],
    async alsoWrong({ body }, _, call, deps) {
      const old = await deps.store.workspace(call.principal.accountId, param(call, 'id'))
      return old === null ? [] : wrongWithChange(deps, body, old)
    },
    async handle(call, deps) {
      const { accountId } = call.principal
      const old = await deps.tenants.findWorkspace(accountId, param(call, 'id'))
      throwInvalid(await wrongWithChange(deps, call.body, old))
      const row = await deps.tenants.updateWorkspace(accountId, old.id, wishOf(call.body))
      return { status: 200, body: workspaceRecord(row) }
    },
  }),

  removing({
    id: 'deleteWorkspace',
    cli: 'workspace delete',
    path: '/v1/workspaces/{id}',
    summary: 'Delete a workspace: its keys end, what waits is dropped, its people are erased within an hour',
    description:
      'Cannot be undone. Scheduled mail is canceled and what waits is bounced, without reports to its senders. The default workspace cannot be deleted.',
    access: 'session',
    workspace: 'none',
    query: confirmationShape,
    of: workspaceShape,
    object: 'workspace',
    faults: ['resource.conflict'],
    async alsoWrong({ query }, _, call, deps) {
      const row = await deps.store.workspace(call.principal.accountId, param(call, 'id'))
      return row === null ? [] : wrongWithConfirm(row, query.confirm)
    },
    async remove({ principal, query }, ref, deps) {
      const row = await deps.tenants.findWorkspace(principal.accountId, ref)
      throwInvalid(wrongWithConfirm(row, query.confirm))
      await deps.tenants.deleteWorkspace(row, `deleted by session ${principal.id}`)
      return row
    },
  }),
]
