/**
 * NAME      state - whether mail flows, in two sentences
 * DESCRIPTION
 *   Made of what GET /v1/queue and GET /v1/queue/ages answer, and of nothing else. What an operator must mend comes
 *   first; what only takes its time is told as that.
 */
import type { Age, PoolDepth, SlowDomain } from '../../../record/queue.js'
import type { WaitingRecord } from '../../../record/waiting.js'
import { figure } from '../../parts/figure.js'
import type { Places } from './places.js'
import { firstWords, longSpan, recipients } from './words.js'

export interface Queue {
  readonly data: readonly PoolDepth[]
  readonly throttled: readonly SlowDomain[]
}

export interface Ages {
  readonly by: 'pool' | 'workspace' | 'domain'
  readonly complete: boolean
  readonly scheduled: number
  readonly data: readonly Age[]
}

interface State {
  readonly title: string
  readonly says: string
  /** Nothing waits and nothing is held. */
  readonly isEmpty: boolean
}

const open = ({ due, leased, waiting }: PoolDepth): number => due + leased + waiting

const sum = <Row>(rows: readonly Row[], of: (row: Row) => number): number =>
  rows.reduce((all, row) => all + of(row), 0)

/** Until it is this old, mail is on its way, and does not wait. */
const ON_ITS_WAY_MS = 60_000

/** What stands in the way of whole pools, most mail first. */
export const blocked = ({ data }: Queue): readonly (PoolDepth & { readonly waiting_for: WaitingRecord })[] =>
  data
    .flatMap((row) => (row.waiting_for === null ? [] : [{ ...row, waiting_for: row.waiting_for }]))
    .sort((a, b) => open(b) + b.held - open(a) - a.held)

const reasonOf = (queue: Queue, places: Places, total: number): string | null => {
  const [worst] = blocked(queue)
  if (worst === undefined) return null
  const n = open(worst) + worst.held
  const of = n >= total ? (total === 1 ? 'It waits' : 'All of them') : `${figure(n)} of them`
  return `${of} in ${places.pool(worst.egress_pool_id)}: ${firstWords(worst.waiting_for.detail)}.`
}

const slowText = ({ throttled }: Queue): string | null =>
  throttled.length === 0
    ? null
    : throttled.length === 1
      ? `${throttled[0]?.domain} asked for a slower pace.`
      : `${throttled.length} recipient domains asked for a slower pace.`

export const stateOf = (queue: Queue, ages: Ages, places: Places, now: number): State => {
  const held = sum(queue.data, (row) => row.held)
  const all = sum(queue.data, open)
  const total = ages.complete ? sum(ages.data, (row) => row.recipients) : Math.max(0, all - ages.scheduled)
  const oldest = Math.min(...ages.data.map((row) => Date.parse(row.oldest_at)))
  const age = Number.isFinite(oldest) ? Math.max(0, now - oldest) : 0
  const more = [
    reasonOf(queue, places, total + held),
    slowText(queue),
    held > 0 && total > 0 ? `${recipients(held)} more ${held === 1 ? 'is' : 'are'} held.` : null,
    ages.scheduled > 0
      ? `${recipients(ages.scheduled)} ${ages.scheduled === 1 ? 'waits' : 'wait'} for a time of ${ages.scheduled === 1 ? 'its' : 'their'} own.`
      : null,
  ].filter((part) => part !== null)
  const says = (otherwise: string): string => (more.length === 0 ? otherwise : more.join(' '))
  if (total === 0 && held === 0)
    return { title: 'Nothing waits.', says: says('Mail leaves as it comes in.'), isEmpty: true }
  if (total === 0)
    return {
      title: `Nothing waits but what is held: ${recipients(held)}.`,
      says: says('It leaves when somebody releases it.'),
      isEmpty: false,
    }
  if (age < ON_ITS_WAY_MS && blocked(queue).length === 0)
    return {
      title: `Mail flows: ${recipients(total)} on ${total === 1 ? 'its' : 'their'} way.`,
      says: says(`The oldest came ${longSpan(age)} ago.`),
      isEmpty: false,
    }
  const verb = total === 1 ? `waits, for ${longSpan(age)}` : `wait; the oldest for ${longSpan(age)}`
  return {
    title: `${recipients(total)} ${verb}.`,
    says: says('No pool is stopped: each is tried again when its time comes, or at once by Retry.'),
    isEmpty: false,
  }
}
