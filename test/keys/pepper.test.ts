/** The pepper: made once, missed when lost, from a credential or a file, and never two of them. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DamagedFileError, LooseModeError, PepperError } from '../../src/base/secret.js'
import { findPeppers, loadPepper } from '../../src/keys/pepper.js'

const scene = (t: Test) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-pepper-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const data_dir = join(dir, 'data')
  const credentials = join(dir, 'credentials')
  mkdirSync(credentials)
  const put = (file: string, byte: number, mode = 0o600): string => {
    writeFileSync(file, Buffer.alloc(32, byte), { mode })
    chmodSync(file, mode)
    return file
  }
  return { dir, data_dir, credentials, put }
}

t.test('made once, for its owner only', async (t) => {
  const { data_dir } = scene(t)
  const first = loadPepper({ data_dir })
  t.equal(first.length, 32)
  t.equal(statSync(join(data_dir, 'pepper')).mode & 0o777, 0o600)
  t.same(loadPepper({ data_dir }, { firstRun: false }), first)
  t.same(readdirSync(data_dir), ['pepper'], 'no draft stays behind')
})

t.test('lost, it is missed and not replaced', async (t) => {
  const { data_dir } = scene(t)
  loadPepper({ data_dir })
  unlinkSync(join(data_dir, 'pepper'))
  t.throws(() => loadPepper({ data_dir }, { firstRun: false }), DamagedFileError)
  t.same(readdirSync(data_dir), [])
})

t.test('damaged, or open to others, as a file or by its folder', async (t) => {
  const { data_dir } = scene(t)
  loadPepper({ data_dir })
  chmodSync(join(data_dir, 'pepper'), 0o644)
  t.throws(() => loadPepper({ data_dir }), LooseModeError)
  chmodSync(join(data_dir, 'pepper'), 0o600)
  writeFileSync(join(data_dir, 'pepper'), '')
  t.throws(() => loadPepper({ data_dir }), DamagedFileError)
  chmodSync(data_dir, 0o755)
  t.throws(() => loadPepper({ data_dir }), LooseModeError)
})

t.test(
  'an unused folder, as a checkout leaves it, becomes private; one with anything in it is left alone',
  async (t) => {
    const { data_dir } = scene(t)
    mkdirSync(data_dir, { recursive: true })
    writeFileSync(join(data_dir, 'notes.txt'), 'mine')
    chmodSync(data_dir, 0o755)
    t.throws(() => loadPepper({ data_dir }), LooseModeError)
    t.equal(statSync(data_dir).mode & 0o777, 0o755)
    unlinkSync(join(data_dir, 'notes.txt'))
    writeFileSync(join(data_dir, '.gitkeep'), '')
    chmodSync(data_dir, 0o1777)
    t.throws(() => loadPepper({ data_dir }), LooseModeError, 'shared by all users, as /tmp is')
    chmodSync(data_dir, 0o755)
    t.equal(loadPepper({ data_dir }).length, 32)
    t.equal(statSync(data_dir).mode & 0o777, 0o700)
  },
)

t.test('pepper_file: made there, shared with its group at most', async (t) => {
  const { dir, data_dir } = scene(t)
  const place = { data_dir, pepper_file: join(dir, 'etc', 'pepper') }
  const made = loadPepper(place)
  t.same(readdirSync(data_dir), [])
  chmodSync(place.pepper_file, 0o640)
  t.same(loadPepper(place, { firstRun: false }), made)
  chmodSync(place.pepper_file, 0o660)
  t.throws(() => loadPepper(place), /chmod 640/)
})

t.test('a credential wins, whatever its group bits, and makes no file', async (t) => {
  const { data_dir, credentials, put } = scene(t)
  put(join(credentials, 'pepper'), 7, 0o440)
  t.same(loadPepper({ data_dir }, { credentials }), Buffer.alloc(32, 7))
  t.same(readdirSync(data_dir), [])
  t.same(loadPepper({ data_dir }, { credentials: join(credentials, 'none') }).length, 32, 'none: the file')
})

t.test('two of them must be one', async (t) => {
  const { dir, data_dir, credentials, put } = scene(t)
  mkdirSync(data_dir, { mode: 0o700 })
  const place = { data_dir, pepper_file: put(join(dir, 'pepper'), 7, 0o640) }
  put(join(credentials, 'pepper'), 7)
  t.same(loadPepper(place, { credentials }), Buffer.alloc(32, 7))
  put(join(data_dir, 'pepper'), 8)
  t.throws(() => loadPepper(place, { credentials }), PepperError)
  t.throws(() => loadPepper(place), /two different peppers/)
  t.same(
    findPeppers(place, credentials).map(({ file }) => file.slice(dir.length)),
    ['/credentials/pepper', '/pepper', '/data/pepper'],
  )
  const [one, two, three] = findPeppers(place, credentials)
  t.equal(one?.mark, two?.mark)
  t.not(one?.mark, three?.mark)
})
