/**
 * What was acknowledged against what the database says and what all upstreams have. A second copy is explained by the
 * timeline of its mail and by the death of the daemon that sent the first: it had no time to write down the answer.
 */
import { eventually } from '../../parts/eventually.js'
import { type Balance, balanceOf, few, wrongIn } from '../balance.js'
import type { Workspace } from './daemon.js'
import type { Death, Fleet } from './fleet.js'
import type { Dot } from './upstream.js'

/** Between a final dot and the commit of what became of it, on a busy machine. */
const SETTLING_MS = 5_000

/** Final dots after which another came, and nobody had died with them. */
const unexplained = (dots: readonly Dot[], deaths: readonly Death[]): string[] => {
  const last = new Map<string, Dot>()
  const wrong: string[] = []
  for (const dot of dots) {
    const first = last.get(dot.id)
    last.set(dot.id, dot)
    if (first === undefined) continue
    const isNear = ({ by, at, until }: Death) =>
      by === first.by && first.at > at - SETTLING_MS && first.at < until
    if (!deaths.some(isNear)) wrong.push(dot.id)
  }
  return wrong
}

/** What had been handed over and may not have been written down when a daemon died. */
const pastTheDot = (dots: readonly Dot[], deaths: readonly Death[]): number =>
  dots.filter((dot) =>
    deaths.some(({ by, at, until }) => by === dot.by && dot.at > at - SETTLING_MS && dot.at < until),
  ).length

/** What the database has against what was acknowledged and what left. */
const storedWrongly = (
  fleet: Fleet,
  acknowledged: readonly string[],
  copies: readonly string[],
): string[] => {
  const stored = new Set(fleet.sql('SELECT id FROM emails'))
  const left = copies.map((copy) => copy.split(' ')[0] ?? '')
  const waiting = fleet.sql('SELECT count(*) FROM queue WHERE held IS NULL')
  return [
    ...few(
      'acknowledged and not stored',
      acknowledged.filter((id) => !stored.has(id)),
    ),
    ...few(
      'sent and not stored',
      left.filter((id) => !stored.has(id)),
    ),
    ...(waiting[0] === '0' ? [] : [`${waiting[0]} recipients still wait`]),
  ]
}

/** All of a workspace at once; the API is asked for those that need more words. */
const statuses = (fleet: Fleet) => (): ReadonlyMap<string, string> =>
  new Map(fleet.sql('SELECT id, status FROM emails').map((row) => row.split('|') as [string, string]))

const balances = async (fleet: Fleet, copies: readonly string[]) => {
  const found: Partial<Record<Workspace, Balance>> = {}
  for (const workspace of fleet.workspaces) {
    let n = 0
    found[workspace] = await balanceOf({
      ids: fleet.acknowledged(workspace),
      copies,
      ask: (path) => {
        const { postern } = fleet.daemons[n++ % fleet.daemons.length] ?? fleet.first
        return postern.api('GET', path, fleet.keys[workspace] ?? '')
      },
      isHolding: workspace === 'careful',
      statuses: statuses(fleet),
    })
  }
  return found
}

export const books = async (fleet: Fleet) => {
  await fleet.flows()
  await fleet.stopLoads()
  const waiting = () => Number(fleet.sql('SELECT count(*) FROM queue WHERE held IS NULL')[0])
  // what still waits then is told below
  await eventually('all has left', () => waiting() === 0, { every: 500, moves: waiting }).catch(() => {})
  const arrived = () => new Set(fleet.copies().map((copy) => copy.split(' ')[0]))
  const areThere = () => {
    const there = arrived()
    return fleet.acknowledged('real').every((id) => there.has(id))
  }
  // a real MTA has a queue of its own; what is not there in time is missed below
  await eventually('the mailbox has all', areThere, { every: 2_000, moves: () => arrived().size }).catch(
    () => {},
  )
  const copies = fleet.copies()
  const found = await balances(fleet, copies)
  const unmet = Object.entries(found).flatMap(([workspace, balance]) =>
    wrongIn(balance).map((one) => `workspace ${workspace}: ${one}`),
  )
  const twice = found.careful?.duplicated ?? 0
  if (twice > 0) unmet.push(`${twice} went out twice where they are held`)
  const { dots } = fleet.mx
  unmet.push(...few('sent again though nobody had died', unexplained(dots, fleet.deaths)))
  unmet.push(
    ...storedWrongly(
      fleet,
      fleet.workspaces.flatMap((one) => fleet.acknowledged(one)),
      copies,
    ),
  )
  const second = dots.length - new Set(dots.map(({ id }) => id)).size
  const past = pastTheDot(dots, fleet.deaths)
  return { balances: found, copies: { second, pastTheDot: past, deaths: fleet.deaths.length }, unmet }
}
