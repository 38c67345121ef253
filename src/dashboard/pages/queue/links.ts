/**
 * NAME      links - to the page that says what an order would meet, before it is given
 */
import type { Visit } from '../../visit.js'

export const SCOPE_NAMES = ['workspace_id', 'egress_pool_id', 'domain', 'email_id'] as const
type ScopeName = (typeof SCOPE_NAMES)[number]
export type Scope = Readonly<Partial<Record<ScopeName, string>>>

export const VERBS = ['retry', 'hold', 'release', 'reroute', 'purge'] as const
export type QueueVerb = (typeof VERBS)[number]

/** Without a part it is about everything, or everything of the workspace in the URL. */
export const actLink = (visit: Visit, verb: QueueVerb, scope: Scope = {}): string =>
  visit.link('/queue/order', { verb, ...scope })
