/** Keys of return paths, through a rotation and out of memory. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readKeyRing, returnPathKeys, rotateKeys } from '../../src/keys/return-path.js'
import { makeReturnPath, verifyReturnPath } from '../../src/mail/return-path.js'

const DAY = 86_400_000
const pepper = randomBytes(32)
const subject = { recipientId: '0000000000000001', workspaceId: 'ws_1', address: 'a@example.com' }

t.test('what an old key signed is known for 45 days', async (t) => {
  const dir = t.testdir({})
  const path = () => makeReturnPath(returnPathKeys(dir, pepper), 'bounce.test', subject)
  const known = (old: string, at: number) => verifyReturnPath(returnPathKeys(dir, pepper), old, subject, at)
  const now = 1_800_000_000_000
  const first = path()
  t.match(rotateKeys(dir, now), { current: '2', retired: [{ id: '1', retiredAt: now }] })
  const second = path()
  t.not(second, first)
  t.ok(known(first, now + 44 * DAY) && known(second, now))
  t.notOk(known(first, now + 46 * DAY))
  t.match(rotateKeys(dir, now + 50 * DAY), { current: '3', retired: [{ id: '2' }] })
  t.equal(readKeyRing(dir).retired.length, 1, 'what verifies nothing is forgotten')
  for (let i = 0; i < 40; i++) rotateKeys(dir, now + (200 + 46 * i) * DAY)
  t.equal(readKeyRing(dir).retired.length, 1, 'ids are used again')
})

t.test('a damaged file is no first run', async (t) => {
  const dir = t.testdir({})
  for (const text of ['', '{}', '{"current":"xx","retired":[]}', '{"current":"1","retired":[null]}']) {
    writeFileSync(join(dir, 'return-path.json'), text)
    t.throws(() => readKeyRing(dir), /damaged/, text)
  }
})
