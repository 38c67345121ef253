/**
 * NAME      bounces - what bounces say of an address, and of a server
 * DESCRIPTION
 *   Beside lifecycle/incident.ts and port/watch/soft-bounces.ts: what both engines ask. Pure, but for ids.
 */
import { newId } from '../../base/id.js'
import type { Outcome } from '../../lifecycle/facts.js'
import { INCIDENT_WINDOW_MS, type Refusals, SLOW_WINDOW_MS } from '../../lifecycle/incident.js'
import { normalizeAddress, storedDomain } from '../../mail/address.js'
import type { Notice } from '../port/log.js'
import type { HardBounce, IncidentRow } from '../port/tenants/incident.js'
import type { SuppressionRow } from '../port/tenants/tenants.js'
import type { SoftLimit, SoftLimits } from '../port/watch/soft-bounces.js'

const DAY = 86_400_000

/** The limit that an outcome counts against, or null. */
export const softLimitOf = ({ reason, detail }: Outcome, limits: SoftLimits): SoftLimit | null =>
  reason === null || detail?.class !== 'soft' ? null : (limits[reason as keyof SoftLimits] ?? null)

/** `first`: when the first of them was. */
export const isTooMuch = (
  limit: SoftLimit,
  seen: { readonly bounces: number; readonly first: number | null },
  now: number,
): boolean => seen.bounces >= limit.bounces && now - (seen.first ?? now) >= limit.days * DAY

export const softSuppression = (
  one: { readonly accountId: string; readonly workspaceId: string; readonly emailId: string },
  address: string,
  { reason }: Outcome,
  now: number,
): SuppressionRow => ({
  ...{ id: newId('sup', now), accountId: one.accountId, list: one.workspaceId },
  ...{ email: normalizeAddress(address), origin: 'soft_bounce', sourceId: one.emailId },
  ...{ reason, expiresAt: null, createdAt: now },
})

/** Numbers of the counters of what was sent, and what was refused for good, hard and soft (statistics/counters.ts). */
const ANSWERED: readonly number[] = [1, 5, 6]

/** Pairs of a counter and how often. */
export const answeredIn = (counts: readonly number[]): number =>
  counts.reduce((sum, n, i) => (i % 2 === 1 && ANSWERED.includes(counts[i - 1] ?? -1) ? sum + n : sum), 0)

/** What hard bounces have in common that are counted together. */
export interface Cause {
  readonly key: string
  readonly upstreamId: string | null
  /** '' of several. */
  readonly domain: string
  /** '' of several. */
  readonly said: string
  /** How long it is kept whom it met. */
  readonly keptMs: number
}

/** Of one bounce, the narrowest first: a text of a domain, the domain, and its upstream, where that is known. */
export const causesOf = (
  { row: { accountId, email }, said }: HardBounce,
  upstreamId: string | null,
): readonly Cause[] => {
  const domain = storedDomain(email)
  const of = { upstreamId, domain, said: '', keptMs: INCIDENT_WINDOW_MS }
  const byText = { ...of, key: JSON.stringify([accountId, upstreamId, domain, said]), said }
  const byDomain = { ...of, key: JSON.stringify([accountId, upstreamId, domain]) }
  if (upstreamId === null) return [byText, byDomain]
  const all = { ...of, key: JSON.stringify([accountId, upstreamId]), domain: '', keptMs: SLOW_WINDOW_MS }
  return [byText, byDomain, all]
}

/** One that begins on a list with this bounce. */
export const openedIncident = (
  { row: { accountId, createdAt } }: HardBounce,
  list: string,
  { upstreamId, domain, said }: Cause,
  { addresses, living, outcomes }: Refusals,
): IncidentRow => ({
  ...{ id: newId('inc', createdAt), accountId, workspaceId: list, upstreamId, domain, said },
  ...{ addresses, living, outcomes, createdAt, decidedAt: null, decision: null },
})

/** What was seen, as the wire has it. */
export const incidentFacts = (row: IncidentRow) => ({
  upstream_id: row.upstreamId,
  domain: row.domain,
  said: row.said,
  addresses: row.addresses,
  delivered_before: row.living,
  outcomes: row.outcomes,
})

export const incidentNotice = (row: IncidentRow): Notice => ({
  ...{ type: 'suppression.incident', accountId: row.accountId, workspaceId: row.workspaceId },
  ...{ mode: 'live', now: row.createdAt },
  data: { incident_id: row.id, ...incidentFacts(row) },
})
