/**
 * Three daemons on one private PostgreSQL, each behind a proxy of its own, an upstream for all, and mail through every
 * door into two workspaces: one that tries again what may have been taken, and one that holds it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseProxy } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import { PlainMx } from '../../parts/plain-mx.js'
import { Postern } from '../../parts/postern.js'
import { Postgres } from '../../parts/postgres.js'
import { digest, Load } from '../load.js'

export const DAEMONS = 3
/** Of the upstream, for all daemons together. */
export const CONNECTIONS = 6
/** In each round every daemon acknowledges so many mails before anything breaks. */
const LEAST = 6

export const WORKSPACES = ['default', 'careful'] as const
export type Workspace = (typeof WORKSPACES)[number]

export class Daemon {
  /** Its own exit code, once it has ended. */
  end: number | null | undefined = undefined
  readonly loads: Partial<Record<Workspace, Load>> = {}

  constructor(
    readonly name: string,
    readonly postern: Postern,
    readonly proxy: DatabaseProxy,
  ) {}

  async start(): Promise<void> {
    this.end = undefined
    await this.postern.start()
    void this.postern.ended.then((code) => {
      this.end = code
    })
  }

  /** By which its writers are known. */
  get owner(): string {
    return readFileSync(join(this.postern.dir, 'data', 'daemon.id'), 'utf8').trim()
  }

  get acknowledged(): number {
    return WORKSPACES.reduce((sum, workspace) => sum + (this.loads[workspace]?.acknowledged.size ?? 0), 0)
  }
}

/** A thread of a daemon that writes. What stays while it is not taken over. */
export interface Writer {
  readonly n: number
  readonly owner: string
  readonly boot: string
}

export class Fleet {
  readonly keys = {} as Record<Workspace, string>
  readonly daemons: Daemon[] = []
  readonly mx = new PlainMx(digest)
  database = ''
  slowestTakeoverMs = 0
  slowestStartMs = 0

  private constructor(
    readonly server: Postgres,
    readonly random: () => number,
  ) {}

  static async start(random: () => number): Promise<Fleet> {
    const fleet = new Fleet(await new Postgres().start(), random)
    try {
      await fleet.#open()
      return fleet
    } catch (error) {
      await fleet.remove()
      throw error
    }
  }

  async #open(): Promise<void> {
    await this.mx.start()
    this.database = this.server.database().split('/').at(-1) ?? ''
    for (let i = 0; i < DAEMONS; i++) await this.#add(String.fromCharCode(65 + i))
    const { postern } = this.first
    await postern.route(`smtp://127.0.0.1:${this.mx.port}?tls=none&max_connections=${CONNECTIONS}`)
    await postern.json('workspace', 'create', 'careful', '--pool', 'main')
    await postern.json('workspace', 'update', 'careful', '--ambiguous', 'hold')
    for (const workspace of WORKSPACES) this.keys[workspace] = await this.key(workspace, 1_000_000)
    for (const daemon of this.daemons)
      for (const workspace of WORKSPACES)
        daemon.loads[workspace] = new Load(daemon.postern, this.keys[workspace], {
          http: 1,
          smtp: 1,
          rest: 50,
        })
  }

  async #add(name: string): Promise<void> {
    const proxy = await new DatabaseProxy(this.server.port).start()
    const pepper = this.daemons[0] && join(this.daemons[0].postern.dir, 'data', 'pepper')
    const postern = new Postern({
      store: { driver: 'postgres', url_file: 'database.url' },
      rate_limit: { per_minute: 1_000_000 },
      relay: { retry: ['1s'] },
      ...(pepper !== undefined && { pepper_file: pepper }),
    })
    const url = `postgres://postern@127.0.0.1:${proxy.port}/${this.database}`
    writeFileSync(join(postern.dir, 'database.url'), url, { mode: 0o600 })
    const daemon = new Daemon(name, postern, proxy)
    this.daemons.push(daemon)
    await daemon.start()
  }

  get first(): Daemon {
    return this.daemons[0] as Daemon
  }

  any(): Daemon {
    return this.daemons[Math.floor(this.random() * this.daemons.length)] as Daemon
  }

  async key(workspace: Workspace, perMinute: number): Promise<string> {
    const limit = ['--rate-limit', String(perMinute)]
    const made = await this.first.postern.json('key', 'create', '--workspace', workspace, ...limit)
    return made.secret as string
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

  /** Each daemon takes mail. */
  async flows(): Promise<void> {
    const before = this.daemons.map((daemon) => daemon.acknowledged)
    const taken = () => this.daemons.map((daemon, i) => daemon.acknowledged - (before[i] ?? 0))
    await eventually('each daemon acknowledges mail', () => taken().every((n) => n >= LEAST), {
      moves: () => taken().reduce((a, b) => a + Math.min(b, LEAST), 0),
      seen: () => ({ taken: taken(), output: this.daemons.map(({ postern }) => postern.output.slice(-4)) }),
    })
  }

  async remove(): Promise<void> {
    for (const { proxy } of this.daemons) proxy.return()
    await Promise.all(
      this.daemons.map(async ({ postern, proxy, loads }) => {
        const stopping = Promise.all(Object.values(loads).map((load) => load.stop()))
        await postern.remove()
        proxy.stop()
        await stopping
      }),
    )
    await this.mx.stop()
    await this.server.stop('immediate')
  }
}
