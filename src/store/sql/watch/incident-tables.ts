/**
 * NAME      incident-tables - what is known of hard bounces that may be the fault of a server
 */
import type { IncidentRow, PendingSuppression } from '../../port/tenants/incident.js'
import { table } from '../table.js'

export const INCIDENTS = table<IncidentRow>('incidents', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  upstreamId: 'plain',
  domain: 'plain',
  said: 'plain',
  addresses: 'plain',
  living: 'plain',
  outcomes: 'plain',
  createdAt: 'plain',
  decidedAt: 'plain',
  decision: 'plain',
})

export const PENDING = table<PendingSuppression>('pending_suppressions', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  email: 'plain',
  origin: 'plain',
  sourceId: 'plain',
  reason: 'plain',
  expiresAt: 'plain',
  createdAt: 'plain',
  incidentId: 'plain',
})
