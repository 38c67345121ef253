/**
 * NAME      holds - what is kept from leaving, by whom, why, and until when
 */
import type { Hold } from '../../../record/queue.js'
import { type QueueStateRecord, recipients } from '../../../record/queue-state.js'
import { Section } from '../../parts/page-parts.js'
import { type Column, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import type { Scope } from './links.js'
import type { Places } from './places.js'

/** `pool main, mail to example.com`. */
export const scopeWords = (scope: { readonly [name in keyof Scope]?: string | null }, places: Places) => {
  const { workspace_id: workspace, egress_pool_id: pool, domain, email_id: email } = scope
  const parts = [
    workspace && `workspace ${places.workspace(workspace)}`,
    pool && `pool ${places.pool(pool)}`,
    domain && `mail to ${domain}`,
    email && `mail ${email}`,
  ].filter(Boolean)
  return parts.length === 0 ? 'the whole queue' : parts.join(', ')
}

interface HoldsProps {
  readonly visit: Visit
  readonly holds: readonly Hold[]
  readonly state: QueueStateRecord
  readonly places: Places
}

const columns = (visit: Visit, places: Places): readonly Column<Hold>[] => [
  { head: 'What', cell: (row) => scopeWords(row, places) },
  {
    head: 'Why',
    kind: 'grow',
    cell: (row) => (
      <span class="say" dir="auto">
        {row.reason}
      </span>
    ),
  },
  {
    head: 'By',
    cell: (row) => (row.owner === 'operator' ? 'an operator' : 'a key of the workspace'),
  },
  { head: 'Since', cell: (row) => <Time at={row.created_at} /> },
  { head: 'Until', kind: 'opt', cell: () => 'released' },
  {
    does: 'liftHold',
    head: '',
    kind: 'act',
    cell: (row) => (
      <a class="b tiny" href={visit.link('/queue/release', { hold: row.id })}>
        Release…
      </a>
    ),
  },
]

/** Of what no order holds: why it is held then. */
const others = ({ holds }: QueueStateRecord): readonly string[] =>
  holds.filter(({ hold_id: id, by }) => id === null && by !== 'many').map(({ says }) => says)

export const Holds = ({ visit, holds, state, places }: HoldsProps) => {
  const { held } = state
  if (holds.length === 0 && held === 0) return null
  return (
    <Section
      title="Held"
      says={
        <>
          <a href={visit.link('/queue/entries', { state: 'held' })}>{recipients(held)}</a> at rest; each hold
          stands until somebody releases it, and then its mail is due at once
        </>
      }
    >
      {others(state).map((says) => (
        <p dir="auto">{says}</p>
      ))}
      {holds.length === 0 ? null : (
        <Table caption="Holds, newest first" rows={holds} columns={columns(visit, places)} />
      )}
    </Section>
  )
}
