/**
 * NAME      installation - what this Postern says of itself
 * DESCRIPTION
 *   What a client must be configured with apart from its key; the state of the queue and how many pools and webhooks fail, in
 *   one cheap question; which daemons share the store; every error, in a table; and the API as OpenAPI. The errors are public:
 *   a client that could not authenticate must be able to read why, and the `type` of every problem leads there.
 */

import Joi from 'joi'
import { FAULTS, Fault, type FaultCode } from '../../base/fault.js'
import { isLoopback } from '../../base/network.js'
import type { Page } from '../../lifecycle/page.js'
import * as record from '../../record/queue-state.js'
import { queueStateRecord } from '../../record/queue-state.js'
import { mayDo } from '../../tenant/rights.js'
import { type Deps, scopeOf, statesOf } from '../deps.js'
import { type Endpoint, GET, param } from '../endpoint.js'
import * as shapes from '../shapes/installation.js'
import { typeUrl } from '../wire/problem.js'

export const installation = (deps: Deps, baseUrl: () => string): readonly Endpoint[] => [
  GET('/v1/installation', {
    id: 'getInstallation',
    summary: 'Where clients reach this Postern, over HTTP and SMTP',
    description: 'Ports are those that it really listens on.',
    access: 'any',
    workspace: 'none',
    answers: { 200: shapes.installation },
    async handle() {
      const { hostname, submission, bounce } = deps.config
      const open = deps.door?.addresses ?? []
      return {
        status: 200,
        body: {
          object: 'installation',
          base_url: baseUrl(),
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

export const summary = (deps: Deps): readonly Endpoint[] => [
  GET('/v1/summary', {
    id: 'getSummary',
    summary: 'Whether mail flows, and how many pools and webhooks fail',
    description:
      'Of the account, or of the workspace of X-Workspace-Id; at most a second old. Figures are of live mail; `live` and `test` say it in sentences. A pool is down while no upstream of it takes mail, also after a restart.',
    access: 'session',
    workspace: 'optional',
    answers: { 200: shapes.summary },
    async handle(call) {
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

export const cluster = ({ store }: Deps): readonly Endpoint[] => [
  GET('/v1/cluster', {
    id: 'getCluster',
    summary: 'Which daemons share this database, and how they are doing',
    description:
      'A daemon that is not heard of for 30 seconds is taken over by another one, and is not listed any more. With SQLite there is one.',
    access: 'session',
    workspace: 'none',
    answers: { 200: shapes.cluster },
    async handle() {
      const [writers, state] = await Promise.all([store.writers(), store.serverState()])
      const facts = { system: store.system, writers, putBack: state?.putBack ?? null }
      return { status: 200, body: record.cluster(facts) }
    },
  }),
]

const entry = (baseUrl: string, code: FaultCode) => {
  const { http, smtp, title, description, remedy, retryable } = FAULTS[code]
  return { code, type: typeUrl(baseUrl, code), status: http, title, description, remedy, retryable, smtp }
}

export const catalogue = (baseUrl: () => string): readonly Endpoint[] => {
  const entries = () => (Object.keys(FAULTS) as FaultCode[]).map((code) => entry(baseUrl(), code))
  return [
    GET('/errors', {
      id: 'listErrors',
      summary: 'Every error that this API can answer',
      description: 'JSON, or a page for `Accept: text/html`. Needs no credential.',
      access: 'public',
      hasPage: true,
      workspace: 'none',
      answers: { 200: shapes.errorCatalogue },
      handle: async () => ({
        status: 200,
        body: { object: 'error_catalog', version: 'v1', errors: entries() },
      }),
    }),
    GET('/errors/{code}', {
      id: 'getError',
      summary: 'One error type',
      description:
        'Where the `type` of a problem leads. JSON, or a page for `Accept: text/html`. Needs no credential.',
      access: 'public',
      hasPage: true,
      workspace: 'none',
      answers: { 200: shapes.errorType },
      faults: ['error_type.not_found'],
      async handle(call) {
        const found = entries().find(({ code }) => code === param(call, 'code'))
        if (!found) throw new Fault('error_type.not_found')
        return { status: 200, body: found }
      },
    }),
  ]
}

/** The given endpoints, and the one that describes them and itself. */
export const withDocument = (
  endpoints: readonly Endpoint[],
  baseUrl: () => string,
  isOpen: boolean,
): readonly Endpoint[] => {
  let text: string | null = null
  const written = async (): Promise<string> => {
    const { openApi } = await import('../openapi/document.js')
    text ??= JSON.stringify(openApi(all, baseUrl(), 'v1'))
    return text
  }
  const own: Endpoint = GET('/v1/openapi.json', {
    id: 'getOpenApi',
    summary: 'This API as OpenAPI 3.1',
    description: 'Made from the running code: what it does not say is not there.',
    access: 'any',
    workspace: 'none',
    answers: { 200: () => Joi.object().unknown() },
    handle: async () => ({ status: 200, body: await written() }),
  })
  const open: Endpoint = GET('/docs/openapi.json', {
    id: 'getOpenDocument',
    summary: 'This API as OpenAPI 3.1, without a credential',
    description: 'The same as /v1/openapi.json. It is here unless `docs: members` is set.',
    access: 'public',
    workspace: 'none',
    answers: { 200: () => Joi.object().unknown() },
    handle: async () => ({
      status: 200,
      body: await written(),
      headers: {
        'content-disposition': 'attachment; filename="postern-openapi.json"',
        'x-content-type-options': 'nosniff',
      },
    }),
  })
  const all: readonly Endpoint[] = [...endpoints, own, ...(isOpen ? [open] : [])]
  return all
}
