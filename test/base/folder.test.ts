import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DataFolderError, makeDataFolder, writeWhole } from '../../src/base/folder.js'

t.test('makes what is missing, for its owner alone', async (t) => {
  const folder = join(t.testdir(), 'a', 'b')
  makeDataFolder(folder)
  makeDataFolder(folder)
  t.equal(statSync(folder).mode & 0o777, 0o700)
})

t.test('a place that takes no folder is told in one line', async (t) => {
  const dir = t.testdir()
  writeFileSync(join(dir, 'file'), '')
  const refused = (path: string, code: string, words: RegExp): void => {
    try {
      makeDataFolder(path)
      t.fail(`${path} was accepted`)
    } catch (error) {
      t.type(error, DataFolderError)
      t.match(error, { code, message: words })
      t.match((error as Error).message, new RegExp(`^data_dir: ${path} `))
    }
  }
  refused(join(dir, 'file', 'x'), 'ENOTDIR', /no folder/)
  refused(join(dir, 'file'), 'EEXIST', /it is no folder/)
  if (process.platform === 'linux') refused('/proc/nope', 'ENOENT', /nothing can be made there/)
  const locked = join(dir, 'locked')
  mkdirSync(locked, { mode: 0o500 })
  if (process.getuid?.() === 0) t.comment('root may write anywhere, so permissions are not tried')
  else refused(locked, 'EACCES', /permission denied/)
})

t.test('a file is written whole, for its owner alone, or not at all', async (t) => {
  const dir = t.testdir({ old: 'before', folder: { in: '' } })
  const old = join(dir, 'old')
  writeWhole(old, 'after')
  t.equal(readFileSync(old, 'utf8'), 'after')
  t.equal(statSync(old).mode & 0o777, 0o600)
  t.throws(() => writeWhole(join(dir, 'folder'), 'x'))
  t.throws(() => writeWhole(join(dir, 'none', 'new'), 'x'), { code: 'ENOENT' })
  t.same(readdirSync(dir), ['folder', 'old'], 'nothing is left')
})
