import t from 'tap'
import { Breaker } from '../../src/relay/upstream.js'

const steady = () => new Breaker(() => 0.5)

t.test('starts slowly and grows with success', async (t) => {
  const breaker = steady()
  const first = breaker.limit(50)
  t.ok(first < 10)
  for (let i = 0; i < 100; i++) breaker.succeeded(0)
  t.equal(breaker.limit(50), 50)
  t.equal(breaker.limit(2), 2)
})

t.test('opens after failures in a row, and only then', async (t) => {
  const breaker = steady()
  for (let i = 0; i < 10; i++) {
    breaker.failed(0, 0)
    breaker.failed(0, 0)
    breaker.succeeded(0)
  }
  t.equal(breaker.state, 'closed')
  for (let i = 0; i < 3; i++) breaker.failed(0, 0)
  t.equal(breaker.state, 'open')
  t.equal(breaker.limit(50), 0)
})

t.test('probes with growing pauses, then half-open, then a ramp', async (t) => {
  const breaker = steady()
  for (let i = 0; i < 3; i++) breaker.failed(0, 0)
  for (let i = 0; i < 9; i++) breaker.failed(10, 0)
  t.notOk(breaker.wantsProbe(900))
  t.ok(breaker.wantsProbe(1_000), 'late failures of old attempts do not lengthen the pause')
  breaker.probeFailed(1_000)
  t.notOk(breaker.wantsProbe(2_900))
  t.ok(breaker.wantsProbe(3_000))
  for (let i = 0; i < 20; i++) breaker.probeFailed(10_000)
  t.ok(breaker.wantsProbe(10_000 + 30_000), 'but not for ever')
  breaker.probed()
  t.equal(breaker.state, 'half-open')
  t.equal(breaker.limit(50), 1)
  breaker.failed(50_000, 0)
  t.equal(breaker.state, 'open')
  breaker.probed()
  breaker.succeeded(60_000)
  t.equal(breaker.state, 'closed')
  t.ok(breaker.limit(50) < 10)
})

t.test('one that is woken is probed at once, and its pauses begin anew', async (t) => {
  const breaker = steady()
  for (let i = 0; i < 3; i++) breaker.failed(0, 0)
  for (let i = 0; i < 20; i++) breaker.probeFailed(0)
  t.notOk(breaker.wantsProbe(20_000))
  breaker.wake()
  t.ok(breaker.wantsProbe(20_000))
  breaker.probeFailed(20_000)
  t.notOk(breaker.wantsProbe(20_500))
  t.ok(breaker.wantsProbe(21_000))
})

t.test('a host that says enough is not dead', async (t) => {
  const breaker = steady()
  for (let i = 0; i < 30; i++) breaker.succeeded(0)
  breaker.failed(0, 12)
  t.equal(breaker.state, 'closed')
  t.equal(breaker.limit(50), 12)
  breaker.succeeded(100)
  t.equal(breaker.limit(50), 12, 'it stays there for a while')
  breaker.succeeded(10_000)
  t.equal(breaker.limit(50), 13)
})
