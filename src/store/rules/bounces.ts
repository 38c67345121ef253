/**
 * NAME      bounces - what bounces say of an address, and of a server
 * DESCRIPTION
 *   Beside lifecycle/incident.ts and port/watch/soft-bounces.ts: what both engines ask. Pure, but for ids.
 */
import { newId } from '../../base/id.js'
import type { Outcome } from '../../lifecycle/facts.js'
import type { Refusals } from '../../lifecycle/incident.js'
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

/** Whether it is a share of something: what an upstream answered of a domain. */
export const isAnswer = ({
  source,
  seen,
  attempt,
  mta,
}: Pick<Outcome, 'source' | 'seen' | 'attempt' | 'mta'>) =>
  source === 'smtp' &&
  (seen === 'accepted' || seen === 'rejected' || (seen === 'postponed' && attempt === 1)) &&
  Boolean(mta?.upstreamId)

/** What hard bounces have in common that are counted together. */
export const causeOf = (accountId: string, upstreamId: string | null, domain: string, said: string): string =>
  JSON.stringify([accountId, upstreamId, domain, said])

/** One that begins on a list with this bounce. */
export const openedIncident = (
  { row: { accountId, email, createdAt }, said }: HardBounce,
  list: string,
  upstreamId: string | null,
  { addresses, living, outcomes }: Refusals,
): IncidentRow => ({
  ...{
    id: newId('inc', createdAt),
    accountId,
    workspaceId: list,
    upstreamId,
    domain: storedDomain(email),
    said,
  },
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
