/**
 * The two that are measured beside each other: a private Postfix with Debian's
 * defaults, and Postern on a loopback listener without TLS. Each starts fresh for
 * every run, either holding what it accepts or relaying it to the sink.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Postern } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'
import { sleep } from './load.js'

export interface Peer {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/** `dkim`: Postern signs for the sender's domain (RSA-2048); Postfix has nothing of the kind by itself. */
export type Start = (sinkPort: number | null, dkim?: boolean) => Promise<Peer>

const waitFor = async (port: number): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    const up = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (up) return
    await sleep(50)
  }
  throw new Error(`nothing listens on ${port}`)
}

const SERVICES = [
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 300 1 qmgr',
  'pickup unix n - n 60 1 pickup',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'verify unix - - n - 1 verify',
  'flush unix n - n 1000? 0 flush',
  'proxymap unix - - n - - proxymap',
  'smtp unix - - n - - smtp',
  'relay unix - - n - - smtp',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'postlog unix-dgram n - n - 1 postlogd',
]

export const startPostfix: Start = async (sinkPort) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-bench-postfix-'))
  spawnSync('chmod', ['755', dir])
  const etc = join(dir, 'etc')
  for (const name of ['etc', 'queue', 'data']) mkdirSync(join(dir, name))
  spawnSync('chown', ['postfix', join(dir, 'data')])
  const port = await freePort()
  const settings: Record<string, string> = {
    compatibility_level: '3.6',
    config_directory: etc,
    queue_directory: join(dir, 'queue'),
    data_directory: join(dir, 'data'),
    maillog_file: join(dir, 'log'),
    maillog_file_prefixes: dir,
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'postfix.bench.test',
    mydestination: '',
    mynetworks: '127.0.0.0/8',
    alias_maps: '',
    local_recipient_maps: '',
    smtpd_peername_lookup: 'no',
    smtp_dns_support_level: 'disabled',
    smtp_host_lookup: 'native',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    smtpd_tls_security_level: 'none',
    smtp_tls_security_level: 'none',
    relayhost: `[127.0.0.1]:${sinkPort ?? 9}`,
    ...(sinkPort === null ? { smtpd_client_restrictions: 'check_client_access static:HOLD' } : {}),
  }
  writeFileSync(
    join(etc, 'main.cf'),
    `${Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}`)
      .join('\n')}\n`,
  )
  writeFileSync(
    join(etc, 'master.cf'),
    [`127.0.0.1:${port} inet n - n - - smtpd`, ...SERVICES, ''].join('\n'),
  )
  // makes the folders of the queue, as `postfix start` would
  spawnSync('postfix', ['-c', etc, 'check'])
  const master: ChildProcess = spawn('/usr/lib/postfix/sbin/master', ['-c', etc, '-d'], {
    env: { ...process.env, MAIL_CONFIG: etc },
    stdio: 'ignore',
  })
  await waitFor(port)
  await sleep(300)
  return {
    port,
    pid: master.pid ?? 0,
    stop: async () => {
      const gone = new Promise((resolve) => master.once('exit', resolve))
      master.kill()
      await gone
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export const startPostern: Start = async (sinkPort, dkim = false) => {
  const postern = new Postern({
    submission: [{ host: '127.0.0.1', port: 0, tls: 'none', ip_credentials: true }],
    rate_limit: { per_minute: 100_000_000 },
  })
  await postern.start()
  // without a pool the queue simply holds; like HOLD in Postfix
  if (sinkPort !== null) await postern.route(`smtp://127.0.0.1:${sinkPort}?tls=none&max_connections=20`)
  await postern.json('credential', 'create', '--workspace', 'default', '--cidr', '127.0.0.0/8')
  if (dkim) await postern.json('domain', 'add', 'bench.test')
  if (sinkPort !== null) await postern.relayHasRead()
  return { port: postern.ports.submission[0] ?? 0, pid: postern.pid, stop: () => postern.remove() }
}
