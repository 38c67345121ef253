/** A Node that is too old is told so at once, with the remedy, before anything native is loaded. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BIN, ROOT } from '../parts/postern.js'
import { run } from '../parts/run.js'

const SAYS = "Object.defineProperty(process.versions, 'node', { value: process.env.AS })"
const preload = join(t.testdir({ 'as.cjs': SAYS }), 'as.cjs')

/** bin/postern under a Node that says it is this version. */
const under = (version: string) =>
  run('env', [`AS=${version}`, process.execPath, '-r', preload, BIN, 'version'])

t.test('18 and 20.18 are refused, in one line and with 78', async (t) => {
  for (const version of ['18.20.8', '20.18.3', '9.11.2']) {
    const { code, stdout, stderr } = await under(version)
    t.equal(code, 78)
    t.equal(stdout, '')
    t.match(
      stderr,
      new RegExp(
        `^postern: Postern needs Node 20\\.19 or newer, and this is Node ${version}: install [^\\n]+\\n$`,
      ),
    )
  }
})

t.test('what engines allows is let through', async (t) => {
  for (const version of ['20.19.0', '22.0.0', '24.21.0', '100.0.0']) {
    t.match(await under(version), { code: 0, stdout: /^postern / })
  }
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.strictSame(engines, { node: '>=20.19' })
})
