/**
 * NAME      installation - what this Postern says of itself
 *   What a client must be configured with apart from its key; the state of the queue and how many pools and webhooks fail, in
 *   one cheap question; which daemons share the store; every error, in a table; and the API as OpenAPI. The errors are public:
 *   a client that could not authenticate must be able to read why, and the `type` of every problem leads there.
 */
import Joi from 'joi'
import { FAULTS, Fault, type FaultCode } from '../../base/fault.js'
import { isLoopback } from '../../base/network.js'
import type { Page } from '../../lifecycle/page.js'
import * as records from '../../record/queue.js'
import { queueStateRecord } from '../../record/queue.js'
import { mayDo } from '../../tenant/rights.js'
import type { HttpDeps } from '../deps.js'
import { GET, param, type RouteRow, scopeOf, statesOf } from '../endpoint.js'
import { count, record, shapeOf, timestamp } from '../shapes/common.js'
import { typeUrl } from '../wire/problem.js'
import { queueStateShape } from './queue.js'

const installationShape = record('Installation', () => ({
  object: Joi.string().valid('installation').required(),
  base_url: Joi.string().required().description('Of the API, without a slash at its end'),
  hostname: Joi.string().required().description('What it calls itself'),
  bounce_domain: Joi.string()
    .required()
    .description('Of return paths: bounces come back to it, and SPF is checked for it'),
  submission: Joi.array()
    .items(
      Joi.object({
        host: Joi.string()
          .required()
          .description('`hostname`, or an address of loopback where it listens nowhere else'),
        port: Joi.number().integer().required(),
        tls: Joi.string().valid('starttls', 'implicit', 'none').required(),
        ip_credentials: Joi.boolean().required().description('Takes address ranges instead of logins'),
      }),
    )
    .required()
    .description('Where mail is taken over SMTP'),
}))

const summaryShape = record('Summary', () => ({
  object: Joi.string().valid('summary').required(),
  waiting: count().description('Recipients of live mail that are due or under way'),
  held: count().description('Recipients of live mail that are held'),
  pools_down: count(),
  webhooks_failing: count(),
  live: queueStateShape(),
  test: queueStateShape(),
  setup_failed: Joi.array()
    .items(Joi.string())
    .allow(null)
    .required()
    .description(
      'For owners: what is wrong with the files that this daemon was to apply at its start, each with file and line',
    ),
}))

const lag = () => count().description('How long ago it was last heard of, in milliseconds')

const writer = shapeOf(() => ({
  number: count(),
  role: Joi.string()
    .valid('main', 'relay', 'followers', 'command')
    .required()
    .description('The part of a daemon that writes, or a command beside the daemons'),
  epoch: count().description('How often the number was taken, or taken away'),
  lag_ms: lag(),
}))

const daemon = shapeOf(() => ({
  id: Joi.string().required().description('That of its data folder'),
  host: Joi.string().allow('').required(),
  version: Joi.string().allow('').required(),
  settings: Joi.string()
    .allow(null)
    .required()
    .description('A digest of the settings that all daemons must have alike'),
  pools: Joi.array()
    .items(Joi.string())
    .allow(null)
    .required()
    .description('The pools whose mail it carries (`relay.pools`); null: all'),
  share: Joi.object({ part: Joi.number().integer().min(1).required(), of: count() })
    .allow(null)
    .required()
    .description(
      'Which part of the limits of an upstream it has, in a pool that all relays serve; null: it carries no mail',
    ),
  lag_ms: lag(),
  writers: Joi.array().items(writer()).required(),
}))

const clusterShape = record('Cluster', () => ({
  object: Joi.string().valid('cluster').required(),
  store: Joi.string()
    .required()
    .description('The database: `sqlite`, which one daemon has to itself, or `postgresql`'),
  same_settings: Joi.boolean()
    .required()
    .description('False: a daemon has settings that the others do not have'),
  put_back: Joi.object({ at: timestamp().required(), lost_ms: count() })
    .allow(null)
    .required()
    .description(
      'When a daemon last found the database as it was earlier, and how much of the past was missing: mail acknowledged then may be lost',
    ),
  daemons: Joi.array().items(daemon()).required(),
}))

const errorTypeShape = record('ErrorType', () => ({
  code: Joi.string().required(),
  type: Joi.string().required(),
  status: Joi.number().integer().required(),
  title: Joi.string().required(),
  description: Joi.string().required().description('The cause'),
  remedy: Joi.string().required().description('What to do about it'),
  retryable: Joi.boolean().required(),
  smtp: Joi.string().required().description('Basic and enhanced code of the same refusal over SMTP'),
}))

const errorCatalogueShape = record('ErrorCatalogue', () => ({
  object: Joi.string().valid('error_catalog').required(),
  version: Joi.string().valid('v1').required(),
  errors: Joi.array().items(errorTypeShape()).required(),
}))

export const installation: readonly RouteRow[] = [
  GET('/v1/installation', {
    id: 'getInstallation',
    cli: { none: 'the configuration says it: config print' },
    summary: 'Where clients reach this Postern, over HTTP and SMTP',
    description: 'Ports are those that it really listens on.',
    access: 'any',
    workspace: 'none',
    answers: { 200: installationShape },
    async handle(_, deps) {
      const { hostname, submission, bounce } = deps.config
      const open = deps.door?.addresses ?? []
      return {
        status: 200,
        body: {
          object: 'installation',
          base_url: deps.baseUrl(),
          hostname,
          bounce_domain: bounce.domain,
          submission: submission.map(({ host, port, tls, ip_credentials }, at) => ({
            host: isLoopback(host) ? host : hostname,
            port: open[at]?.port ?? port,
            tls,
            ip_credentials,
          })),
        },
      }
    },
  }),
]

/** More of them are not counted. */
const ALL: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

export const summary: readonly RouteRow[] = [
  GET('/v1/summary', {
    id: 'getSummary',
    cli: 'status',
    summary: 'Whether mail flows, and how many pools and webhooks fail',
    description:
      'Of the account, or of the workspace of X-Workspace-Id; at most a second old. Figures are of live mail; `live` and `test` say it in sentences. A pool is down while no upstream of it takes mail, also after a restart.',
    access: 'session',
    workspace: 'optional',
    answers: { 200: summaryShape },
    async handle(call, deps) {
      const scope = scopeOf(call)
      const { accountId, workspaceId } = scope
      const [{ live, test }, hooks] = await Promise.all([
        statesOf(deps, { accountId, workspaceId, isOperator: true }),
        deps.store.endpoints({ ...scope, failing: true }, ALL),
      ])
      const now = deps.clock.now()
      const body = {
        object: 'summary',
        waiting: live.waiting,
        held: live.held,
        pools_down: live.down,
        webhooks_failing: hooks.rows.length,
        live: queueStateRecord(live, now),
        test: queueStateRecord(test, now),
        setup_failed: mayDo(call.principal, 'listAudit') ? (deps.setupFailed?.() ?? null) : null,
      }
      return { status: 200, body }
    },
  }),
]

export const cluster: readonly RouteRow[] = [
  GET('/v1/cluster', {
    id: 'getCluster',
    cli: { none: 'cluster show' },
    summary: 'Which daemons share this database, and how they are doing',
    description:
      'A daemon that is not heard of for 30 seconds is taken over by another one, and is not listed any more. With SQLite there is one.',
    access: 'session',
    workspace: 'none',
    answers: { 200: clusterShape },
    async handle(_, { store }) {
      const [writers, state] = await Promise.all([store.writers(), store.serverState()])
      const facts = { system: store.system, writers, putBack: state?.putBack ?? null }
      return { status: 200, body: records.cluster(facts) }
    },
  }),
]

const entry = (baseUrl: string, code: FaultCode) => {
  const { http, smtp, title, description, remedy, retryable } = FAULTS[code]
  return { code, type: typeUrl(baseUrl, code), status: http, title, description, remedy, retryable, smtp }
}

const entries = (baseUrl: string) => (Object.keys(FAULTS) as FaultCode[]).map((code) => entry(baseUrl, code))

const OPEN = { access: 'public', workspace: 'none' } as const

export const catalogue: readonly RouteRow[] = [
  GET('/errors', {
    ...OPEN,
    id: 'listErrors',
    cli: { none: 'documentation, for whoever programs against the API' },
    summary: 'Every error that this API can answer',
    description: 'JSON, or a page for `Accept: text/html`. Needs no credential.',
    hasPage: true,
    answers: { 200: errorCatalogueShape },
    handle: async (_, { baseUrl }) => ({
      status: 200,
      body: { object: 'error_catalog', version: 'v1', errors: entries(baseUrl()) },
    }),
  }),
  GET('/errors/{code}', {
    ...OPEN,
    id: 'getError',
    cli: { none: 'documentation, for whoever programs against the API' },
    summary: 'One error type',
    description:
      'Where the `type` of a problem leads. JSON, or a page for `Accept: text/html`. Needs no credential.',
    hasPage: true,
    answers: { 200: errorTypeShape },
    faults: ['error_type.not_found'],
    async handle(call, { baseUrl }) {
      const found = entries(baseUrl()).find(({ code }) => code === param(call, 'code'))
      if (!found) throw new Fault('error_type.not_found')
      return { status: 200, body: found }
    },
  }),
]

const anything = () => Joi.object().unknown()

/** The given rows, and those that describe them and themselves. */
export const withDocument = (rows: readonly RouteRow[], isOpen: boolean): readonly RouteRow[] => {
  let text: string | null = null
  const written = async ({ baseUrl }: HttpDeps): Promise<string> => {
    const { openApi } = await import('../openapi/document.js')
    text ??= JSON.stringify(openApi(all, baseUrl(), 'v1'))
    return text
  }
  const own = GET('/v1/openapi.json', {
    id: 'getOpenApi',
    cli: { none: 'documentation, for whoever programs against the API' },
    summary: 'This API as OpenAPI 3.1',
    description: 'Made from the running code: what it does not say is not there.',
    access: 'any',
    workspace: 'none',
    answers: { 200: anything },
    handle: async (_, deps) => ({ status: 200, body: await written(deps) }),
  })
  const open = GET('/docs/openapi.json', {
    ...OPEN,
    id: 'getOpenDocument',
    cli: { none: 'documentation, for whoever programs against the API' },
    summary: 'This API as OpenAPI 3.1, without a credential',
    description: 'The same as /v1/openapi.json. It is here unless `docs: members` is set.',
    answers: { 200: anything },
    handle: async (_, deps) => ({
      status: 200,
      body: await written(deps),
      headers: {
        'content-disposition': 'attachment; filename="postern-openapi.json"',
        'x-content-type-options': 'nosniff',
      },
    }),
  })
  const all: readonly RouteRow[] = [...rows, own, ...(isOpen ? [open] : [])]
  return all
}
