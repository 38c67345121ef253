/**
 * A private PostgreSQL: own folder, own loopback port, run by an unprivileged user with fsync on. One for each test
 * process, started when it is first asked for, gone with the process; a database for each test, empty or with tables.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.js'
import { freePort } from './postfix.js'

const VERSIONS = '/usr/lib/postgresql'
const newest = existsSync(VERSIONS)
  ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))[0]
  : undefined
const bin = (name: string): string => join(VERSIONS, newest ?? '', 'bin', name)

/** Why the tests with a real PostgreSQL cannot run here, or false. On a machine for checks that is a failure. */
export const noPostgres = (): string | false => {
  if (newest !== undefined && existsSync(bin('initdb'))) return false
  const reason = 'PostgreSQL is not installed (apt-get install postgresql)'
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

const idOf = (flag: '-u' | '-g'): number =>
  Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
/** The server refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : null

const must = (name: string, args: readonly string[], dir: string): void => {
  const done = spawnSync(bin(name), args, { encoding: 'utf8', cwd: dir, ...user })
  if (done.status !== 0) throw new Error(`${name}: ${done.stderr}`)
}

const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
max_connections = 100
`

/** A server on this machine that runs already. */
export class Server {
  constructor(public port: number) {}

  /** Runs SQL outside of any store; what it answers, a line a row. */
  sql(database: string, text: string): string {
    const to = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postern', '-d', database]
    const done = spawnSync(
      bin('psql'),
      [...to, '-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', '-c', text],
      {
        encoding: 'utf8',
      },
    )
    if (done.status !== 0) throw new Error(done.stderr)
    return done.stdout.trim()
  }

  /** Runs a file of SQL. */
  load(database: string, file: string): void {
    const to = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postern', '-d', database]
    const done = spawnSync(bin('psql'), [...to, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file], {
      encoding: 'utf8',
    })
    if (done.status !== 0) throw new Error(done.stderr)
  }

  url(database: string): string {
    return `postgres://postern@127.0.0.1:${this.port}/${database}`
  }

  /** The URL of a database without anything in it. */
  database(template = 'template0'): string {
    const name = `t_${randomUUID().replaceAll('-', '').slice(0, 12)}`
    this.sql('postgres', `CREATE DATABASE ${name} TEMPLATE ${template}`)
    return this.url(name)
  }

  #template: Promise<string> | null = null

  /**
   * The name of a database that has the tables of today, and what a new one begins with, made once for each process: a
   * copy of it takes the server a fourth of the time that the tables themselves take.
   */
  template(): Promise<string> {
    this.#template ??= (async () => {
      const { migrateServer } = await import('../../src/store/postgres/begin.js')
      const urls = this.database()
      await migrateServer(urls, '')
      return urls.split('/').at(-1) ?? ''
    })()
    return this.#template
  }

  /** The URL of a database with tables. */
  async withTables(): Promise<string> {
    return this.database(await this.template())
  }
}

export class Postgres extends Server {
  readonly dir = mkdtempSync(join(tmpdir(), 'postern-postgres-'))
  #server: ChildProcess | null = null

  /** Without another one it is new and empty; else its standby, which streams from it once it is started. */
  constructor(primary?: Postgres) {
    super(0)
    if (user !== null) chownSync(this.dir, user.uid, user.gid)
    if (primary !== undefined) {
      const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postern']
      must('pg_basebackup', [...from, '-D', this.#data, '-R', '-c', 'fast', '--no-sync'], this.dir)
    } else {
      must('initdb', ['-D', this.#data, '-A', 'trust', '-U', 'postern', '-E', 'UTF8', '--no-sync'], this.dir)
      appendFileSync(join(this.#data, 'postgresql.conf'), SETTINGS)
    }
    process.once('exit', () => {
      this.#server?.kill('SIGQUIT')
      rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 })
    })
  }

  get #data(): string {
    return join(this.dir, 'data')
  }

  /** Settings hold until the next start, and so does what is put into its environment. */
  async start(settings: Readonly<Record<string, string>> = {}, env: NodeJS.ProcessEnv = {}): Promise<this> {
    if (this.port === 0) this.port = await freePort()
    const own = { port: String(this.port), logging_collector: 'off', ...settings }
    const args = Object.entries(own).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    // it ends with this process, however that ends
    const as = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
    const log = join(this.dir, 'log')
    // what is loaded before it makes its own things as the user that it runs as
    const set = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const command = [...as, '--pdeathsig=QUIT', 'env', ...set, bin('postgres'), '-D', this.#data, ...args]
    const server = spawn('setpriv', command, {
      cwd: this.dir,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server.stderr?.on('data', (chunk) => appendFileSync(log, chunk))
    server.unref()
    ;(server.stderr as unknown as { unref(): void }).unref()
    this.#server = server
    await eventually('PostgreSQL comes up', () => this.isReady(), {
      every: 50,
      seen: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(-20) : 'no log'),
    })
    return this
  }

  /** Of the server, whose children do the work. */
  get pid(): number {
    return this.#server?.pid ?? 0
  }

  isReady(): boolean {
    return spawnSync(bin('pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(this.port)]).status === 0
  }

  /** `fast` breaks off what runs and ends cleanly; `immediate` is a crash. */
  async stop(how: 'fast' | 'immediate'): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    server.ref()
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }

  /** A standby becomes what takes writes. */
  promote(): void {
    this.sql('postgres', 'SELECT pg_promote()')
  }
}

let shared: Promise<Postgres> | null = null

/** That of this process. */
export const postgres = (): Promise<Postgres> => {
  shared ??= new Postgres().start()
  return shared
}
