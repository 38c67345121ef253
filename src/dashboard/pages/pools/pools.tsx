/**
 * NAME      pools - the ways out
 */

import type { Page } from '../../page.js'
import { figure } from '../../parts/figure.js'
import { Code, Empty, Head } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { Icon, SHAPES } from '../../parts/status.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { html } from '../../render/markup.js'
import type { Visit } from '../../visit.js'
import { type Health, type Pool, poolSentence } from './state.js'

/** Of so many pools the state is asked; nobody has more of them. */
const MOST_ASKED = 20

export const healthOf = (visit: Visit, id: string): Promise<Health | null> =>
  visit.find<Health>(`/v1/egress-pools/${encodeURIComponent(id)}/health`)

const titleOf = (tones: readonly string[]): string => {
  const bad = tones.filter((tone) => tone === 'bad').length
  const weak = tones.filter((tone) => tone === 'wait').length
  if (bad > 0) return bad === 1 ? 'One pool sends nothing.' : `${bad} pools send nothing.`
  if (weak > 0) return weak === 1 ? 'One pool is weakened.' : `${weak} pools are weakened.`
  return tones.length === 1 ? 'The pool takes mail.' : `All ${tones.length} pools take mail.`
}

interface Row {
  readonly pool: Pool
  readonly seen: Health | null
  readonly said: ReturnType<typeof poolSentence>
}

const columns = (visit: Visit): readonly Column<Row>[] => [
  { head: 'Pool', cell: ({ pool }) => pool.name },
  {
    head: 'State',
    kind: 'grow',
    cell: ({ said: { tone, text } }) =>
      html`<span class="say" dir="auto">${Icon({ name: SHAPES[tone], tone })} ${text}</span>`,
  },
  { head: 'Upstreams', kind: 'num', cell: ({ seen }) => seen?.members.length ?? '' },
  {
    head: 'Waiting',
    kind: 'num',
    cell: ({ pool, seen }) =>
      seen === null ? (
        ''
      ) : (
        <a href={visit.link('/queue/entries', { egress_pool_id: pool.id })}>
          {figure(seen.queue.due + seen.queue.leased + seen.queue.waiting)}
        </a>
      ),
  },
]

export const poolsPage: Page = {
  path: '/pools',
  async view(visit) {
    const list = await visit.ask<List<Pool>>('GET', '/v1/egress-pools', {
      query: { limit: 100, cursor: visit.query('cursor') },
    })
    const names = new Map(list.data.map(({ id, name }) => [id, name]))
    const asked = list.data.filter(({ kind }) => kind === 'relay').slice(0, MOST_ASKED)
    const found = await Promise.all(asked.map(({ id }) => healthOf(visit, id)))
    const health = new Map(found.flatMap((one) => (one === null ? [] : [[one.id, one] as const])))
    const rows = list.data.map((pool) => {
      const seen = health.get(pool.id) ?? null
      return { pool, seen, said: poolSentence(pool, seen, (id) => names.get(id) ?? id) }
    })
    const relays = rows.filter(({ pool }) => pool.kind === 'relay')
    return {
      title: 'Pools',
      body: (
        <>
          <Head
            title={relays.length === 0 ? 'No pool yet.' : titleOf(relays.map(({ said }) => said.tone))}
            says="A workspace sends through one pool; a pool shares its mail out among its upstream mail servers."
            make={['/pools/new', 'Make a pool', 'createEgressPool']}
          />
          <Table
            caption="Pools, newest first"
            rows={rows}
            href={({ pool }) => visit.link(`/pools/${pool.id}`)}
            columns={columns(visit)}
          />
          <Pager list={list} />
          {relays.some(({ seen }) => (seen?.members.length ?? 0) > 0) ? null : (
            <Empty title="Where mail goes">
              <p>
                Live mail needs an upstream: a mail server that takes it from here. Make a pool, or on the
                server:
              </p>
              <Code text="postern pool create main --upstream 'smtp://gw@mta1.example.net:587?tls=required&password_file=/run/secrets/mta1'" />
            </Empty>
          )}
        </>
      ),
    }
  },
}
