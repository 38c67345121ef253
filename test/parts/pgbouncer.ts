/** A real pgbouncer before a PostgreSQL of the tests, on a loopback port of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { eventually } from './eventually.js'
import { freePort } from './postfix.js'
import { noPostgres, type Postgres } from './postgres.js'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Why the tests with it cannot run here, or false. On a machine for checks that is a failure. */
export const noPgbouncer = (): string | false => {
  if (existsSync(PROGRAM)) return noPostgres()
  const reason = 'pgbouncer is not installed (apt-get install pgbouncer)'
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })

/** The URL of that database through it. */
export const startPgbouncer = async (
  t: Test,
  cluster: Postgres,
  url: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<string> => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-pgbouncer-'))
  chmodSync(dir, 0o755)
  const port = await freePort()
  const settings = join(dir, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${cluster.port} user=postern
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 60
max_client_conn = 500
server_idle_timeout = 1
server_login_retry = 1
`,
  )
  // it refuses to run as root
  const as = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const program = spawn(PROGRAM, [...as, '-q', settings], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    if (program.exitCode === null && program.kill('SIGTERM')) await once(program, 'exit')
    rmSync(dir, { recursive: true, force: true })
  })
  const through = url.replace(`:${cluster.port}/`, `:${port}/`)
  await eventually('pgbouncer listens', () => listens(port))
  return through
}
