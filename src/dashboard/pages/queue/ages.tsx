/**
 * NAME      ages - the table of how long mail has waited
 * DESCRIPTION
 *   A field is the darker the more of the table's mail it holds, so that the worst place is seen before it is read.
 */
import type { Age } from '../../../record/queue.js'
import { figure } from '../../parts/figure.js'
import { Choices, Reply } from '../../parts/page-parts.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { actLink } from './links.js'
import type { Places } from './places.js'
import type { Ages, Queue } from './state.js'

const EDGES = [
  ['under_1m', 'under 1 min'],
  ['under_10m', '1 to 10 min'],
  ['under_1h', '10 to 60 min'],
  ['under_1d', '1 to 24 h'],
  ['over_1d', 'over 1 day'],
] as const

const HEADS = { pool: 'Pool', workspace: 'Workspace', domain: 'Recipient domain' } as const

const heat = (n: number, most: number): string =>
  n === 0 ? 'num none' : `num heat-${Math.max(1, Math.ceil((4 * n) / most))}`

/** Scope of an order, and of the list of what waits. */
const scopeOf = (by: Ages['by'], key: string) =>
  by === 'pool' ? { egress_pool_id: key } : by === 'workspace' ? { workspace_id: key } : { domain: key }

const whyText = (by: Ages['by'], row: Age, queue: Queue): string | null => {
  const found = queue.data.find(
    (one) =>
      one.waiting_for !== null &&
      ((by === 'pool' && one.egress_pool_id === row.key) ||
        (by === 'workspace' && one.workspace_id === row.key)),
  )
  return found?.waiting_for == null ? null : (found.waiting_for.detail.split('; ')[0] ?? null)
}

export const AgesBy = ({ visit, by }: { readonly visit: Visit; readonly by: Ages['by'] }) => (
  <Choices
    label="Group by"
    options={(['pool', 'workspace', 'domain'] as const).map((one) => ({
      href: visit.here({ by: one === 'pool' ? null : one }),
      text: HEADS[one],
      on: one === by,
    }))}
  />
)

interface AgesProps {
  readonly visit: Visit
  readonly ages: Ages
  readonly queue: Queue
  readonly places: Places
}

const Row = ({ row, most, ...props }: AgesProps & { readonly row: Age; readonly most: number }) => {
  const { visit, ages, queue, places } = props
  const { by } = ages
  const name = by === 'pool' ? places.pool(row.key) : by === 'workspace' ? places.workspace(row.key) : row.key
  const why = whyText(by, row, queue)
  const scope = scopeOf(by, row.key)
  const list =
    by === 'workspace'
      ? visit.link('/queue/entries', { workspace: name })
      : visit.link('/queue/entries', scope)
  return (
    <tr role="row">
      <th role="rowheader" scope="row">
        <a href={list}>{name}</a>
        {why === null ? null : <span class="sub">{why}</span>}
        <Reply text={row.last_response} clamp />
      </th>
      {EDGES.map(([key, label]) => (
        <td role="cell" class={heat(row.ages[key] ?? 0, most)} data-l={label}>
          {row.ages[key] === 0 ? <span class="faint">0</span> : figure(row.ages[key] ?? 0)}
        </td>
      ))}
      <td role="cell" class="num" data-l="Oldest">
        <Time at={row.oldest_at} />
      </td>
      <td role="cell" class="num" data-l="Next due">
        <Time at={row.next_due_at} none="under way" />
      </td>
      {visit.may('retryQueue') ? (
        <td role="cell" class="act">
          <div class="actions">
            <a class="b tiny" href={actLink(visit, 'retry', scope)}>
              Retry
            </a>
            <a class="b tiny" href={actLink(visit, 'hold', scope)}>
              Hold
            </a>
          </div>
        </td>
      ) : null}
    </tr>
  )
}

export const AgesTable = (props: AgesProps) => {
  const { visit, ages } = props
  const most = Math.max(1, ...ages.data.flatMap((row) => Object.values(row.ages)))
  return (
    <>
      <table class="t many ages" role="table">
        <caption class="hid">Waiting by {HEADS[ages.by].toLowerCase()} and age</caption>
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">
              {HEADS[ages.by]}
            </th>
            {[...EDGES.map(([, label]) => label), 'Oldest', 'Next due'].map((label) => (
              <th role="columnheader" scope="col" class="num">
                {label}
              </th>
            ))}
            {visit.may('retryQueue') ? (
              <th role="columnheader" scope="col" class="act">
                <span class="hid">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {ages.data.map((row) => (
            <Row {...props} row={row} most={most} />
          ))}
        </tbody>
      </table>
      {ages.complete ? null : (
        <p class="soft">
          More waits than was looked at for this table: it shows about 10,000 recipients. The figures on top
          are whole.
        </p>
      )}
    </>
  )
}
