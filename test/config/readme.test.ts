/** The table of settings in config/README.md is the schema's: `postern config reference --markdown` prints it anew. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { settings, settingsTable } from '../../src/config/reference.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const [, after = ''] = readFileSync(join(ROOT, 'config', 'README.md'), 'utf8').split('\n## Settings\n')
const table = after.split('\n## ')[0]?.match(/^\|.*(?:\n\|.*)*/m)?.[0] ?? ''

t.equal(
  table,
  settingsTable(),
  'the table in config/README.md is what `postern config reference --markdown` prints: paste it',
)
for (const { key, description } of settings()) {
  t.match(description, /^\S.{9,}[^.\s]$/, `${key} is described, without a full stop`)
}
