/**
 * Three daemons on one private PostgreSQL, each behind a proxy of its own, and mail through every door into three
 * workspaces: one that tries again what may have been taken, one that holds it, and one behind a real Postfix.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseProxy } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../../parts/postfix.js'
import { Postgres } from '../../parts/postgres.js'
import { digest, Load } from '../load.js'
import { Daemon, type Workspace, type Writer } from './daemon.js'
import { Delay } from './delay.js'
import { Upstream } from './upstream.js'

/** Of the upstream, for all daemons together. */
export const CONNECTIONS = 6
/** In each round every daemon acknowledges so many mails before anything breaks. */
const LEAST = 6
/** After each mail, so that the books of a long run can be read. */
const REST_MS = 500

/** A daemon that ended, or stood still, with mail of its own on the wire. */
export interface Death {
  readonly by: string
  readonly at: number
  readonly until: number
}

/** While `is` is true no session is ended from outside, as on a server whose role may not do it. */
const ENDLESS_SESSIONS = `CREATE SCHEMA faults; CREATE TABLE faults.endless (is_so boolean);
  INSERT INTO faults.endless VALUES (false);
  CREATE FUNCTION faults.pg_terminate_backend(pid int) RETURNS boolean LANGUAGE sql AS
    'SELECT CASE WHEN is_so THEN false ELSE pg_catalog.pg_terminate_backend($1, 0) END FROM faults.endless';`

export interface FleetOptions {
  readonly random: () => number
  /** With a standby, which can be promoted once. */
  readonly standby: boolean
}

export class Fleet {
  readonly keys: Partial<Record<Workspace, string>> = {}
  readonly daemons: Daemon[] = []
  readonly mx = new Upstream()
  readonly delay = new Delay()
  readonly deaths: Death[] = []
  /** Acknowledged beside the loads. */
  readonly extra: Record<Workspace, string[]> = { default: [], careful: [], real: [] }
  /** Why there is none, or it. */
  postfix: Postfix | string = noPostfix() ?? new Postfix()
  standby: Postgres | null = null
  database = ''
  slowestTakeoverMs = 0
  slowestStartMs = 0
  slowestRecoveryMs = 0

  private constructor(
    /** Whichever takes writes. */
    public server: Postgres,
    readonly random: () => number,
  ) {}

  static async start({ random, standby }: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(await new Postgres().start(), random)
    try {
      await fleet.#open(standby)
      return fleet
    } catch (error) {
      await fleet.remove()
      throw error
    }
  }

  async #open(standby: boolean): Promise<void> {
    await this.mx.start()
    this.database = this.server.database().split('/').at(-1) ?? ''
    this.sql(ENDLESS_SESSIONS)
    this.sql(`ALTER DATABASE ${this.database} SET search_path = public, faults, pg_catalog`)
    const bouncePort = await freePort()
    await this.#add('a', bouncePort)
    await Promise.all(['b', 'c'].map((name) => this.#add(name, 0)))
    if (standby) this.standby = await new Postgres(this.server).start()
    const { postern } = this.first
    await postern.route(`smtp://127.0.0.1:${this.mx.port}?tls=none&max_connections=${CONNECTIONS}`)
    await postern.json('workspace', 'create', 'careful', '--pool', 'main')
    await postern.json('workspace', 'update', 'careful', '--ambiguous', 'hold')
    if (typeof this.postfix !== 'string') {
      await this.postfix.start({ bouncePort, lifetime: '1h', delayWarning: '1h' })
      const real = `smtp://127.0.0.1:${this.postfix.port}?tls=none&max_connections=${CONNECTIONS}`
      await postern.json('pool', 'create', 'postfix', '--upstream', real)
      await postern.json('workspace', 'create', 'real', '--pool', 'postfix')
    }
    for (const workspace of this.workspaces) this.keys[workspace] = await this.key(workspace, 1_000_000)
    for (const { postern, loads } of this.daemons)
      for (const workspace of this.workspaces) {
        const domain = workspace === 'real' ? 'deliver.test' : 'sink.test'
        const options = { http: 1, smtp: 1, rest: REST_MS, domain }
        loads[workspace] = new Load(postern, this.keys[workspace] ?? '', options)
      }
  }

  async #add(name: string, bouncePort: number): Promise<void> {
    const proxy = await new DatabaseProxy(this.server.port).start()
    const pepper = this.daemons[0] && join(this.daemons[0].postern.dir, 'data', 'pepper')
    const postern = new Postern({
      hostname: `${name}.gw.test`,
      bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' },
      store: { driver: 'postgres', url_file: 'database.url' },
      // keys that are revoked are tried again and again
      rate_limit: { per_minute: 1_000_000, auth_failures: 1_000_000 },
      relay: { retry: ['1s'] },
      ...(pepper !== undefined && { pepper_file: pepper }),
    })
    const url = `postgres://postern@127.0.0.1:${proxy.port}/${this.database}`
    writeFileSync(join(postern.dir, 'database.url'), url, { mode: 0o600 })
    const daemon = new Daemon(`${name}.gw.test`, postern, proxy)
    this.daemons.push(daemon)
    await daemon.start()
  }

  get workspaces(): readonly Workspace[] {
    return typeof this.postfix === 'string' ? ['default', 'careful'] : ['default', 'careful', 'real']
  }

  get first(): Daemon {
    return this.daemons[0] as Daemon
  }

  any(): Daemon {
    return this.daemons[this.below(this.daemons.length)] as Daemon
  }

  named(name: string): Daemon {
    const found = this.daemons.find((daemon) => daemon.name === name)
    if (found === undefined) throw new Error(`no daemon says ${name}`)
    return found
  }

  /** A whole number from 0 on, the seed's choice. */
  below(end: number): number {
    return Math.floor(this.random() * end)
  }

  async key(workspace: Workspace, perMinute: number): Promise<string> {
    const limit = ['--rate-limit', String(perMinute)]
    const made = await this.first.postern.json('key', 'create', '--workspace', workspace, ...limit)
    return made.secret as string
  }

  /** A mail beside the loads, which counts like theirs. */
  async post(daemon: Daemon, workspace: Workspace, to: string, size: number): Promise<string> {
    const mail = { from: 'load@gw.test', to, subject: `crash ${size}`, text: 'x'.repeat(size) }
    const key = this.keys[workspace] ?? ''
    // a large one may take longer to store than anybody waits
    const taken = await eventually('a mail is taken', async () => {
      const answer = await daemon.postern.api('POST', '/v1/emails', key, mail)
      if (answer.status !== 202 && answer.status !== 503) throw new Error(answer.text.slice(0, 300))
      return answer.status === 202 && answer
    })
    this.extra[workspace].push(taken.body.id)
    return taken.body.id as string
  }

  sql(text: string): string[] {
    return this.server.sql(this.database, text).split('\n').filter(Boolean)
  }

  writers(): Writer[] {
    const rows = this.sql(
      "SELECT n, owner, boot FROM writers WHERE boot IS NOT NULL AND role <> 'command' ORDER BY n",
    )
    return rows.map((row) => {
      const [n, owner = '', boot = ''] = row.split('|')
      return { n: Number(n), owner, boot }
    })
  }

  writersOf({ owner }: Daemon): Writer[] {
    return this.writers().filter((writer) => writer.owner === owner)
  }

  died({ name }: Daemon, at: number): void {
    this.deaths.push({ by: name, at, until: performance.now() })
  }

  /** Each daemon takes mail. */
  async flows(): Promise<void> {
    const before = this.daemons.map((daemon) => daemon.acknowledged)
    const taken = () => this.daemons.map((daemon, i) => daemon.acknowledged - (before[i] ?? 0))
    await eventually('each daemon acknowledges mail', () => taken().every((n) => n >= LEAST), {
      moves: () => taken().reduce((a, b) => a + Math.min(b, LEAST), 0),
      seen: () => ({ taken: taken(), output: this.daemons.map(({ postern }) => postern.output.slice(-4)) }),
    })
  }

  acknowledged(workspace: Workspace): string[] {
    const ids = this.daemons.flatMap(({ loads }) => [...(loads[workspace]?.acknowledged ?? [])])
    return [...ids, ...this.extra[workspace]]
  }

  /** Copies of all upstreams, as lines of load.ts' `digest`. */
  copies(): readonly string[] {
    const { postfix } = this
    return typeof postfix === 'string'
      ? this.mx.messages
      : [...this.mx.messages, ...postfix.delivered().map(lines)]
  }

  async stopLoads(): Promise<void> {
    await Promise.all(this.daemons.flatMap(({ loads }) => Object.values(loads).map((load) => load.stop())))
  }

  async remove(): Promise<void> {
    for (const { proxy } of this.daemons) proxy.return()
    await Promise.all([
      this.stopLoads(),
      ...this.daemons.map(async ({ postern, proxy }) => {
        await postern.remove()
        proxy.stop()
      }),
    ])
    await this.mx.stop()
    await this.delay.stop()
    if (typeof this.postfix !== 'string' && this.postfix.port > 0) this.postfix.stop()
    await this.standby?.stop('immediate')
    await this.server.stop('immediate')
  }
}

/** A mailbox has bare line ends, and the header that Postfix wrote. */
const lines = (raw: string): string => digest(raw.replace(/\r?\n/g, '\r\n').replace(/\r\n$/, ''))
