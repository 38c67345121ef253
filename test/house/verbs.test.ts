/**
 * Every verb of the port is called by the contract suite, so that an engine which passes it has them all.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VERBS } from '../../src/store/port/store.js'

const CONTRACT = join(import.meta.dirname, '..', '..', '..', 'test', 'store')

t.test('the contract calls every verb of the port', async (t) => {
  const files = readdirSync(CONTRACT).filter((name) => /^contract.*\.ts$/.test(name))
  const text = files.map((name) => readFileSync(join(CONTRACT, name), 'utf8')).join('\n')
  for (const name of Object.keys(VERBS))
    t.ok(new RegExp(`\\.${name}\\(`).test(text), `${name} has a case in one of test/store/contract-*.ts`)
})
