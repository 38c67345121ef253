/**
 * The walls of the house: imports go down only, nothing is circular (type
 * imports included), each third-party package is at home in the folders named
 * here, and no file passes 900 lines: a file is one subject. Runs first.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const SRC = join(ROOT, 'src')
const TESTS = join(ROOT, 'test')

const FLOOR: Record<string, number> = {
  base: 0,
  mail: 1,
  config: 1,
  lifecycle: 1.5,
  keys: 1.5,
  store: 2,
  record: 2.5,
  resource: 2.5,
  tenant: 3,
  outcome: 3,
  submission: 4,
  relay: 4,
  webhook: 4,
  alarm: 4,
  statistics: 4,
  sandbox: 4,
  http: 5,
  dashboard: 5,
  smtp: 5,
  followers: 4.5,
  setup: 4.5,
  daemon: 6,
  demo: 6,
  mcp: 6,
  cli: 7,
}

const HOME: Record<string, readonly string[]> = {
  pino: ['base'],
  '@opentelemetry/api': ['base'],
  nodemailer: ['mail', 'cli'],
  mailparser: ['mail'],
  joi: ['config', 'http'],
  yaml: ['config', 'setup'],
  'better-sqlite3': ['store'],
  pg: ['store'],
  bcrypt: ['tenant'],
  otpauth: ['tenant'],
  '@simplewebauthn/server': ['tenant'],
  'qrcode-generator': ['dashboard'],
  'lru-cache': ['tenant'],
  'smtp-server': ['smtp', 'sandbox'],
  '@hapi/hapi': ['http', 'dashboard'],
  '@hapi/boom': ['http'],
  '@hapi/call': ['http'],
  htmlparser2: ['dashboard', 'submission', 'mail'],
  marked: ['dashboard'],
  preact: ['dashboard'],
  'preact-render-to-string': ['dashboard'],
  uplot: ['dashboard'],
  'openid-client': ['dashboard'],
  jose: ['dashboard'],
  yargs: ['cli'],
  picocolors: ['cli'],
  undici: ['base'],
  standardwebhooks: ['webhook'],
  selfsigned: ['keys', 'smtp'],
  'prom-client': ['http'],
}

const DOORS: ReadonlySet<string> = new Set(['http', 'smtp'])
const ENGINES: ReadonlySet<string> = new Set(['sqlite', 'postgres'])

const files = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? files(join(dir, entry.name))
      : /\.tsx?$/.test(entry.name)
        ? [join(dir, entry.name)]
        : [],
  )

const all = files(SRC)
const roomOf = (file: string): string => relative(SRC, file).split(sep)[0] ?? ''
const importsOf = (file: string): string[] => {
  const text = readFileSync(file, 'utf8')
  const found = [
    ...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'/g),
    ...text.matchAll(/(?:^|\n)\s*import\s+'([^']+)'/g),
    ...text.matchAll(/\b(?:import|require)\(\s*'([^']+)'\s*\)/g),
  ]
  return found.map((match) => match[1] ?? '')
}
const isTypeOnly = (file: string, name: string): boolean =>
  new RegExp(`^import type .* from '${name}'$`, 'm').test(readFileSync(file, 'utf8'))
const ownImports = (file: string): string[] =>
  importsOf(file)
    .filter((name) => name.startsWith('.') && !name.includes('node_modules'))
    .map((name) => normalize(join(dirname(file), name.replace(/\.js$/, '.ts'))))
    .map((file) => (!existsSync(file) && existsSync(`${file}x`) ? `${file}x` : file))

t.ok(all.length > 10, 'the source is where this test looks for it')

t.test('imports go down, or stay in their own folder', async (t) => {
  for (const file of all) {
    const room = roomOf(file)
    t.ok(room in FLOOR, `${relative(ROOT, file)} lives on a known floor`)
    for (const target of ownImports(file)) {
      t.ok(existsSync(target), `${relative(ROOT, file)} imports an existing ${relative(ROOT, target)}`)
      const other = roomOf(target)
      if (other === room) continue
      if (!((FLOOR[other] ?? 99) < (FLOOR[room] ?? -1))) {
        t.fail(`${relative(ROOT, file)} imports ${relative(ROOT, target)}, which is not below it`)
      }
      // what two doors show is made in record/, or said by the rows of the contract
      if (room === 'cli' && DOORS.has(other) && relative(ROOT, target) !== 'src/http/contract.ts')
        t.fail(`${relative(ROOT, file)} imports ${relative(ROOT, target)}, which is another door`)
    }
  }
})

t.test('no import circle', async (t) => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      t.fail(`circle: ${[...path.slice(path.indexOf(file)), file].map((f) => relative(SRC, f)).join(' > ')}`)
      return
    }
    if (done.has(file)) return
    for (const target of ownImports(file)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of all) visit(file, [])
  t.equal(done.size, all.length)
})

t.test('one file alone knows which database there is', async (t) => {
  for (const file of all) {
    if (relative(SRC, file) === join('store', 'open.ts')) continue
    for (const target of ownImports(file)) {
      const [room, engine] = relative(SRC, target).split(sep)
      if (room !== 'store' || !ENGINES.has(engine ?? '')) continue
      const isInside = relative(SRC, file).startsWith(join('store', engine ?? '') + sep)
      t.ok(isInside, `${relative(ROOT, file)} imports ${relative(ROOT, target)}; only store/open.ts may`)
    }
  }
})

t.test('packages are at home', async (t) => {
  for (const file of [...all, ...files(TESTS)])
    for (const name of importsOf(file))
      if (name.includes('better-sqlite3') && !isTypeOnly(file, name))
        t.match(file, /store\/sqlite\/connect\.ts$/, 'one file alone chooses and loads the SQLite driver')
  for (const file of all) {
    for (const name of importsOf(file)) {
      if (name.startsWith('.') || name.startsWith('node:')) continue
      const parts = name.split('/')
      const bare = name.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
      t.ok(HOME[bare]?.includes(roomOf(file)), `${relative(ROOT, file)} may import ${bare}`)
    }
  }
})

t.test('a file is one subject that can be read in one go, and there are no barrels', async (t) => {
  for (const file of all) {
    const lines = readFileSync(file, 'utf8').split('\n').length - 1
    t.ok(lines <= 900, `${relative(ROOT, file)} has ${lines} lines, at most 900`)
    t.notOk(file.endsWith(`${sep}index.ts`), `${relative(ROOT, file)} is no barrel`)
  }
})

/** What is read and run with a file before its first line: without types, and without what import() brings later. */
const packagesAtStart = (...entries: readonly string[]): string[] => {
  const seen = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8').replace(/^(?:import|export) type [^']*'[^']+'$/gm, '')
    for (const [, name = ''] of text.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'/gm)) {
      if (name.startsWith('.')) {
        const target = normalize(join(dirname(file), name.replace(/\.js$/, '.ts')))
        visit(existsSync(target) ? target : `${target}x`)
      } else if (!name.startsWith('node:')) packages.add(name)
    }
  }
  for (const entry of entries) visit(join(SRC, entry))
  return [...packages].sort()
}

t.test('no thread reads packages that it does not need, at each start and for each command', async (t) => {
  const engine = 'store/sqlite/connected-store.ts'
  const ADDRESS = 'nodemailer/lib/addressparser'
  t.same(packagesAtStart('store/sqlite/thread/writer-thread.ts'), [ADDRESS])
  t.same(packagesAtStart('relay/worker.ts', engine), [ADDRESS])
  t.same(packagesAtStart('followers/followers-thread.ts', engine), [ADDRESS, 'standardwebhooks'])
  t.same(packagesAtStart('http/thread/body-thread.ts'), ['joi', ADDRESS])
  t.same(packagesAtStart('store/open.ts'), [])
  t.same(packagesAtStart('cli/main.ts'), ['picocolors', 'yargs'])
  t.same(packagesAtStart('cli/status.ts', 'store/sqlite/open.ts'), ['joi', ADDRESS, 'yaml'])
  const daemon = packagesAtStart('daemon/daemon.ts', 'store/sqlite/open.ts')
  for (const name of ['yargs', 'preact', 'pg', 'undici', 'mailparser', 'selfsigned', 'htmlparser2'])
    t.notOk(daemon.includes(name), `the daemon starts without ${name}`)
})

t.test('threads are started in one way, and four rooms have one', async (t) => {
  const roomsWith = (what: RegExp): string[] =>
    all.filter((file) => what.test(readFileSync(file, 'utf8'))).map(roomOf)
  t.same(roomsWith(/\bnew Worker\(/), ['base'])
  t.same(roomsWith(/\bstartThread\(/).sort(), ['followers', 'http', 'relay', 'store'])
})
