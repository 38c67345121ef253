import t from 'tap'
import { type Clock, STEP_MS, steadyClock } from '../../src/base/clock.js'

const moving = () => {
  const at = { wall: 1_800_000_000_000, tick: 500 }
  const clock: Clock = { now: () => at.wall, tick: () => at.tick }
  const pass = (ms: number) => {
    at.wall += ms
    at.tick += ms
  }
  return { at, clock, pass }
}

t.test('a step is told once, with its size, before the time is given', async (t) => {
  const { at, clock, pass } = moving()
  const told: number[] = []
  const steady = steadyClock(clock, (by) => told.push(by))
  pass(3_600_000)
  t.equal(steady.now(), at.wall)
  t.equal(steady.steadySince(), 500, 'since the start')
  at.wall += 172_800_000
  pass(10)
  t.equal(steady.now(), at.wall)
  t.same(told, [172_800_000])
  t.equal(steady.steadySince(), at.tick)
  steady.now()
  t.same(told, [172_800_000], 'once')
  pass(1_000)
  at.wall -= 3_600_000
  t.equal(steady.steadySince(), at.tick, 'whoever asks sees it first')
  t.same(told, [172_800_000, -3_600_000])
  t.equal(steady.steps, 2)
})

t.test('a clock that is corrected is not set, until that adds up', async (t) => {
  const { at, clock } = moving()
  const told: number[] = []
  const steady = steadyClock(clock, (by) => told.push(by))
  at.wall += STEP_MS
  steady.now()
  t.same(told, [])
  at.wall += 1
  steady.now()
  t.same(told, [STEP_MS + 1])
})
