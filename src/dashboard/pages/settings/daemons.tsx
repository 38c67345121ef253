/** NAME      daemons - who shares the database */
import type { ClusterRecord } from '../../../record/queue.js'
import { PageBody } from '../../parts/page-parts.js'
import { col, Table, type TableColumn } from '../../parts/table.js'
import { html } from '../../render.js'
import { type SitePage, titled } from '../../visit.js'

type Daemon = ClusterRecord['daemons'][number]

/** So long a heartbeat may be late before somebody should look. */
const LATE_MS = 6000

const ROLES: Readonly<Record<Daemon['writers'][number]['role'], string>> = {
  main: 'takes mail in',
  relay: 'carries mail',
  followers: 'posts events',
  command: 'a command',
}

const columns: readonly TableColumn<Daemon>[] = [
  col(
    'Host',
    'grow',
    ({ host, id }) => html`<strong dir="auto">${host}</strong><span class="sub">${id}</span>`,
  ),
  col('Version', ({ version }) => version),
  col('Does', ({ writers }) => writers.map(({ role }) => ROLES[role]).join(', ')),
  col('Pools', 'opt', ({ pools, share }) => (share === null ? '' : (pools?.join(', ') ?? 'all'))),
  col('Share', ({ share }) => (share === null ? 'none' : `${share.part} of ${share.of}`)),
  col('Heard of', ({ lag_ms: lag }) => `${(lag / 1000).toFixed(1)} s ago`),
]

const titleOf = ({ store, daemons }: ClusterRecord): string => {
  if (store === 'sqlite') return 'One daemon has the store to itself.'
  const late = daemons.filter(({ lag_ms: lag }) => lag > LATE_MS).length
  if (late > 0) return late === 1 ? 'One daemon is silent.' : `${late} daemons are silent.`
  return daemons.length === 1 ? 'One daemon runs.' : `${daemons.length} daemons run.`
}

const wordsOf = ({ store, same_settings: isSame }: ClusterRecord): string => {
  if (store === 'sqlite') return 'Several can share a PostgreSQL database.'
  return isSame
    ? 'A share is what each has of the limits of upstreams. Who is silent for 30 seconds is taken over.'
    : 'Their settings differ: compare bounce.domain, base_url, relay and retention on each host.'
}

export const daemonsPage: SitePage = {
  path: '/settings/daemons',
  async view(visit) {
    const cluster = await visit.ask<ClusterRecord>('GET', '/v1/cluster')
    return titled(
      'Daemons',
      <PageBody
        title={titleOf(cluster)}
        says={
          <>
            {wordsOf(cluster)} <a href={visit.here({})}>Look again</a>
          </>
        }
      >
        <Table caption="Daemons" columns={columns} rows={cluster.daemons} />
      </PageBody>,
    )
  },
}
