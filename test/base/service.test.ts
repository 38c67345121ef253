import t from 'tap'
import { repeated, startAll, startLater, stopAll, whileOurs } from '../../src/base/service.js'
import { eventually } from '../parts/eventually.js'

const quiet = { restMs: 3_600_000, told: () => {}, over: () => {} }

t.test('a service that is stopped within a turn ends with it, and does not rest first', async (t) => {
  let end: (ms: number) => void = () => {}
  const service = repeated('one', () => new Promise<number>((resolve) => (end = resolve)), quiet)
  await service.start()
  const stopped = service.stop()
  end(3_600_000)
  await stopped
  t.pass('stopped')
})

t.test(
  'what nobody waits for starts when it is told to, in its order; a stop waits for it, and ends the rest',
  async (t) => {
    const did: string[] = []
    const gates = new Map<string, () => void>()
    const slow = (name: string) => ({
      name,
      async start() {
        did.push(`${name} begins`)
        await new Promise<void>((resolve) => gates.set(name, resolve))
        did.push(`${name} is there`)
      },
      async stop() {
        did.push(`${name} ends`)
      },
    })
    const { later, begin } = startLater()
    const services = ['one', 'two', 'three'].map((name) => later(slow(name)))
    await startAll(services)
    t.same(did, [], 'the start of all waits for none of them')
    const begun = begin()
    gates.get('one')?.()
    await eventually('the second begins', () => did.includes('two begins'))
    const stopped = stopAll(services)
    gates.get('two')?.()
    await Promise.all([begun, stopped])
    t.same(did, [
      ...['one begins', 'one is there', 'two begins', 'two is there'],
      ...['three ends', 'two ends', 'one ends'],
    ])
  },
)

t.test('what fails to start later is told to whoever began it', async (t) => {
  const { later, begin } = startLater()
  const broken = later({
    name: 'broken',
    start: () => Promise.reject(new Error('it cannot')),
    async stop() {},
  })
  await startAll([broken])
  await t.rejects(begin(), { message: 'it cannot' })
  await stopAll([broken], () => t.fail('it stops all the same'))
})

t.test('a service that rests is stopped at once', async (t) => {
  let turns = 0
  const service = repeated('one', async () => ++turns * 3_600_000, quiet)
  await service.start()
  await service.stop()
  await service.stop()
  t.equal(turns, 1)
})

t.test('what a turn throws is told, and the next one comes', async (t) => {
  const told: string[] = []
  let turns = 0
  const done = new Promise<void>((resolve) => {
    const service = repeated(
      'one',
      async () => {
        turns++
        if (turns === 1) throw new Error('no room')
        if (turns === 3) resolve()
        return turns === 3 ? 3_600_000 : 0
      },
      { restMs: 0, told: ({ message }) => told.push(message), over: () => told.push('over') },
    )
    void service.start().then(() => t.teardown(() => service.stop()))
  })
  await done
  t.strictSame(told, ['no room', 'over'])
})

t.test(
  'what runs in one of several places is made when it is ours, and stopped when it is no more',
  async (t) => {
    let isOurs = false
    let fails = false
    const did: string[] = []
    const told: string[] = []
    let made = 0
    const make = () => {
      const n = ++made
      return {
        name: 'one',
        async start() {
          if (fails) throw new Error('it cannot')
          did.push(`start ${n}`)
        },
        async stop() {
          did.push(`stop ${n}`)
        },
      }
    }
    const service = whileOurs('one', make, {
      isOurs: async () => isOurs,
      everyMs: 5,
      told: ({ message }) => told.push(message),
      over: () => {},
    })
    await service.start()
    t.same(did, [])
    isOurs = true
    await eventually('it starts', () => did.length === 1)
    isOurs = false
    await eventually('it stops', () => did.length === 2)
    fails = true
    isOurs = true
    await eventually('it is told', () => told.includes('it cannot'))
    fails = false
    await eventually('it starts anew', () => did.length === 3)
    await service.stop()
    await service.stop()
    t.equal(did.length, 4)
    t.match(did, ['start 1', 'stop 1', /^start/, /^stop/])
  },
)
