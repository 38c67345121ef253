/** What is made from the commands: the manual page, the completion, and the first configuration. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { isSubject, verbOf } from '../../src/cli/command.js'
import { loadWhole } from '../../src/cli/parse.js'
import { here, openDesk } from './desk.js'

t.test('the catalog tells no lies', async (t) => {
  const names = CATALOG.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  for (const entry of CATALOG) {
    const { name, summary } = entry
    const loaded = await loadWhole(entry)
    if (!isSubject(loaded)) {
      t.equal(verbOf(loaded), name)
      continue
    }
    t.equal(loaded.name, name)
    t.match(summary, loaded.commands.map(verbOf).join(', '), `the summary of ${name} names its verbs`)
  }
})

t.test('the manual page names every command', async (t) => {
  const { stdout } = await here(['man'])
  const plain = stdout.replaceAll('\\-', '-')
  for (const { name } of CATALOG) t.match(plain, new RegExp(`\\.SS "postern ${name}`))
  t.notMatch(stdout, /[^\x20-\x7e\n]/)
})

const groff = spawnSync('groff', ['--version']).status === 0
t.test('groff has no warning for it', { skip: groff ? false : 'groff is not installed' }, async (t) => {
  const { stdout } = await here(['man'])
  const said = spawnSync('groff', ['-man', '-Tascii', '-ww'], { input: stdout, encoding: 'utf8' })
  t.equal(said.stderr, '')
})

t.test('the completion completes', async (t) => {
  const desk = openDesk(t)
  const script = desk.file('completion', (await here(['completion'])).stdout)
  const complete = (...words: readonly string[]): string[] => {
    const line = words.map((word) => `'${word}'`).join(' ')
    const run = `source ${script}; COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _postern; echo "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', run], { encoding: 'utf8', cwd: desk.dir }).trim().split(' ')
  }
  t.same(complete('postern', 'work'), ['workspace'])
  t.same(complete('postern', 'workspace', ''), [
    'list',
    'show',
    'create',
    'update',
    'suspend',
    'resume',
    'delete',
  ])
  t.same(complete('postern', 'workspace', 'update', 'default', '--po'), ['--pool'])
  t.same(complete('postern', 'key', 'create', '--mode', ''), ['live', 'test'])
  t.same(complete('postern', 'email', 'list', '--status', 'b'), ['bounced'])
  t.same(complete('postern', 'config', 'check', '--config', 'post'), ['postern.yaml'])
})

t.test('init writes a file once, and routes it', async (t) => {
  const desk = openDesk(t)
  const file = join(desk.dir, 'etc', 'postern.yaml')
  const init = (...more: readonly string[]) => here(['init', '--no-input', '--config', file, ...more])
  t.match(await init('--hostname', 'not a name'), { code: 78, stderr: /hostname: expected a host name/ })
  t.match(await init('--hostname', 'mail.example.com', '--upstream', 'mta1'), {
    code: 65,
    stderr: /--upstream/,
  })
  t.notOk(existsSync(file), 'nothing was written')
  const made = await init('--hostname', 'mail.example.com', '--upstream', 'smtp://mta1.example.com:25')
  t.match(made, { code: 0, stdout: `${file}\n`, stderr: /next: postern doctor --config .* && postern serve/ })
  t.match(readFileSync(file, 'utf8'), /^hostname: mail\.example\.com$/m)
  t.match(await here(['config', 'check', '--config', file]), { code: 0 })
  const { stdout } = await here(['workspace', 'show', 'default', '--config', file, '--json'])
  t.match(JSON.parse(stdout).egress_pool_id, /^pool_/)
  t.match(await init('--hostname', 'mail.example.com'), { code: 73, stderr: /exists already; edit it/ })
})
