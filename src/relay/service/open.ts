/**
 * NAME      open - a connection to the service of an upstream
 * DESCRIPTION
 *   The host comes from a table, by region or domain; another only where the settings name it (`relay.http_endpoints`),
 *   never by the API. TLS from the first byte, its certificate checked for that host.
 */
import type { Config } from '../../config/config.js'
import type { UpstreamRow, UpstreamService } from '../../store/port/tenants.js'
import { serviceHost } from '../../tenant/service.js'
import { upstreamText } from '../../tenant/upstream.js'
import type { Timeouts } from '../dialogue/connection.js'
import {
  openSecureSocket,
  type Patience,
  SetupFailure,
  type SetupTimeouts,
  type Target,
} from '../dialogue/session.js'
import { ServiceConnection } from './connection.js'
import { mailgun } from './mailgun.js'
import type { Service } from './service.js'
import { ses } from './ses.js'

export const SERVICE_OF: Readonly<Record<UpstreamService, Service>> = { ses, mailgun }

/** By how the URL of an upstream begins: `ses+https://eu-west-1`. */
export type Endpoints = Readonly<Record<string, string>>

export const endpointsOf = ({ http_endpoints }: Pick<Config['relay'], 'http_endpoints'>): Endpoints =>
  Object.fromEntries(http_endpoints.map(({ upstream, url }) => [upstream, url]))

interface Ways {
  readonly endpoints?: Endpoints | undefined
  readonly timeouts: Timeouts & SetupTimeouts
  readonly tick: () => number
  /** Our leases are surely ours now; else nothing may be sent. */
  readonly mayGo: () => boolean
}

/** Rejects with SetupFailure only. */
export const openService = async (
  row: UpstreamRow & { readonly service: UpstreamService },
  target: Target,
  { endpoints, ...ways }: Ways,
  patience?: Patience,
): Promise<ServiceConnection> => {
  const { login } = target
  if (typeof login?.secret !== 'string') throw new SetupFailure('auth', 'it has no key', null)
  const url = new URL(endpoints?.[upstreamText(row)] ?? `https://${serviceHost(row)}`)
  const place = {
    name: row.host,
    host: url.host,
    prefix: url.pathname.replace(/\/$/, ''),
    login: { user: login.user, secret: login.secret },
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? 443 : Number(url.port)
  const at: Target = { ...target, host, port, tls: 'implicit', login: null }
  const socket = await openSecureSocket(at, ways.timeouts, patience)
  return new ServiceConnection(socket, { service: SERVICE_OF[row.service], place, ...ways })
}
