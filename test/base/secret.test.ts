import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { keyedHash, seal, unseal } from '../../src/base/secret.js'

t.test('what is sealed opens with the same pepper and purpose, and with nothing else', async (t) => {
  const pepper = Buffer.alloc(32, 1)
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, purpose) => {
      const sealed = seal(pepper, purpose, text)
      t.equal(unseal(pepper, purpose, sealed), text)
      t.throws(() => unseal(pepper, `${purpose}.`, sealed))
      t.throws(() => unseal(Buffer.alloc(32, 2), purpose, sealed))
    }),
    { numRuns: 20 },
  )
})

t.test('no two lists of parts have one hash, nor have two purposes', async (t) => {
  const key = Buffer.alloc(32, 1)
  const hash = (purpose: string, ...parts: readonly string[]): string =>
    keyedHash(key, purpose, ...parts).toString('hex')
  const lists: readonly (readonly [string, ...string[]])[] = [
    ['p', 'ab', 'c'],
    ['p', 'a', 'bc'],
    ['p', 'abc'],
    ['pa', 'bc'],
    ['p', 'abc', ''],
  ]
  t.equal(new Set(lists.map((parts) => hash(...parts))).size, lists.length)
  t.equal(hash('p', 'ab'), hash('p', 'ab'))
  t.not(hash('p', 'ab'), keyedHash(Buffer.alloc(32, 2), 'p', 'ab').toString('hex'))
})

t.test('a hash stays what it is: it stands in databases and in return paths', async (t) => {
  const hash = keyedHash(Buffer.alloc(32, 1), 'purpose', 'a', '', 'ü')
  t.equal(hash.toString('hex'), '3cd30014baccdb8cf14631c0fc92d8aabc3f884079fc283f32e35f1644bb8d21')
})

t.test('a hash is the HMAC of RFC 2104, for keys and texts of every length', async (t) => {
  const texts = fc.string({ unit: 'binary', maxLength: 700 })
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(texts, { maxLength: 3 }), (key, parts) => {
      const said = ['purpose', ...parts].map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
      const expected = createHmac('sha256', key).update(said).digest('hex')
      t.equal(keyedHash(key, 'purpose', ...parts).toString('hex'), expected)
      t.equal(keyedHash(key, 'purpose', ...parts).toString('hex'), expected, 'the same key again')
    }),
    { numRuns: 200 },
  )
})
