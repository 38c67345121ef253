/** Keys of return paths, through a rotation and out of memory. */
import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bringRing, keptRing, liveKeys, type RingStore, rotateKeys } from '../../src/keys/return-path.js'
import { makeReturnPath, verifyReturnPath } from '../../src/mail/return-path.js'
import { createMemory, openMemoryStore } from '../model/open.js'

const DAY = 86_400_000
const pepper = randomBytes(32)
const subject = { recipientId: '0000000000000001', workspaceId: 'ws_1', address: 'a@example.com' }

const open = async (): Promise<RingStore> => {
  const store = openMemoryStore(createMemory())
  await store.open()
  return store
}

t.test('what an old key signed is known for 45 days', async (t) => {
  const store = await open()
  const { keys, look } = await liveKeys(store, pepper)
  const known = (old: string, at: number) => verifyReturnPath(keys, old, subject, at)
  const now = 1_800_000_000_000
  const first = makeReturnPath(keys, 'bounce.test', subject)
  t.match(await rotateKeys(store, now), { current: '2', retired: [{ id: '1', retiredAt: now }] })
  await look()
  const second = makeReturnPath(keys, 'bounce.test', subject)
  t.not(second, first)
  t.ok(known(first, now + 44 * DAY) && known(second, now))
  t.notOk(known(first, now + 46 * DAY))
  t.match(await rotateKeys(store, now + 50 * DAY), { current: '3', retired: [{ id: '2' }] })
  t.equal((await keptRing(store)).retired.length, 1, 'what verifies nothing is forgotten')
  for (let i = 0; i < 40; i++) await rotateKeys(store, now + (200 + 46 * i) * DAY)
  t.equal((await keptRing(store)).retired.length, 1, 'ids are used again')
})

t.test('two rotations at once are two', async (t) => {
  const store = await open()
  await Promise.all([rotateKeys(store, 1000), rotateKeys(store, 1000)])
  t.match(await keptRing(store), { current: '3', retired: [{ id: '1' }, { id: '2' }] })
})

t.test('the file of an older Postern is taken once', async (t) => {
  const dir = t.testdir({})
  const store = await open()
  await bringRing(store, dir)
  t.match(await keptRing(store), { current: '1' })
  const file = join(dir, 'return-path.json')
  writeFileSync(file, '{"current":"2","retired":[{"id":"1","retiredAt":5}]}\n')
  await bringRing(store, dir)
  t.match(await keptRing(store), { current: '2', retired: [{ id: '1' }] })
  t.notOk(existsSync(file))
})

t.test('a damaged file is no first run', async (t) => {
  const dir = t.testdir({})
  const store = await open()
  for (const text of ['', '{}', '{"current":"xx","retired":[]}', '{"current":"1","retired":[null]}']) {
    writeFileSync(join(dir, 'return-path.json'), text)
    await t.rejects(bringRing(store, dir), /damaged/, text)
  }
  await store.replaceReturnPathRing(null, '{}')
  await t.rejects(liveKeys(store, pepper), /damaged/)
})
