/**
 * NAME      pools - the ways out, and a new one with its first upstream
 */
import type { QueueStateRecord } from '../../../record/queue-state.js'
import type { Page } from '../../page.js'
import { ActionForm, Field, Send } from '../../parts/form.js'
import { Code, Empty, PageBody } from '../../parts/page-parts.js'
import { Icon, SHAPES } from '../../parts/status.js'
import { type Column, type List, Pager, Table } from '../../parts/table.js'
import { figure } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Visit } from '../../visit.js'
import { addressOf, MemberFields, memberOf, type Pool } from './upstream.js'

const titleOf = (tones: readonly string[]): string => {
  const bad = tones.filter((tone) => tone === 'bad').length
  const weak = tones.filter((tone) => tone === 'wait').length
  if (bad > 0) return bad === 1 ? 'One pool sends nothing.' : `${bad} pools send nothing.`
  if (weak > 0) return weak === 1 ? 'One pool is weakened.' : `${weak} pools are weakened.`
  return tones.length === 1 ? 'The pool takes mail.' : `All ${tones.length} pools take mail.`
}

type State = QueueStateRecord['pools'][number]

interface Row {
  readonly pool: Pool
  /** Null for the one of test mail, and where nothing can be said. */
  readonly seen: State | null
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly text: string
}

const TONES = { ok: 'ok', weak: 'wait', down: 'bad', paused: 'bad', no_upstream: 'bad' } as const

const rowOf = (pool: Pool, states: readonly State[], nameOf: (id: string) => string): Row => {
  const seen = states.find(({ egress_pool_id: id }) => id === pool.id) ?? null
  const whose = pool.follows === null ? '' : ` It uses the upstreams of ${nameOf(pool.follows)}.`
  const says = pool.kind === 'sandbox' ? 'Test mail ends here, and nobody gets it.' : (seen?.says ?? '')
  return { pool, seen, tone: TONES[seen?.state ?? 'ok'], text: says + whose }
}

const columns = (visit: Visit): readonly Column<Row>[] => {
  const entries = ({ pool }: Row, state: string | null, n: number | undefined) =>
    n === undefined ? (
      ''
    ) : (
      <a href={visit.link('/queue/entries', { egress_pool_id: pool.id, state })}>{figure(n)}</a>
    )
  return [
    { head: 'Pool', cell: ({ pool }) => html`<bdi>${pool.name}</bdi>` },
    {
      head: 'State',
      kind: 'grow',
      cell: ({ tone, text }) =>
        html`<span class="say" dir="auto">${Icon({ name: SHAPES[tone], tone })} ${text}</span>`,
    },
    {
      head: 'Upstreams',
      cell: ({ pool }) => pool.members.map((one) => html`<span class="sub">${addressOf(one)}</span>`),
    },
    { head: 'Waiting', kind: 'num', cell: (row) => entries(row, null, row.seen?.waiting) },
    { head: 'Held', kind: 'num', cell: (row) => entries(row, 'held', row.seen?.held) },
  ]
}

export const poolsPage: Page = {
  path: '/pools',
  async view(visit) {
    const [list, summary] = await Promise.all([visit.list<List<Pool>>('/v1/egress-pools'), visit.summary()])
    const names = new Map(list.data.map(({ id, name }) => [id, name]))
    const states = [...(summary?.live.pools ?? []), ...(summary?.test.pools ?? [])]
    const rows = list.data.map((pool) => rowOf(pool, states, (id) => names.get(id) ?? id))
    // as the margin counts: one that uses the upstreams of another, when it has mail
    const relays = rows.filter(
      ({ pool, seen }) =>
        pool.kind === 'relay' && (pool.follows === null || (seen !== null && seen.waiting + seen.held > 0)),
    )
    return {
      title: 'Pools',
      body: (
        <PageBody
          title={relays.length === 0 ? 'No pool yet.' : titleOf(relays.map(({ tone }) => tone))}
          says="A workspace sends through one pool; a pool shares its mail out among its upstream mail servers."
          make={['/pools/new', 'Make a pool', 'createEgressPool']}
        >
          <Table
            caption="Pools, newest first"
            rows={rows}
            href={({ pool }) => visit.link(`/pools/${pool.id}`)}
            columns={columns(visit)}
          />
          <Pager list={list} />
          {relays.some(({ pool }) => pool.members.length > 0) ? null : (
            <Empty title="Where mail goes">
              <p>
                Live mail needs an upstream: a mail server that takes it from here. Make a pool, or on the
                server:
              </p>
              <Code text="postern pool create main --upstream 'smtp://gw@mta1.example.net:587?tls=required&password_file=/run/secrets/mta1'" />
            </Empty>
          )}
        </PageBody>
      ),
    }
  },
}

export const newPoolPage: Page = {
  path: '/pools/new',
  opens: 'createEgressPool',
  async view() {
    return {
      title: 'New pool',
      body: (
        <PageBody
          crumb={['/pools', 'Pools', 'new']}
          title="Make a pool"
          says="With its first upstream; others are added on its page."
        >
          <ActionForm action="create">
            <Field name="name" label="Name" required maxLength={63} placeholder="main" />
            <MemberFields member={null} />
            <Send>Make the pool</Send>
          </ActionForm>
        </PageBody>
      ),
    }
  },
  does: { create: 'createEgressPool' },
  actions: {
    async create(visit, form) {
      const body = { name: form.text('name'), members: [memberOf(form)] }
      const pool = await visit.ask<Pool>('POST', '/v1/egress-pools', { body })
      return {
        to: visit.link(`/pools/${pool.id}`),
        notice: `The pool ${pool.name} is made. Test it, then choose it for a workspace.`,
      }
    },
  },
}
