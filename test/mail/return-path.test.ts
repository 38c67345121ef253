import fc from 'fast-check'
import t from 'tap'
import { newRecipientId } from '../../src/base/id.js'
import {
  deriveKeys,
  makeRef,
  makeReturnPath,
  readRef,
  readReturnPath,
  verifyRef,
  verifyReturnPath,
} from '../../src/mail/return-path.js'

const DAY = 86_400_000
const pepper = Buffer.alloc(32, 7)
const keys = deriveKeys(pepper, '2', [{ id: '1', retiredAt: 100 * DAY }])
const subject = { recipientId: newRecipientId(), workspaceId: 'ws_a', address: 'Ana@Example.com' }
const path = makeReturnPath(keys, 'bounce.test', subject)
const local = path.split('@')[0] ?? ''

t.test('the token', async (t) => {
  t.match(path, /^b2[0-9a-z]{32}@bounce\.test$/)
  t.equal(local.length, 34)
  t.strictSame(readReturnPath(path), { keyId: '2', recipientId: subject.recipientId, mac: local.slice(18) })
  t.ok(verifyReturnPath(keys, local, subject))
  t.ok(verifyReturnPath(keys, path, { ...subject, address: 'ana@EXAMPLE.com' }))
})

t.test('survives its journeys', async (t) => {
  for (const form of [
    path.toUpperCase(),
    `<${path}>`,
    `SRS0=HHH=TT=bounce.test=${local}@forwarder.test`,
    `SRS0+HHH=TT=bounce.test=${local}@forwarder.test`,
    `srs1=HHH=other.test==HHH=TT=bounce.test=${local.toUpperCase()}@forwarder.test`,
    `prvs=1234abcdef=${local}@bounce.test`,
  ]) {
    t.ok(verifyReturnPath(keys, form, subject), form)
  }
})

t.test('speaks for one recipient only', async (t) => {
  t.notOk(verifyReturnPath(keys, path, { ...subject, workspaceId: 'ws_b' }))
  t.notOk(verifyReturnPath(keys, path, { ...subject, address: 'bob@example.com' }))
  t.notOk(verifyReturnPath(deriveKeys(Buffer.alloc(32, 8), '2'), path, subject), 'another house')
  t.notOk(verifyReturnPath(deriveKeys(pepper, '3'), path, subject), 'an unknown key')
  for (let i = 0; i < local.length; i++) {
    const changed = `${local.slice(0, i)}${local[i] === 'z' ? 'y' : 'z'}${local.slice(i + 1)}`
    t.notOk(verifyReturnPath(keys, changed, subject), `character ${i}`)
  }
})

t.test('purposes are apart', async (t) => {
  const envid = makeRef(keys, 'envid', subject)
  const ref = makeRef(keys, 'ref', subject)
  t.equal(new Set([local.slice(18), envid.slice(18), ref.slice(18)]).size, 3)
  const token = readRef('envid', envid.toUpperCase())
  t.ok(token !== null && verifyRef(keys, 'envid', token, subject))
  t.equal(readRef('ref', envid), null)
  t.equal(readReturnPath(envid), null)
  const swapped = readReturnPath(`b${envid.slice(1)}`)
  t.notOk(swapped !== null && verifyReturnPath(keys, swapped, subject), 'another letter is not enough')
})

t.test('keys rotate', async (t) => {
  const old = makeReturnPath(deriveKeys(pepper, '1'), 'bounce.test', subject)
  t.ok(verifyReturnPath(keys, old, subject, 145 * DAY))
  t.notOk(verifyReturnPath(keys, old, subject, 145 * DAY + 1))
  t.throws(() => deriveKeys(pepper, 'ab'))
  t.throws(() => deriveKeys(pepper, 'a', [{ id: 'a', retiredAt: 0 }]))
})

t.test('any text is read without harm, and no chance text verifies', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^b2[0-9a-hjkmnp-tv-z]{32}$/)), (text) => {
      return !verifyReturnPath(keys, text, subject)
    }),
    { numRuns: 300 },
  )
})
