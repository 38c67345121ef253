import { chmodSync, mkdtempSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { DamagedFileError, LooseModeError, loadPepper, seal, unseal } from '../../src/base/secret.js'

const folder = (): string => mkdtempSync(join(tmpdir(), 'postern-secret-'))

t.test('the pepper is made once, for its owner only', async (t) => {
  const dir = folder()
  const first = loadPepper(dir)
  t.equal(first.length, 32)
  t.equal(statSync(join(dir, 'pepper')).mode & 0o777, 0o600)
  t.same(loadPepper(dir, false), first)
  t.same(readdirSync(dir), ['pepper'], 'no draft stays behind')
})

t.test('a pepper that is lost is missed, not replaced', async (t) => {
  const dir = folder()
  loadPepper(dir)
  unlinkSync(join(dir, 'pepper'))
  t.throws(() => loadPepper(dir, false), DamagedFileError)
  t.same(readdirSync(dir), [])
})

t.test('a damaged pepper, one that others can read, and a folder that others can enter', async (t) => {
  const dir = folder()
  loadPepper(dir)
  chmodSync(join(dir, 'pepper'), 0o644)
  t.throws(() => loadPepper(dir), LooseModeError)
  chmodSync(join(dir, 'pepper'), 0o600)
  writeFileSync(join(dir, 'pepper'), '')
  t.throws(() => loadPepper(dir), DamagedFileError)
  chmodSync(dir, 0o755)
  t.throws(() => loadPepper(dir), LooseModeError)
})

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
