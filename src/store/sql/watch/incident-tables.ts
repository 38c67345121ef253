/**
 * NAME      incident-tables - what is known of hard bounces that may be the fault of a server
 */
import type { IncidentRow } from '../../port/watch.js'
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
