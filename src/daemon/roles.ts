/**
 * NAME      roles - which parts of a daemon run here
 *   Daemons on one database need not be alike: some take mail in, others carry it. A part that does not run here is built,
 *   since others ask it, and never started; what it would do another daemon does.
 */
import { createHash } from 'node:crypto'
import type { Config } from '../config/config.js'

export const ROLES = ['http', 'submission', 'bounce', 'relay', 'webhook'] as const
export type DaemonRole = (typeof ROLES)[number]

export const ALL_ROLES: ReadonlySet<DaemonRole> = new Set(ROLES)

/** From `http,submission`; null when there is another word in it. */
export const rolesOf = (text: string): ReadonlySet<DaemonRole> | null => {
  const words = text.split(',').map((word) => word.trim())
  const found = ROLES.filter((role) => words.includes(role))
  return words.every((word) => (ROLES as readonly string[]).includes(word)) ? new Set(found) : null
}

/** What all daemons of a database must have alike, in words. */
export const ALIKE =
  'base_url, default_from, bounce.domain, rate_limit, relay.retry, relay.lifetime, retention, identity.viewers_see'

/** A digest of it. */
export const settingsDigest = (config: Config): string => {
  const { base_url, default_from, bounce, rate_limit, relay, retention, identity } = config
  const alike = [
    ...[base_url, default_from, bounce.domain, rate_limit],
    ...[relay.retry, relay.lifetime, retention, identity.viewers_see],
  ]
  return createHash('sha256').update(JSON.stringify(alike)).digest('hex').slice(0, 8)
}
