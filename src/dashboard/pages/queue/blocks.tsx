/**
 * NAME      blocks - what stops whole pools, and what an operator does about it
 */
import { partsOfWaiting } from '../../../record/waiting.js'
import { Note } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import type { Places } from './places.js'
import { blocked, type Queue } from './state.js'
import { recipients, sentence } from './words.js'

/** What an operator must mend; the rest goes by itself. */
const MENDABLE = new Set(['suspended', 'no_upstream', 'paused', 'upstreams_down'])

export const mendable = (queue: Queue) =>
  blocked(queue)
    .filter(({ waiting_for: { reason } }) => MENDABLE.has(reason))
    .map((row) => ({ ...row, recipients: row.due + row.leased + row.waiting + row.held }))

interface Props {
  readonly visit: Visit
  readonly queue: Queue
  readonly places: Pick<Places, 'pool' | 'workspace'>
}

export const Blocks = ({ visit, queue, places }: Props) => (
  <>
    {mendable(queue)
      .slice(0, 5)
      .map((row) => {
        const { why, remedy } = partsOfWaiting(row.waiting_for.detail)
        const n = row.recipients
        return (
          <Note tone="bad" icon="alarm">
            <p>
              <strong>{sentence(why)}</strong> {recipients(n)} of {places.workspace(row.workspace_id)}{' '}
              {n === 1 ? 'waits' : 'wait'} for that.{' '}
              <a href={visit.link(`/pools/${encodeURIComponent(row.egress_pool_id)}`)}>
                To the pool {places.pool(row.egress_pool_id)}
              </a>
            </p>
            {remedy === null ? null : (
              <p>
                On the server: <code>{remedy}</code>
              </p>
            )}
          </Note>
        )
      })}
  </>
)
