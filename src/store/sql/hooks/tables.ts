/**
 * NAME      tables - webhooks, how far they are, and what was posted to them
 */
import type { EndpointRow, EndpointState, PostRow, ReplayRow } from '../../port/hooks.js'
import { table } from '../table.js'

export const WEBHOOKS = table<EndpointRow>('webhooks', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  mode: 'plain',
  url: 'plain',
  events: 'json',
  status: 'plain',
  disabledReason: 'plain',
  disabledAt: 'plain',
  secret: 'plain',
  previousSecret: 'plain',
  previousUntil: 'plain',
  headers: 'plain',
  headerNames: 'json',
  domains: 'json',
  tags: 'json',
  fields: 'plain',
  maxInFlight: 'plain',
  replayRate: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
})

export const PLACES = table<EndpointState>('webhook_places', {
  generation: 'plain',
  mark: 'plain',
  health: 'plain',
  failingSince: 'plain',
  failures: 'plain',
  firstFailedAt: 'plain',
  lastFailedAt: 'plain',
  lastSucceededAt: 'plain',
  probes: 'plain',
  probeAt: 'plain',
  told: 'plain',
  givenUp: 'plain',
  givenUpFrom: 'plain',
  givenUpToldAt: 'plain',
})

export const POSTS = table<PostRow>('posts', {
  id: 'plain',
  endpointId: 'plain',
  eventId: 'plain',
  eventType: 'plain',
  eventAt: 'plain',
  kind: 'plain',
  state: 'plain',
  attempts: 'plain',
  dueAt: 'plain',
  tries: 'json',
  url: 'plain',
  headers: 'json',
  status: 'plain',
  ms: 'plain',
  answer: 'plain',
  cause: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
})

export const REPLAYS = table<ReplayRow>('replays', {
  id: 'plain',
  endpointId: 'plain',
  failed: 'bool',
  place: 'plain',
  since: 'plain',
  until: 'plain',
  made: 'plain',
  createdAt: 'plain',
})
