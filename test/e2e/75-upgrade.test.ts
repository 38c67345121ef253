/**
 * The way of config/POSTGRES.md from one release to the next, under load at both doors: the newer `postern migrate` while
 * three daemons of the older one serve, then one daemon after another. The newer one is the same code with more steps.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SCHEMA, type SchemaStep } from '../../src/store/postgres/schema/steps.js'
import { balanceOf, wrongIn } from '../crash/balance.js'
import { type Dot, Upstream } from '../crash/cluster/upstream.js'
import { Load } from '../crash/load.js'
import { buildWith } from '../parts/another-build.js'
import { eventually } from '../parts/eventually.js'
import { BIN, Postern, ROOT, runCli } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'

/** Each daemon takes so many mails before anything else happens. */
const LEAST = 8

const EXPAND: readonly SchemaStep[] = [
  {
    text: 'ALTER TABLE emails ADD COLUMN novelty text; CREATE TABLE novelties (id text PRIMARY KEY)',
    compatibleFrom: SCHEMA,
  },
  { index: 'emails_novelty', on: 'emails (novelty)', compatibleFrom: SCHEMA },
]
/** What the older release cannot serve any more. */
const CONTRACT: readonly SchemaStep[] = [
  ...EXPAND,
  { text: 'DROP TABLE novelties', compatibleFrom: SCHEMA + 1 },
]

interface Restart {
  readonly from: number
  readonly to: number
  /** What it says with EHLO. */
  readonly by: string
}

class Fleet {
  readonly mx = new Upstream()
  readonly daemons: Postern[] = []
  readonly loads: Load[] = []
  readonly restarts: Restart[] = []
  key = ''
  readonly #all: Postern[] = []

  private constructor(
    readonly sql: (text: string) => string,
    private readonly urlFile: string,
  ) {}

  static async start(t: Test): Promise<Fleet> {
    const server = await postgres()
    const urls = server.database()
    const dir = mkdtempSync(join(tmpdir(), 'postern-upgrade-'))
    const urlFile = join(dir, 'database.url')
    writeFileSync(urlFile, urls, { mode: 0o600 })
    const fleet = new Fleet((text) => server.sql(urls.split('/').at(-1) ?? '', text), urlFile)
    t.teardown(async () => {
      await fleet.#end()
      rmSync(dir, { recursive: true, force: true })
    })
    await fleet.mx.start()
    const first = await fleet.another().start()
    fleet.daemons.push(first)
    await first.route(`smtp://127.0.0.1:${fleet.mx.port}?tls=none&max_connections=6`)
    fleet.key = await first.key('--rate-limit', '1000000')
    fleet.daemons.push(...(await Promise.all([fleet.another(), fleet.another()].map((one) => one.start()))))
    for (const daemon of fleet.daemons)
      fleet.loads.push(new Load(daemon, fleet.key, { http: 1, smtp: 1, rest: 100 }))
    return fleet
  }

  /** Not started. */
  another(bin = BIN): Postern {
    const [first] = this.daemons
    const postern = new Postern({
      hostname: `mta${this.#all.length}.gw.test`,
      store: { driver: 'postgres', url_file: this.urlFile },
      relay: { retry: ['1s'] },
      ...(first !== undefined && { pepper_file: join(first.dir, 'data', 'pepper') }),
    })
    postern.bin = bin
    this.#all.push(postern)
    return postern
  }

  async #end(): Promise<void> {
    const stopped = this.stopLoads()
    await Promise.all(this.#all.map((one) => one.stop('SIGKILL')))
    await Promise.all([stopped, this.mx.stop(), ...this.#all.map((one) => one.remove())])
  }

  async stopLoads(): Promise<void> {
    await Promise.all(this.loads.map((load) => load.stop()))
  }

  /** Each daemon takes mail. */
  async flows(): Promise<void> {
    const counts = () => this.loads.map(({ acknowledged }) => acknowledged.size)
    const before = counts()
    const least = () => Math.min(...counts().map((n, i) => n - (before[i] ?? 0)))
    await eventually('each daemon takes mail', () => least() >= LEAST, { moves: least, seen: counts })
  }

  /** A daemon ends, and another release begins in its folder. */
  async restart(i: number, bin: string): Promise<number | null> {
    const daemon = this.daemons[i] as Postern
    const from = performance.now()
    const code = await daemon.stop()
    daemon.bin = bin
    await daemon.start()
    this.restarts.push({ from, to: performance.now(), by: `mta${i}.gw.test` })
    return code
  }

  version(): string {
    return this.sql('SELECT version, compatible_from FROM schema_version')
  }
}

/** Of another release, on the folder of the first daemon's configuration. */
const migrateBy = (fleet: Fleet, bin: string) =>
  runCli(['migrate', '--json', '--config', (fleet.daemons[0] as Postern).configFile], '', ROOT, bin)

/** The line with which a daemon of another release ends. */
const refusal = async (fleet: Fleet, bin: string): Promise<string> => {
  const postern = fleet.another(bin)
  return postern.start().then(
    () => 'it serves',
    ({ message }: Error) => message,
  )
}

t.test('from a release to the next', { skip: noPostgres() }, async (t) => {
  t.setTimeout(280_000)
  const build = (version: string, postgres: readonly SchemaStep[]): string =>
    join(buildWith(t, version, { postgres }), 'bin', 'postern')
  const [newer, newest] = [build('98.0.0', EXPAND), build('99.0.0', CONTRACT)]
  const fleet = await Fleet.start(t)
  const versions = async (): Promise<string[]> => {
    const { daemons } = await (fleet.daemons[0] as Postern).json('cluster', 'show')
    return daemons.map(({ version }: { version: string }) => version).sort()
  }
  await fleet.flows()

  await t.test('a daemon of the newer one asks for postern migrate', async (t) => {
    const said = await refusal(fleet, newer)
    t.match(said, /serve ended with 78:(?:.|\n)*others serve it \(Postern .*\): run postern migrate/)
    const left = await migrateBy(fleet, newest)
    t.match(left, { code: 78, stderr: /^postern: .*is nothing for Postern .*: upgrade it .*, or stop it\n$/ })
    t.equal(fleet.version(), `${SCHEMA}|1`, 'and nothing has changed')
  })

  await t.test('the schema changes while all serve', async (t) => {
    const { code, stdout, stderr } = await migrateBy(fleet, newer)
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.match(JSON.parse(stdout), { from: SCHEMA, to: SCHEMA + 2 })
    t.equal(fleet.version(), `${SCHEMA + 2}|${SCHEMA}`)
    await fleet.flows()
  })

  await t.test('one after another becomes newer', async (t) => {
    t.equal(await fleet.restart(2, BIN), 0, 'the older one begins on it, too')
    for (const i of [0, 1, 2]) {
      t.equal(await fleet.restart(i, newer), 0)
      await fleet.flows()
      if (i === 0) t.equal(new Set(await versions()).size, 2, 'both releases serve')
    }
    t.same(await versions(), ['98.0.0', '98.0.0', '98.0.0'])
  })

  await t.test('what nobody uses any more goes, and the older one is refused', async (t) => {
    t.match(await migrateBy(fleet, newest), { code: 0 })
    t.equal(fleet.version(), `${SCHEMA + 3}|${SCHEMA + 1}`)
    await fleet.flows()
    const wanted = `schema version ${SCHEMA + 3}, this Postern knows ${SCHEMA}: install Postern 99.0.0 or newer`
    const older = await migrateBy(fleet, BIN)
    t.match(older, { code: 78, stderr: new RegExp(`^postern: .*${wanted}\n$`) })
    t.match(await refusal(fleet, BIN), new RegExp(`serve ended with 78:(?:.|\n)*${wanted}`))
  })

  await t.test('nothing is lost', async (t) => {
    await fleet.stopLoads()
    const waiting = () => Number(fleet.sql('SELECT count(*) FROM queue'))
    await eventually('all has left', () => waiting() === 0, { every: 200, moves: waiting })
    const ids = fleet.loads.flatMap(({ acknowledged }) => [...acknowledged])
    const balance = await balanceOf({
      ...{ ids, copies: fleet.mx.messages, isHolding: false },
      ask: (path) => (fleet.daemons[0] as Postern).api('GET', path, fleet.key),
      statuses: () =>
        new Map(
          fleet
            .sql('SELECT id, status FROM emails')
            .split('\n')
            .map((row) => row.split('|') as [string, string]),
        ),
    })
    t.comment(`${balance.acknowledged} mails, ${balance.duplicated} copies`)
    t.same(wrongIn(balance), [])
    const near = (at: number, whose?: string) =>
      fleet.restarts.some(({ from, to, by }) => at >= from && at <= to && by === (whose ?? by))
    const firsts = new Map<string, Dot>()
    for (const dot of fleet.mx.dots) {
      const first = firsts.get(dot.id)
      if (first === undefined) firsts.set(dot.id, dot)
      else t.ok(near(first.at, first.by), `${dot.id} went again since ${first.by} ended`)
    }
    const refusals = fleet.loads.flatMap((load) => load.refusals)
    t.same(
      refusals.filter(({ said, at }) => !near(at) || !/^(?:503|4\d\d) /.test(said)),
      [],
      'refused was only who came in the moments of a restart',
    )
    t.comment(`${refusals.length} refusals`)
  })
})
