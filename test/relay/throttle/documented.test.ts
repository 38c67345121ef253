/** The table in config/README.md and the one that decides are the same. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PACE_RULES } from '../../../src/relay/throttles.js'

const README = join(import.meta.dirname, '..', '..', '..', '..', 'config', 'README.md')

t.test('each rule has its row, in order', async (t) => {
  const rows = [
    ...readFileSync(README, 'utf8').matchAll(/^\| `([\w-]+)` \| .*? \| (nothing|fewer|pause)\b/gm),
  ]
  t.same(
    rows.map(([, name, does]) => [name, does]),
    PACE_RULES.map(({ name, does }) => [name, does]),
  )
})
