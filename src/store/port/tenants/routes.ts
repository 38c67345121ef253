/**
 * NAME      routes - which pool takes the mail of a workspace, by the domain of its recipient
 * DESCRIPTION
 *   `example.com` is that domain alone, `.example.com` all domains under it. Of those that fit the longest
 *   counts; where none fits, it is the pool of the workspace. Domains are in lower case and in A-labels.
 */
import { domainOf } from '../../../mail/address.js'

export interface DomainRoute {
  readonly domain: string
  readonly poolId: string
}

export interface Routing {
  readonly poolId: string
  readonly routes: readonly DomainRoute[]
}

export const poolFor = ({ poolId, routes }: Routing, address: string): string => {
  if (routes.length === 0) return poolId
  const domain = domainOf(address)
  let best: DomainRoute | null = null
  for (const route of routes) {
    const fits = route.domain.startsWith('.') ? domain.endsWith(route.domain) : domain === route.domain
    if (fits && route.domain.length > (best?.domain.length ?? 0)) best = route
  }
  return best?.poolId ?? poolId
}

/** Whether any mail of the workspace may go there. */
export const isRoutedTo = ({ poolId, routes }: Routing, id: string | undefined): boolean =>
  poolId === id || routes.some((route) => route.poolId === id)
