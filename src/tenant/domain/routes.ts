/**
 * NAME      routes - the pools that a workspace has for domains of recipients, as somebody wishes them
 */
import type { FieldError } from '../../base/fault.js'
import { domainOf, isRecipient } from '../../mail/address.js'
import type { DomainRoute, Tenants } from '../../store/port/tenants.js'

/** What a door has found wrong already is absent, and not told again. */
export interface DomainRouteWish {
  readonly domain?: string | undefined
  /** Id or name. */
  readonly pool?: string | undefined
}

export const MOST_DOMAIN_ROUTES = 100

/** As domains of recipients are compared; null when it is none. A dot before it stays. */
export const routeDomain = (text: string): string | null => {
  const [, dot = '', name = ''] = /^(\.?)(.*?)\.?$/s.exec(text.trim()) ?? []
  const address = `postmaster@${name}`
  return isRecipient(address) && !name.startsWith('[') ? dot + domainOf(address) : null
}

/** What they mean. Adds to `errors` all that is wrong with them. */
export const domainRoutesOf = async (
  store: Pick<Tenants, 'pool'>,
  accountId: string,
  wish: readonly DomainRouteWish[],
  errors: FieldError[],
): Promise<readonly DomainRoute[]> => {
  const routes: DomainRoute[] = []
  const wrong = (field: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `body.routes${field}`, kind, message })
  if (wish.length > MOST_DOMAIN_ROUTES) wrong('', 'too_many', `must have at most ${MOST_DOMAIN_ROUTES}`)
  for (const [i, { domain: text, pool: ref }] of wish.slice(0, MOST_DOMAIN_ROUTES).entries()) {
    const domain = text === undefined ? undefined : routeDomain(text)
    const pool = ref === undefined ? undefined : await store.pool(accountId, ref)
    if (domain === null)
      wrong(`[${i}].domain`, 'format', 'must be example.com, or .example.com for the domains under it')
    else if (domain !== undefined && routes.some((route) => route.domain === domain))
      wrong(`[${i}].domain`, 'not_unique', 'must not repeat')
    if (pool === null) wrong(`[${i}].egress_pool_id`, 'unknown', 'names no egress pool')
    routes.push({ domain: domain ?? '', poolId: pool?.id ?? '' })
  }
  return routes
}
