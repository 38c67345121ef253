/** An address that was refused as dead while the store was away is listed when it is back. */
import t from 'tap'
import { Fault } from '../../src/base/fault.js'
import { suppressLater } from '../../src/outcome/suppress.js'

const REFUSAL = { reason: 'hard_bounce', text: '5.1.1 no such user', upstreamId: null }

t.test('while the store is away', async (t) => {
  let asked = 0
  await new Promise<void>((resolve) => {
    const recipient = async () => {
      if (++asked < 3) throw new Fault('service.unavailable')
      resolve()
      return null
    }
    const store = { recipient, addHardBounce: () => t.fail('nobody is there') as never }
    const clock = { now: () => 0, tick: () => 0 }
    // the wait of its own keeps no process alive
    const alive = setInterval(() => {}, 1000)
    t.teardown(() => clearInterval(alive))
    suppressLater({ store, clock, log: { error: () => t.fail('it gave up') } })('r', REFUSAL)
  })
  t.equal(asked, 3)
})

t.test('what cannot be is logged', async (t) => {
  const store = {
    recipient: () => Promise.reject(new Error('broken')),
    addHardBounce: () => t.fail('never') as never,
  }
  const said = await new Promise<unknown>((resolve) => {
    const log = { error: (_: unknown, text: string) => resolve(text) }
    suppressLater({ store, clock: { now: () => 0, tick: () => 0 }, log: log as never })('r', REFUSAL)
  })
  t.equal(said, 'not suppressed')
})
