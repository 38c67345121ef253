/**
 * A daemon is stopped at a place with a name, is taken over, and goes on: with a write on its way to the database, in
 * the middle of a large answer, or anywhere in the dialogue with the upstream.
 */
import { eventually } from '../../parts/eventually.js'
import type { Workspace } from './daemon.js'
import type { Fault } from './fault.js'
import type { Fleet } from './fleet.js'
import { asleep } from './takeover.js'
import type { Stage } from './upstream.js'

/** More than the kernel keeps of it for a peer that does not read. */
const LARGE = 16_000_000
const SMALL = 500

/** A write arrives after its epoch has ended; `isEndless`: in a session that nobody could end. */
const write =
  (isEndless: boolean): Fault['run'] =>
  async (fleet) => {
    const daemon = fleet.any()
    if (isEndless) fleet.sql('UPDATE faults.endless SET is_so = true')
    try {
      const release = await daemon.proxy.keepBack(fleet.below(12))
      return await asleep(fleet, daemon, release)
    } finally {
      fleet.sql('UPDATE faults.endless SET is_so = false')
    }
  }

const answer: Fault['run'] = async (fleet) => {
  const id = await fleet.post(fleet.any(), 'default', 'answer@sink.test', LARGE)
  const daemon = fleet.any()
  const stalled = daemon.proxy.stallAnswer(LARGE / 8)
  const key = fleet.keys.default ?? ''
  const reading = daemon.postern.api('GET', `/v1/emails/${id}/source`, key).catch(() => null)
  const release = await stalled
  const found = await asleep(fleet, daemon, release)
  await reading
  return found
}

/** Copies at the upstream, and whether it may still come. */
interface Fate {
  readonly copies: number
  readonly held: string
}

const dialogue =
  (stage: Stage): Fault['run'] =>
  async (fleet) => {
    const workspace: Workspace = fleet.random() < 0.5 ? 'default' : 'careful'
    const to = `stage-${fleet.random()}@sink.test`
    const reached = fleet.mx.standStill(stage, to)
    const id = await fleet.post(fleet.any(), workspace, to, stage === 'content' ? LARGE : SMALL)
    const { by, letGo } = await reached
    const found = await asleep(fleet, fleet.named(by), letGo)
    return [...found, ...(await fate(fleet, id, wanted(stage, workspace)))]
  }

/** What was begun may have been taken; whoever holds such mail holds it. */
const wanted = (stage: Stage, workspace: Workspace): Fate => {
  const before = stage === 'dot' ? 1 : 0
  return workspace === 'careful' ? { copies: before, held: 'ambiguous' } : { copies: before + 1, held: '' }
}

const fate = async (fleet: Fleet, id: string, { copies, held }: Fate): Promise<string[]> => {
  const seen = () => ({
    copies: fleet.mx.dots.filter((dot) => dot.id === id).length,
    held: fleet
      .sql(`SELECT q.held FROM queue q JOIN emails e ON e.ord = q.email_ord WHERE e.id = '${id}'`)
      .join(),
  })
  const isSo = () => seen().copies >= copies && seen().held === held
  await eventually('its fate', isSo, { every: 250 }).catch(() => {})
  const found = seen()
  return found.copies === copies && found.held === held
    ? []
    : [`mail ${id} has ${found.copies} copies, held '${found.held}', not ${copies} and '${held}'`]
}

const point = (name: string, says: string, run: Fault['run']): Fault => ({
  name,
  says: `a daemon is stopped ${says}, is taken over, and goes on`,
  leavesIdle: true,
  run,
})

export const POINTS: readonly Fault[] = [
  point('write', 'before a write that is on its way', write(false)),
  point('endless', 'before a write that comes in a session which nobody could end', write(true)),
  point('answer', 'inside a large answer', answer),
  point('rcpt', 'before DATA', dialogue('rcpt')),
  point('data', 'before the content', dialogue('data')),
  point('content', 'before the final dot', dialogue('content')),
  point('dot', 'before the answer to the final dot', dialogue('dot')),
]
