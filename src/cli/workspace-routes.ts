/**
 * NAME      workspace-routes - which pool takes mail to which domain, as people write it
 */
import type { DomainRoute } from '../store/port/tenants.js'
import { type DomainRouteWish, routeDomain } from '../tenant/domain/routes.js'
import { usage } from './exit.js'

export const ROUTE_OPTION = {
  route: {
    type: 'string',
    array: true,
    describe:
      'Pool for mail to a domain, such as example.com=eu, or .example.com=eu for those under it; repeatable; example.com=none takes it away',
  },
} as const

/** Those that are, with what is written of some. */
export const routesIn = (
  texts: readonly string[] | undefined,
  before: readonly DomainRoute[],
): readonly DomainRouteWish[] | undefined => {
  if (texts === undefined) return undefined
  const named = new Map<string, string>()
  for (const text of texts) {
    const [, name = '', pool = ''] = /^([^=]+)=(.+)$/.exec(text.trim()) ?? []
    const domain = routeDomain(name)
    if (domain === null || pool === '')
      throw usage(`--route: ${text} is not a domain and a pool such as example.com=eu`)
    if (named.has(domain)) throw usage(`--route: ${domain} is given twice`)
    named.set(domain, pool)
  }
  const kept = before.map(({ domain, poolId }) => ({ domain, pool: named.get(domain) ?? poolId }))
  const known = new Set(before.map(({ domain }) => domain))
  const added = [...named]
    .filter(([domain]) => !known.has(domain))
    .map(([domain, pool]) => ({ domain, pool }))
  return [...kept, ...added].filter(({ pool }) => pool !== 'none')
}
