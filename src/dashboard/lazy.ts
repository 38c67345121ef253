/**
 * NAME      lazy - the dashboard, once somebody looks
 *   A daemon that only relays never loads pages, style and scripts: their routes are added right before the first
 *   request that is not for the API is routed. Who comes by another name of this machine than base_url has is sent
 *   there, since forms are taken from one origin only.
 */
import { isIP } from 'node:net'
import type { Request } from '@hapi/hapi'
import type { DashboardOptions, DashboardSite } from './dashboard.js'

/** What needs no page of these: the API, and the links of readers. */
const API = /^\/(?:v\d+|u)(?:\/|$)/

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))

/** Where this request should have gone; null where it is right. */
const otherName = (request: Request, baseUrl: string): string | null => {
  const base = new URL(baseUrl)
  const { host } = request.raw.req.headers
  const asked = URL.canParse(`${base.protocol}//${host}`) ? new URL(`${base.protocol}//${host}`) : null
  if (asked === null || asked.host === base.host || asked.port !== base.port) return null
  if (!isLoopback(asked.hostname) || !isLoopback(base.hostname)) return null
  return baseUrl.replace(/\/+$/, '') + request.url.pathname + request.url.search
}

export const createSite = (options: DashboardOptions): DashboardSite => {
  let loading: Promise<DashboardSite> | null = null
  const load = (): Promise<DashboardSite> => {
    loading ??= import('./dashboard.js').then(({ createDashboard }) => createDashboard(options))
    return loading
  }
  return {
    plugin: {
      name: 'dashboard when asked for',
      register(server) {
        let ready: Promise<void> | null = null
        server.ext('onRequest', async (request, h) => {
          if (API.test(request.path)) return h.continue
          const elsewhere = request.method === 'get' ? otherName(request, options.baseUrl()) : null
          if (elsewhere !== null) return h.redirect(elsewhere).code(307).takeover()
          ready ??= load().then(({ plugin }) => server.register(plugin))
          await ready
          return h.continue
        })
      },
    },
    page: async (request, h) => (await load()).page(request, h),
    missing: async (request, h) => (await load()).missing(request, h),
  }
}
