/** What `npm ci` does in a checkout, by a Node that takes the SQLite driver as it comes and by one that compiles it. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { COMPILERS, failing, isOldNode, otherNode } from '../parts/other-node.js'
import { ROOT } from '../parts/postern.js'
import { must, run } from '../parts/run.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-install-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

t.test('npm ci: nothing is compiled from Node 22.14 on, and before it is said', async (t) => {
  const newer = isOldNode ? await otherNode(dir) : process.execPath
  const older = isOldNode ? process.execPath : await otherNode(dir)
  const tree = join(dir, 'checkout')
  for (const name of ['package.json', 'package-lock.json', 'bin'])
    cpSync(join(ROOT, name), join(tree, name), {
      recursive: true,
      filter: (from) => !from.includes('node_modules'),
    })
  const { folder, called } = failing(dir, COMPILERS)
  const PATH = `${folder}:${dirname(newer)}:${process.env.PATH}`
  await must('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], tree, { PATH })
  t.strictSame(called(), [], 'no compiler was called')
  t.notOk(existsSync(join(tree, 'bin/native/node20/node_modules')))
  const script = 'for (const name of process.argv.slice(1)) require(name)'
  await must(
    newer,
    ['-e', `${script}; new (require(process.argv[1]))(':memory:')`, 'better-sqlite3', 'bcrypt'],
    tree,
  )

  const npm = join(dir, 'npm')
  mkdirSync(npm)
  writeFileSync(join(npm, 'npm'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  const install = (node: string) =>
    run(node, [join(tree, 'bin/native/install.mjs')], tree, {
      PATH: `${npm}:${process.env.PATH}`,
      npm_execpath: '',
    })
  t.match(await install(older), { code: 0, stderr: /^postern: compiles .* now, for about \d minutes.*\n$/ })
  t.match(await install(newer), { code: 0, stderr: '' })
})
