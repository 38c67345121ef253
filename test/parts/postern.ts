/**
 * The built product, run as its users run it: `bin/postern` as a child process
 * on a folder of its own, with free ports, its CLI and its HTTP API at hand.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually } from './eventually.js'
import { type CliResult, here } from './here.js'
import { settingsOf } from './store.js'

export const ROOT = join(import.meta.dirname, '..', '..', '..')
export const BIN = join(ROOT, 'bin', 'postern')

/** The environment of a child: ours, less what would steer Postern or tap. */
export const cleanEnv = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => {
  const env = { ...process.env, ...more }
  for (const name of Object.keys(env)) {
    if (/^(POSTERN_|TAP|NODE_OPTIONS$|NODE_V8_COVERAGE$)/.test(name) && !(name in more)) delete env[name]
  }
  return env
}

export const runCli = (args: readonly string[], input = '', cwd = ROOT, bin = BIN): Promise<CliResult> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, ...args],
      { cwd, env: cleanEnv(), maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        resolve({ code, stdout, stderr })
      },
    )
    child.stdin?.end(input)
  })

export interface Ports {
  readonly http: number
  readonly submission: readonly number[]
  readonly bounce: number
  readonly management: number
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the body is whatever the product says; tests look into it
  readonly body: any
  readonly text: string
}

/** One Postern on a folder: configured once, started, stopped or killed, and started again. */
export class Postern {
  readonly dir: string
  readonly configFile: string
  ports: Ports = { http: 0, submission: [], bounce: 0, management: 0 }
  output: string[] = []
  /** Of another release, too. */
  bin = BIN
  private child: ChildProcess | null = null
  private marks = 0
  /** The exit code, or null when a signal ended it. */
  ended: Promise<number | null> = Promise.resolve(null)

  constructor(settings: Record<string, unknown> = {}, dir = mkdtempSync(join(tmpdir(), 'postern-test-'))) {
    this.dir = dir
    this.configFile = join(dir, 'postern.yaml')
    const config = {
      hostname: 'gw.postern.test',
      data_dir: join(dir, 'data'),
      http: { host: '127.0.0.1', port: 0 },
      management: { host: '127.0.0.1', port: 0 },
      submission: [
        { host: '127.0.0.1', port: 0, tls: 'starttls' },
        { host: '127.0.0.1', port: 0, tls: 'implicit' },
      ],
      bounce: { host: '127.0.0.1', port: 0, domain: 'bounce.test' },
      ...settingsOf(join(dir, 'data')),
      ...settings,
    }
    // JSON is YAML
    writeFileSync(this.configFile, JSON.stringify(config, null, 2))
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports.http}`
  }

  get pid(): number {
    return this.child?.pid ?? 0
  }

  /** Starts `postern serve` and waits for its `listening` line. */
  async start(more: NodeJS.ProcessEnv = {}, ...flags: readonly string[]): Promise<this> {
    // as the first line of bin/postern says
    const args = ['--max-semi-space-size=8', this.bin, 'serve', '--config', this.configFile, ...flags]
    const child = spawn(process.execPath, args, {
      cwd: this.dir,
      env: cleanEnv(more),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    this.ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
    this.output = []
    await new Promise<void>((resolve, reject) => {
      const see = (line: string): void => {
        this.output.push(line)
        if (!line.includes('"listening"')) return
        const said = JSON.parse(line) as Ports & { msg: string }
        if (said.msg !== 'listening') return
        this.ports = {
          http: said.http,
          submission: said.submission,
          bounce: said.bounce,
          management: said.management,
        }
        resolve()
      }
      createInterface({ input: child.stdout }).on('line', see)
      createInterface({ input: child.stderr }).on('line', (line) => this.output.push(line))
      child.once('exit', (code, signal) =>
        reject(new Error(`serve ended with ${code ?? signal}:\n${this.output.join('\n')}`)),
      )
    })
    return this
  }

  /** Resolves with the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child?.kill(signal)
    const code = await this.ended
    this.child = null
    return code
  }

  /** Stops and removes the folder. */
  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** In this process; `runCli` is for what a process of its own shows. */
  async cli(...args: readonly string[]): Promise<CliResult> {
    return here([...args, '--config', this.configFile])
  }

  /** A command that must succeed; its `--json` document. */
  // biome-ignore lint/suspicious/noExplicitAny: the document is whatever the product says; tests look into it
  async json(...args: readonly string[]): Promise<any> {
    const { code, stdout, stderr } = await this.cli(...args, '--json')
    if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  /** A live key of the default workspace. */
  async key(...more: readonly string[]): Promise<string> {
    const made = await this.json('key', 'create', '--workspace', 'default', ...more)
    return made.secret as string
  }

  /** The default workspace relays through these upstreams. */
  async route(...upstreams: readonly string[]): Promise<void> {
    await this.json('pool', 'create', 'main', ...upstreams.flatMap((one) => ['--upstream', one]))
    await this.json('workspace', 'update', 'default', '--pool', 'main')
  }

  async api(
    method: string,
    path: string,
    key: string | null,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer> {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    let parsed: unknown = null
    try {
      parsed = JSON.parse(text)
    } catch {
      // not JSON; the test looks at text
    }
    return { status: answer.status, headers: answer.headers, body: parsed, text }
  }

  /**
   * Resolves when the relay has read every pool and every domain as they are now. It reads first the pools,
   * then the domains, again and again, and tells of its upstreams: a new pool that came and went again in
   * what it tells has seen one such reading from its begin to its end.
   */
  async relayHasRead(): Promise<void> {
    const name = `mark-${++this.marks}`
    const { members } = await this.json('pool', 'create', name, '--upstream', 'smtp://127.0.0.1:9?tls=none')
    const isTold = async () => {
      const answer = await fetch(`http://127.0.0.1:${this.ports.management}/upstreams`)
      return (await answer.text()).includes(members[0].id)
    }
    await eventually('the relay has read the pools', isTold)
    await this.json('pool', 'delete', name, '--yes')
    await eventually('the relay has read the pools again', async () => !(await isTold()))
  }

  /** Waits until every recipient of an email has a status of `wanted`; resolves with the record, rejects after `ms`. */
  // biome-ignore lint/suspicious/noExplicitAny: the record is whatever the product says; tests look into it
  async until(key: string, id: string, wanted: readonly string[], ms = 30_000): Promise<any> {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    let body: any = null
    const isSo = async () => {
      body = (await this.api('GET', `/v1/emails/${id}`, key)).body
      const recipients = (body?.recipients ?? []) as { status: string }[]
      return recipients.length > 0 && recipients.every((one) => wanted.includes(one.status)) && body
    }
    const seen = () => ({ body, output: this.output.slice(-20) })
    return eventually(`${id} is ${wanted.join('|')}`, isSo, { ms, seen })
  }
}
