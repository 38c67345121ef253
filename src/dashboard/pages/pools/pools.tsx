/**
 * NAME      pools - the ways out, and a new one with its first upstream
 */
import type { QueueStateRecord } from '../../../record/queue.js'
import { ActionForm, Field, Send } from '../../parts/form.js'
import { asSentence, Code, Empty, ManagedMark, PageBody } from '../../parts/page-parts.js'
import { Icon, SHAPES } from '../../parts/status.js'
import { type Column, type List, Pager, Table } from '../../parts/table.js'
import { Address, figure } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Page, Visit } from '../../visit.js'
import { holdsOver, standingHolds } from '../queue/holds.js'
import { addressOf, MemberFields, memberOf, type Pool } from './upstream.js'

const titleOf = (rows: readonly Pick<Row, 'tone' | 'isHeld'>[]): string => {
  const count = (is: (row: Pick<Row, 'tone' | 'isHeld'>) => boolean) => rows.filter(is).length
  const bad = count(({ tone }) => tone === 'bad')
  const held = count(({ tone, isHeld }) => tone !== 'bad' && isHeld)
  const weak = count(({ tone, isHeld }) => tone === 'wait' && !isHeld)
  const told = [
    bad > 0 ? (bad === 1 ? 'One pool sends nothing' : `${bad} pools send nothing`) : null,
    held > 0 ? (held === 1 ? 'one pool is held' : `${held} pools are held`) : null,
  ].filter((one) => one !== null)
  if (told.length > 0) return asSentence(told.join(', and '))
  if (weak > 0) return weak === 1 ? 'One pool is weakened.' : `${weak} pools are weakened.`
  return rows.length === 1 ? 'The pool takes mail.' : `All ${rows.length} pools take mail.`
}

type State = QueueStateRecord['pools'][number]

interface Row {
  readonly pool: Pool
  /** Null for the one of test mail, and where nothing can be said. */
  readonly seen: State | null
  readonly tone: 'ok' | 'wait' | 'bad'
  /** All of its mail, by an operator. */
  readonly isHeld: boolean
  readonly text: string
}

const TONES = { ok: 'ok', weak: 'wait', down: 'bad', paused: 'bad', no_upstream: 'bad' } as const

const rowOf = (
  pool: Pool,
  states: readonly State[],
  nameOf: (id: string) => string,
  holds: Parameters<typeof holdsOver>[0],
): Row => {
  const [hold] = pool.kind === 'sandbox' ? [] : holdsOver(holds, { pool: pool.id })
  const isHeld = hold !== undefined
  const kept = isHeld ? asSentence(`It is held: ${hold.reason}`) : ''
  const seen = states.find(({ egress_pool_id: id }) => id === pool.id) ?? null
  const whose = pool.follows === null ? '' : `It uses the upstreams of ${nameOf(pool.follows)}.`
  const says = pool.kind === 'sandbox' ? 'Test mail ends here, and nobody gets it.' : (seen?.says ?? '')
  const tone = TONES[seen?.state ?? 'ok']
  const text = [kept, says, whose].filter((one) => one !== '').join(' ')
  return { pool, seen, tone: isHeld && tone === 'ok' ? 'wait' : tone, isHeld, text }
}

const columns = (visit: Visit): readonly Column<Row>[] => {
  const entries = ({ pool }: Row, state: string | null, n: number | undefined) =>
    n === undefined ? (
      ''
    ) : (
      <a href={visit.link('/queue/entries', { egress_pool_id: pool.id, state })}>{figure(n)}</a>
    )
  return [
    { head: 'Pool', cell: ({ pool }) => html`<bdi>${pool.name}</bdi>${ManagedMark({ row: pool })}` },
    {
      head: 'State',
      kind: 'grow',
      cell: ({ tone, isHeld, text }) =>
        html`<span class="say" dir="auto">${Icon({ name: isHeld && tone === 'wait' ? 'held' : SHAPES[tone], tone })} ${text}</span>`,
    },
    {
      head: 'Upstreams',
      cell: ({ pool }) =>
        pool.members.map((one) => html`<span class="sub">${Address({ text: addressOf(one) })}</span>`),
    },
    { head: 'Waiting', kind: 'num', cell: (row) => entries(row, null, row.seen?.waiting) },
    { head: 'Held', kind: 'num', cell: (row) => entries(row, 'held', row.seen?.held) },
  ]
}

export const poolsPage: Page = {
  path: '/pools',
  async view(visit) {
    const [list, summary, holds] = await Promise.all([
      visit.list<List<Pool>>('/v1/egress-pools'),
      visit.summary(),
      standingHolds(visit),
    ])
    const names = new Map(list.data.map(({ id, name }) => [id, name]))
    const states = [...(summary?.live.pools ?? []), ...(summary?.test.pools ?? [])]
    const rows = list.data.map((pool) => rowOf(pool, states, (id) => names.get(id) ?? id, holds))
    // as the margin counts: one that uses the upstreams of another, when it has mail
    const relays = rows.filter(
      ({ pool, seen }) =>
        pool.kind === 'relay' && (pool.follows === null || (seen !== null && seen.waiting + seen.held > 0)),
    )
    return {
      title: 'Pools',
      body: (
        <PageBody
          title={relays.length === 0 ? 'No pool yet.' : titleOf(relays)}
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
