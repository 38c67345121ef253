import t from 'tap'
import { repeated } from '../../src/base/service.js'

const quiet = { restMs: 3_600_000, told: () => {} }

t.test('a service that is stopped within a turn ends with it, and does not rest first', async (t) => {
  let end: (ms: number) => void = () => {}
  const service = repeated('one', () => new Promise<number>((resolve) => (end = resolve)), quiet)
  await service.start()
  const stopped = service.stop()
  end(3_600_000)
  await stopped
  t.pass('stopped')
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
        resolve()
        return 3_600_000
      },
      { restMs: 0, told: ({ message }) => told.push(message) },
    )
    void service.start().then(() => t.teardown(() => service.stop()))
  })
  await done
  t.strictSame(told, ['no room'])
})
