import t from 'tap'
import { createDiskWatch } from '../../src/base/folder.js'

t.test('says it once when room runs out, and once when it is back', async (t) => {
  let free: number | null = 50
  let mark = 100
  const said: [boolean, number][] = []
  let looked: () => void = () => {}
  const watch = createDiskWatch({
    folder: '/',
    mark: () => mark,
    every: 1,
    changed: (isLow, left) => said.push([isLow, left]),
    freeOf: async () => {
      setImmediate(() => looked())
      if (free === null) throw new Error('no such folder')
      return free
    },
  })
  const look = () => new Promise<void>((resolve) => (looked = resolve))
  const awake = setInterval(() => {}, 1000) // the watch itself keeps no process alive
  t.teardown(() => clearInterval(awake))
  await watch.stop()
  await watch.start()
  await watch.start()
  t.ok(watch.isLow)
  await look()
  mark = 10
  await look()
  await look()
  t.notOk(watch.isLow)
  free = null
  await look()
  await look()
  t.notOk(watch.isLow, 'not knowing is not low')
  t.equal(watch.free, null)
  t.strictSame(said, [
    [true, 50],
    [false, 50],
  ])
  await watch.stop()
})

t.test('asks the file system', async (t) => {
  const watch = createDiskWatch({ folder: import.meta.dirname, mark: () => 0, changed: () => {} })
  await watch.start()
  t.ok((watch.free ?? 0) > 0)
  await watch.stop()
})
