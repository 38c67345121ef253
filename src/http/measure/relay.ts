/**
 * NAME      relay - what the relay thread tells, as metrics
 */
import type { Relay } from '../../relay/relay.js'
import { NO_UPSTREAM } from '../../relay/watch/watchdog.js'
import { gauge, type Metric } from '../metrics.js'

const STATES = ['closed', 'half-open', 'open'] as const

const upstreamMetrics = (seen: ReturnType<Relay['upstreams']>): readonly Metric[] => {
  const upstreams = seen.map((one) => ({
    ...one,
    labels: { pool: one.poolId, upstream: one.upstreamId, host: `${one.host}:${one.port}` },
  }))
  return [
    {
      name: 'postern_upstream_breaker',
      help: 'State of the breaker of each upstream: 1 at the state it is in',
      type: 'gauge',
      samples: upstreams.flatMap(({ labels, breaker }) =>
        STATES.map((state) => ({ labels: { ...labels, state }, value: breaker === state ? 1 : 0 })),
      ),
    },
    {
      name: 'postern_upstream_connections',
      help: 'Open connections to each upstream',
      type: 'gauge',
      samples: upstreams.map(({ labels, connections: value }) => ({ labels, value })),
    },
    {
      name: 'postern_upstream_limit',
      help: 'How many messages at once its breaker allows each upstream',
      type: 'gauge',
      samples: upstreams.map(({ labels, limit: value }) => ({ labels, value })),
    },
  ]
}

const poolMetrics = (pools: ReturnType<Relay['pools']>): readonly Metric[] => [
  {
    name: 'postern_pool_stalled',
    help: '1 while a pool has had due mail and begun nothing for a minute',
    type: 'gauge',
    samples: pools.map(({ poolId: pool, stalled }) => ({
      labels: { pool },
      value: stalled === null ? 0 : 1,
    })),
  },
  {
    name: 'postern_pool_no_upstream',
    help: '1 while mail waits in a pool that has no upstream, nor follows one that has',
    type: 'gauge',
    samples: pools.map(({ poolId: pool, stalled }) => ({
      labels: { pool },
      value: stalled === NO_UPSTREAM ? 1 : 0,
    })),
  },
  {
    name: 'postern_pool_restarts_total',
    help: 'How often the watchdog started the loop of a pool anew',
    type: 'counter',
    samples: pools.map(({ poolId: pool, restarts: value }) => ({ labels: { pool }, value })),
  },
]

/** `ambiguous`: attempts of an earlier run whose end nobody knows. */
export const relayMetrics = (
  relay: Pick<Relay, 'stats' | 'upstreams' | 'pools'>,
  recoveredAmbiguous: number,
): readonly Metric[] => {
  const { inFlight, waiting, connections, ambiguous, throttledDomains, clockSteps, ...counted } =
    relay.stats()
  return [
    {
      name: 'postern_relay_events_total',
      help: 'What relay did since the start, by kind',
      type: 'counter',
      samples: Object.entries(counted).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    {
      name: 'postern_ambiguous_attempts_total',
      help: 'Attempts that broke off between the final dot and its answer; a second copy may have left',
      type: 'counter',
      samples: [{ value: ambiguous + recoveredAmbiguous }],
    },
    {
      name: 'postern_clock_steps_total',
      help: 'How often the wall clock was set by more than five seconds while Postern ran',
      type: 'counter',
      samples: [{ value: clockSteps }],
    },
    gauge('postern_relay_in_flight', 'Messages between MAIL and the last reply', inFlight),
    gauge('postern_relay_waiting', 'Recipients leased and not begun', waiting),
    gauge(
      'postern_relay_throttled_domains',
      'Recipient domains that asked for a slower pace, and get it',
      throttledDomains,
    ),
    gauge('postern_relay_connections', 'Open connections to upstreams', connections),
    ...upstreamMetrics(relay.upstreams()),
    ...poolMetrics(relay.pools()),
  ]
}
