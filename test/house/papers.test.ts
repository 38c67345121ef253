/**
 * The papers of the rooms are whole: a room with more than ten files has a README that names each of its files and
 * folders, and names none that is gone. `src/README.md` has a row for each room.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const SRC = join(import.meta.dirname, '..', '..', '..', 'src')
const LARGE = 10

const entriesOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || /\.tsx?$/.test(entry.name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))

const filesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true }).filter((name) => /\.tsx?$/.test(String(name))).length

const paths = readdirSync(SRC, { recursive: true }).map(String)

const rooms = readdirSync(SRC, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

/** From the top, or somewhere in the room. */
const isThere = (room: string, name: string): boolean =>
  [SRC, join(SRC, '..')].some((base) => existsSync(join(base, name))) ||
  paths.some((path) => path.startsWith(room) && `/${path}`.endsWith(`/${name.replace(/\/$/, '')}`))

/** The names between back quotes that look like a file or a folder. */
const namesIn = (paper: string): string[] =>
  [...paper.matchAll(/`([\w./-]+(?:\.tsx?|\/))`/g)].map((match) => match[1] as string)

t.test('every room has its row in src/README.md', async (t) => {
  const paper = readFileSync(join(SRC, 'README.md'), 'utf8')
  for (const room of rooms)
    t.ok(paper.includes(`| ${room}/ |`), `src/README.md lacks a row that begins with | ${room}/ |`)
})

t.test('a large room has a README that names its files', async (t) => {
  for (const room of rooms.filter((name) => filesIn(join(SRC, name)) > LARGE)) {
    const file = join(SRC, room, 'README.md')
    if (
      !t.ok(
        existsSync(file),
        `src/${room}/README.md is there: more than ${LARGE} files need one (copy the form of src/smtp/README.md)`,
      )
    )
      continue
    const paper = readFileSync(file, 'utf8')
    const named = namesIn(paper)
    for (const entry of entriesOf(join(SRC, room)))
      t.ok(named.includes(entry), `src/${room}/README.md says in its table what \`${entry}\` does`)
  }
})

t.test('no paper names a file that is gone', async (t) => {
  for (const room of ['', ...rooms]) {
    const file = join(SRC, room, 'README.md')
    if (!existsSync(file)) continue
    for (const name of namesIn(readFileSync(file, 'utf8')))
      t.ok(
        isThere(room, name),
        `${join('src', room, 'README.md')} names ${name}, which is nowhere: has it moved?`,
      )
  }
})

t.test('each recipe names a commit that did it', async (t) => {
  const [, recipes = ''] =
    /^## Where to add\n(.*?)^## /ms.exec(readFileSync(join(SRC, 'README.md'), 'utf8')) ?? []
  const rows = [...recipes.matchAll(/^\| ([^|]+) \|/gm)].map(([, what = '']) => what).slice(2)
  t.ok(rows.length > 0)
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: SRC, encoding: 'utf8' })
  // a copy without the history, or with the end of it, cannot tell
  const isWhole = git('cat-file', '-e', '052547be^{commit}').status === 0
  for (const row of rows) {
    const commit = /\(([0-9a-f]{8})\)$/.exec(row)?.[1]
    t.ok(commit, `"${row}" ends with a commit, (1234abcd)`)
    if (commit !== undefined && isWhole)
      t.equal(git('cat-file', '-e', `${commit}^{commit}`).status, 0, `${commit} is in the history`)
  }
})
