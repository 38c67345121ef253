/**
 * The version moves with each change of the schema, so that apt takes what is newer for newer, and a database that is too
 * new for a Postern names one that exists. Each row is a release and the schemas that it makes; it is never edited. Who
 * adds a step gives package.json and package-lock.json the next version, and adds the row of it here and the entry in
 * CHANGELOG.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { schemas } from '../../src/store/open.js'

interface Release {
  readonly version: string
  readonly sqlite: number
  readonly postgres: number
}

const FIRST: Release = { version: '0.9.0', sqlite: 43, postgres: 6 }
const RELEASES: readonly Release[] = [
  FIRST,
  { version: '0.9.1', sqlite: 44, postgres: 6 },
  { version: '0.9.2', sqlite: 45, postgres: 7 },
  { version: '0.9.3', sqlite: 46, postgres: 8 },
  { version: '0.9.4', sqlite: 47, postgres: 9 },
  { version: '0.10.1', sqlite: 48, postgres: 10 },
  { version: '0.10.2', sqlite: 49, postgres: 11 },
  { version: '0.10.3', sqlite: 49, postgres: 12 },
  { version: '1.0.0', sqlite: 49, postgres: 13 },
]

const ROOT = join(import.meta.dirname, '..', '..', '..')
const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))
const isBelow = (one: string, other: string): boolean => {
  const [ours, theirs] = [one, other].map((version) => version.split('.').map(Number)) as [number[], number[]]
  const i = ours.findIndex((n, at) => n !== theirs[at])
  return i !== -1 && (ours[i] as number) < (theirs[i] as number)
}

t.test('each step of a schema came with a version of its own', async (t) => {
  RELEASES.slice(1).forEach((release, i) => {
    const before = RELEASES[i] as Release
    const steps = [release.sqlite - before.sqlite, release.postgres - before.postgres]
    t.ok(isBelow(before.version, release.version), `${release.version} comes after ${before.version}`)
    t.ok(
      steps.every((n) => n === 0 || n === 1) && steps.includes(1),
      `${release.version} brought one step of an engine, or of both`,
    )
  })
  const newest = RELEASES.at(-1) ?? FIRST
  const { sqlite, postgres } = newest
  t.same(
    { sqlite, postgres },
    await schemas(),
    'a new step: move the version, and add its row to RELEASES here',
  )
})

t.test('the package has that version, or a later one', async (t) => {
  const { version } = read('package.json')
  t.notOk(isBelow(version, (RELEASES.at(-1) ?? FIRST).version), `package.json says ${version}`)
  const lock = read('package-lock.json')
  t.same([lock.version, lock.packages[''].version], [version, version], 'package-lock.json says the same')
})

t.test('the papers show that version', async (t) => {
  const { version } = read('package.json')
  const container = readdirSync(join(ROOT, 'config/container')).map((name) => `config/container/${name}`)
  const papers = ['README.md', 'config/OPERATE.md', ...container].map((name) =>
    readFileSync(join(ROOT, name), 'utf8'),
  )
  const shown = [...papers.join('\n').matchAll(/\bpostern[ _:-](\d+\.\d+\.\d+)/gi)].map((match) => match[1])
  t.ok(shown.length > 0)
  t.same(new Set(shown), new Set([version]))
})

/** What a version may say, in this order; it begins with what its reader must do. */
const CHAPTERS = ['What you must do', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']

t.test(
  'the changelog has an entry of each version, newest first, which begins with what you must do',
  async (t) => {
    const [, ...parts] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## /m)
    const heads = parts.map((part) => part.split('\n', 1)[0] ?? '')
    t.equal(heads[0], '[Unreleased]')
    const versions = heads
      .slice(1)
      .map((head) => /^\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/.exec(head)?.[1] ?? head)
    for (const [i, version] of versions.slice(1).entries())
      t.ok(isBelow(version, versions[i] ?? ''), `${version} is below ${versions[i]}`)
    for (const { version, sqlite, postgres } of [
      ...RELEASES,
      { ...(RELEASES.at(-1) ?? FIRST), version: read('package.json').version },
    ]) {
      const part = parts[versions.indexOf(version) + 1] ?? ''
      t.ok(versions.includes(version), `CHANGELOG.md has an entry that begins with ## [${version}] - its day`)
      t.match(part, `Schemas: SQLite ${sqlite}, PostgreSQL ${postgres}.`, `${version} says its schemas`)
    }
    for (const part of parts) {
      const [head = ''] = part.split('\n', 1)
      const chapters = [...part.matchAll(/^### (.*)$/gm)].map(([, name = '']) => name)
      t.equal(chapters[0], CHAPTERS[0], `${head} begins with what you must do`)
      t.same(
        chapters,
        CHAPTERS.filter((name) => chapters.includes(name)),
        `${head} has its chapters in order`,
      )
    }
  },
)
