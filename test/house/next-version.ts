/**
 * Moves the version on, wherever it is written: for a step of the schema, and for a release.
 *   npm run next-version -- [VERSION]       by default the next patch
 * In papers and manifests it stands behind the name of the product; other numbers that are alike are those of others.
 * What stands under "Unreleased" in CHANGELOG.md becomes the entry of that version; what the version means for those who run
 * Postern is left to write. A schema that has grown gets its row in releases.test.ts.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { schemas } from '../../src/store/open.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const RELEASES = 'test/house/releases.test.ts'
/** Where it is written. */
const PLACES = ['README.md', 'config', 'package.json', 'package-lock.json']
/** package-lock.json up to what we depend on. */
const OURS = /^[\s\S]*?"dependencies"/

const change = (name: string, made: (text: string) => string): void => {
  const text = readFileSync(join(ROOT, name), 'utf8')
  const next = made(text)
  if (next === text) return
  writeFileSync(join(ROOT, name), next)
  process.stdout.write(`${name}\n`)
}

const { version: now } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const [major = 0, minor = 0, patch = 0] = now.split('.').map(Number)
const next = process.argv[2] ?? `${major}.${minor}.${patch + 1}`
if (!/^\d+\.\d+\.\d+$/.test(next)) {
  process.stderr.write(`${next} is no version such as 1.1.0\n`)
  process.exit(64)
}

const { sqlite, postgres } = await schemas()
const there = execFileSync('git', ['grep', '-lF', now, '--', ...PLACES], { cwd: ROOT })
const own = new RegExp(`(\\bpostern[ _:-]|^ +"version": ")${now.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'gim')
const moved = (text: string): string => text.replace(own, (_, before: string) => before + next)
for (const name of there.toString().split('\n').filter(Boolean))
  change(name, (text) =>
    // a package that we depend on may have the same number: ours are the first two lines that say one
    name === 'package-lock.json' ? text.replace(OURS, moved) : moved(text),
  )

change('CHANGELOG.md', (text) =>
  text.replace(
    '## [Unreleased]\n',
    `## [Unreleased]\n\n### What you must do\n\n- Nothing.\n\n## [${next}] - ${new Date().toISOString().slice(0, 10)}\n\nSchemas: SQLite ${sqlite}, PostgreSQL ${postgres}.\n`,
  ),
)

const ends = `sqlite: ${sqlite}, postgres: ${postgres} },\n]`
change(RELEASES, (text) =>
  text.includes(ends) ? text : text.replace('},\n]', `},\n  { version: '${next}', ${ends}`),
)
