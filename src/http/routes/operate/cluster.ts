/**
 * NAME      cluster - which daemons share this store
 */
import * as record from '../../../record/cluster.js'
import type { Deps } from '../../deps.js'
import { type Endpoint, endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/operate/cluster.js'

export const cluster = ({ store }: Deps): readonly Endpoint[] => [
  endpoint({
    id: 'getCluster',
    method: 'GET',
    path: '/v1/cluster',
    summary: 'Which daemons share this database, and how they are doing',
    description:
      'A daemon that is not heard of for 30 seconds is taken over by another one, and is not listed any more. With SQLite there is one.',
    access: 'session',
    workspace: 'none',
    answers: { 200: shapes.cluster },
    faults: [],
    async handle() {
      const [writers, state] = await Promise.all([store.writers(), store.serverState()])
      const facts = { system: store.system, writers, putBack: state?.putBack ?? null }
      return { status: 200, body: record.cluster(facts) }
    },
  }),
]
