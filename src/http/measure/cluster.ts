/**
 * NAME      cluster - who shares the store, as metrics
 */
import type { Cluster, ServerState } from '../../store/port/cluster/cluster.js'
import type { Lifecycle } from '../../store/port/upkeep.js'
import { gauge, type Metric } from '../metrics.js'

const stateMetrics = (state: ServerState | null): readonly Metric[] =>
  state === null
    ? []
    : [
        gauge(
          'postern_store_queue_dead_rows',
          'Rows that have left the queue and are not yet cleared away',
          state.queue.dead,
        ),
        gauge('postern_store_bytes', 'What the database takes on its disk', state.room.total),
        gauge('postern_store_bodies_bytes', 'What the bodies of mail take of it', state.room.bodies),
      ]

/** With SQLite there is nobody else. */
export const clusterMetrics = async (
  store: Cluster & Pick<Lifecycle, 'system'>,
): Promise<readonly Metric[]> => {
  if (store.system === 'sqlite') return []
  const [writers, state] = await Promise.all([store.writers(), store.serverState()])
  const { relays, daemons, putBacks } = store.cluster()
  const lag = Math.max(0, ...writers.map(({ lagMs }) => lagMs))
  return [
    gauge('postern_cluster_daemons', 'Daemons that live on this database, this one among them', daemons),
    gauge(
      'postern_cluster_relays',
      'Daemons that carry mail, and share the limits of upstreams',
      relays.length,
    ),
    gauge('postern_cluster_writers', 'Places for writers that are taken, of 256', writers.length),
    gauge(
      'postern_cluster_heartbeat_lag_seconds',
      'How long ago the most silent writer was heard of',
      lag / 1000,
    ),
    {
      ...{ name: 'postern_store_put_back_total', type: 'counter' },
      help: 'How often the database was found as it was earlier: acknowledged mail may be lost',
      samples: [{ value: putBacks }],
    },
    gauge(
      'postern_store_oldest_snapshot_seconds',
      'Age of the oldest transaction in the database: rows that ended since it began can not be cleaned up',
      (state?.oldest?.ageMs ?? 0) / 1000,
    ),
    ...stateMetrics(state),
  ]
}
