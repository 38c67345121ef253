/**
 * NAME      live-upstream - what the relay knows of upstreams now, as the wire has it
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import { throttle } from '../record/queue.js'
import type { LiveView } from '../relay/relay.js'
import type { UpstreamHealth } from '../relay/watch/health.js'

/** What the relay last saw of an upstream; nulls when it is not known to it. */
export const liveUpstream = (health: UpstreamHealth | undefined) => ({
  breaker: health?.breaker ?? null,
  connections: health?.connections ?? null,
  under_way: health?.underWay ?? null,
  limit: health?.limit ?? null,
  full: health?.full ?? null,
  last_success_at: timeOrNull(health?.lastSuccessAt ?? null),
  last_error: health?.lastError == null ? null : { ...health.lastError, at: toRfc3339(health.lastError.at) },
})

/** What the relay knows now, for the management listener: the command line asks it why mail waits. */
export const relayState = (upstreams: readonly UpstreamHealth[], view: LiveView | null, now: number) => ({
  data: upstreams.map((one) => ({ id: one.upstreamId, ...liveUpstream(one) })),
  throttled: (view?.throttled ?? []).map((row) => throttle(row, now)),
  captures: view?.captures ?? false,
})
