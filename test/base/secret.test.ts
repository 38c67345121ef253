import fc from 'fast-check'
import t from 'tap'
import { seal, unseal } from '../../src/base/secret.js'

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
