/**
 * NAME      blocks - what stands in the way of mail, each with the one button that mends it
 */
import type { VNode } from 'preact'
import type { QueueStateRecord } from '../../../record/queue-state.js'
import { Note } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { actLink } from './links.js'

interface Props {
  readonly visit: Visit
  readonly state: QueueStateRecord
}

const STOPPED = new Set(['down', 'paused', 'no_upstream'])

/** Pools that send nothing while something waits in them. */
const stopped = ({ pools }: QueueStateRecord) =>
  pools
    .filter(({ state, waiting, held }) => STOPPED.has(state) && waiting + held > 0)
    .sort((a, b) => b.waiting + b.held - a.waiting - a.held)

/** Holds that keep something, and one of the whole queue. */
const kept = ({ holds }: QueueStateRecord) =>
  holds.filter(({ by, recipients }) => recipients > 0 || by === 'all')

/** With holds: each has a note of its own, so that nobody needs to say all of them in one sentence. */
export const areNoted = (state: QueueStateRecord): boolean => stopped(state).length + kept(state).length > 1

/** So many are shown; the others open on demand. */
const SHOWN = 3

/** Some notes, and the rest of them folded. */
export const Few = ({ notes }: { readonly notes: readonly VNode[] }) => (
  <>
    {notes.slice(0, SHOWN)}
    {notes.length <= SHOWN ? null : (
      <details class="fold">
        <summary>{`${notes.length - SHOWN} more`}</summary>
        {notes.slice(SHOWN)}
      </details>
    )}
  </>
)

type StateOfPool = QueueStateRecord['pools'][number]

const PoolActs = ({ visit, pool: { egress_pool_id: id, state } }: { visit: Visit; pool: StateOfPool }) => (
  <p class="actions">
    <a class="b" href={visit.link(`/pools/${encodeURIComponent(id)}`)}>
      {state === 'no_upstream' ? 'Add an upstream' : 'To the pool'}
    </a>
    {visit.may('rerouteQueue') ? (
      <a class="b" href={actLink(visit, 'reroute', { egress_pool_id: id })}>
        Move its mail…
      </a>
    ) : null}
  </p>
)

type HoldRecord = QueueStateRecord['holds'][number]

const HoldActs = ({ visit, hold }: { readonly visit: Visit; readonly hold: HoldRecord }) => (
  <p class="actions">
    {hold.hold_id !== null && visit.may('liftHold') ? (
      <a class="b" href={visit.link('/queue/release', { hold: hold.hold_id })}>
        Release…
      </a>
    ) : null}
    {hold.recipients === 0 ? null : (
      <a class="b" href={visit.link('/queue/entries', { state: 'held' })}>
        Look at what is held
      </a>
    )}
  </p>
)

interface Trouble {
  readonly tone: 'bad' | 'wait'
  readonly says: string
  readonly acts: VNode
}

/** `withHolds`: also holds; the queue's page has a table of them. */
export const Troubles = ({ visit, state, withHolds }: Props & { readonly withHolds: boolean }) => {
  const all: readonly Trouble[] = [
    ...stopped(state).map(
      (pool): Trouble => ({ tone: 'bad', says: pool.says, acts: <PoolActs {...{ visit, pool }} /> }),
    ),
    ...(withHolds ? kept(state) : []).map(
      (hold): Trouble => ({ tone: 'wait', says: hold.says, acts: <HoldActs {...{ visit, hold }} /> }),
    ),
  ]
  // one alone has been told by the title
  const [only] = all
  if (only !== undefined && all.length === 1) return <div class="gap">{only.acts}</div>
  return (
    <Few
      notes={all.map(({ tone, says, acts }) => (
        <Note tone={tone} icon={tone === 'bad' ? 'alarm' : 'held'}>
          <p>
            <strong dir="auto">{says}</strong>
          </p>
          {acts}
        </Note>
      ))}
    />
  )
}
