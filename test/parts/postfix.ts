/**
 * A private Postfix as upstream MTA: own folder, high loopback port, nothing of
 * the system touched. It offers DSN and makes real reports. What happens to a
 * recipient is chosen by its domain; bounce mail goes to the bounce door.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.js'

const MASTER = '/usr/lib/postfix/sbin/master'

/** Why the tests with a real Postfix cannot run here, or null. */
export const noPostfix = (): string | null => {
  if (!existsSync(MASTER)) return 'Postfix is not installed (apt-get install postfix)'
  if (process.getuid?.() !== 0) return 'a private Postfix needs root'
  return null
}

/** Whether somebody takes a connection there now. */
export const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

const given = new Set<number>()

/** A free port below the ephemeral range: a connect to a port of that range can meet itself. Never one twice. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 1_000; tries++) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    if (given.has(port)) continue
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (!free) continue
    given.add(port)
    return port
  }
  throw new Error('no port is free')
}

export interface PostfixOptions {
  /** Where mail to *.bounce.test goes: the bounce door. */
  readonly bouncePort: number
  /** A next hop that does not offer DSN, for *@mx.test. */
  readonly plainMxPort?: number
  readonly delayWarning?: string
  readonly lifetime?: string
  readonly retry?: string
  /** Another port, with TLS from the first byte. */
  readonly tlsPort?: number
  /** More for main.cf, or something else there. */
  readonly settings?: Readonly<Record<string, string>>
}

const MASTER_SERVICES = [
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 5 1 qmgr',
  'pickup unix n - n 60 1 pickup',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'verify unix - - n - 1 verify',
  'flush unix n - n 1000? 0 flush',
  'proxymap unix - - n - - proxymap',
  'smtp unix - - n - - smtp',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'virtual unix - n n - - virtual',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'tlsmgr unix - - n 1000? 1 tlsmgr',
  'postlog unix-dgram n - n - 1 postlogd',
]

export class Postfix {
  readonly dir = mkdtempSync(join(tmpdir(), 'postern-postfix-'))
  port = 0

  async start(options: PostfixOptions): Promise<this> {
    this.port = await freePort()
    const etc = join(this.dir, 'etc')
    for (const name of ['etc', 'queue', 'data', 'mail']) mkdirSync(join(this.dir, name), { recursive: true })
    spawnSync('chmod', ['755', this.dir])
    spawnSync('chown', ['postfix', join(this.dir, 'data')])
    spawnSync('chown', ['-R', 'mail:mail', join(this.dir, 'mail')])
    writeFileSync(join(etc, 'main.cf'), this.mainCf(options))
    writeFileSync(join(etc, 'transport'), this.transport(options))
    writeFileSync(
      join(etc, 'master.cf'),
      [
        `127.0.0.1:${this.port} inet n - n - - smtpd`,
        ...(options.tlsPort === undefined
          ? []
          : [`127.0.0.1:${options.tlsPort} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes`]),
        ...[...MASTER_SERVICES, ''],
      ].join('\n'),
    )
    const started = spawnSync('postfix', ['-c', etc, 'start'], { encoding: 'utf8' })
    if (started.status !== 0) throw new Error(`postfix start: ${started.stderr}`)
    await eventually('Postfix comes up', () => listens(this.port), { every: 50, seen: () => this.log() })
    return this
  }

  private mainCf(options: PostfixOptions): string {
    const retry = options.retry ?? '3s'
    const settings: Record<string, string> = {
      compatibility_level: '3.6',
      queue_directory: join(this.dir, 'queue'),
      data_directory: join(this.dir, 'data'),
      command_directory: '/usr/sbin',
      daemon_directory: '/usr/lib/postfix/sbin',
      mail_owner: 'postfix',
      setgid_group: 'postdrop',
      multi_instance_enable: 'no',
      maillog_file: join(this.dir, 'log'),
      maillog_file_prefixes: this.dir,
      myhostname: 'mta.upstream.test',
      mydestination: '',
      local_recipient_maps: '',
      local_transport: 'error:5.1.1 no local mail here',
      alias_maps: '',
      inet_interfaces: '127.0.0.1',
      inet_protocols: 'ipv4',
      mynetworks: '127.0.0.0/8',
      smtpd_relay_restrictions: 'permit_mynetworks, reject',
      smtpd_recipient_restrictions:
        'check_recipient_access inline:{ {nobody@deliver.test=550 5.1.1 User unknown in virtual mailbox table}, {busy@deliver.test=451 4.3.0 Temporary lookup failure} }, permit',
      smtpd_client_connection_count_limit: '0',
      smtpd_error_sleep_time: '0',
      smtpd_reject_unlisted_recipient: 'no',
      smtpd_peername_lookup: 'no',
      smtpd_discard_ehlo_keywords: '',
      smtpd_tls_security_level: 'none',
      smtp_tls_security_level: 'none',
      smtp_host_lookup: 'native',
      smtp_dns_support_level: 'disabled',
      default_transport: 'error:5.4.4 no route to this domain',
      transport_maps: `texthash:${join(this.dir, 'etc', 'transport')}`,
      virtual_mailbox_domains: 'deliver.test',
      virtual_mailbox_maps: 'static:all/',
      virtual_mailbox_base: join(this.dir, 'mail'),
      virtual_uid_maps: 'static:8',
      virtual_gid_maps: 'static:8',
      virtual_minimum_uid: '1',
      notify_classes: '',
      delay_warning_time: options.delayWarning ?? '3s',
      queue_run_delay: retry,
      minimal_backoff_time: retry,
      maximal_backoff_time: retry,
      transport_retry_time: retry,
      maximal_queue_lifetime: options.lifetime ?? '12s',
      bounce_queue_lifetime: options.lifetime ?? '12s',
      ...options.settings,
    }
    return `${Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}`)
      .join('\n')}\n`
  }

  private transport(options: PostfixOptions): string {
    const lines = [
      'local5.test error:5.1.1 user unknown: no such mailbox here',
      'quota.test error:5.2.2 mailbox full',
      'defer.test retry:4.3.0 mail transport unavailable, try later',
      `bounce.test smtp:[127.0.0.1]:${options.bouncePort}`,
      `.bounce.test smtp:[127.0.0.1]:${options.bouncePort}`,
    ]
    if (options.plainMxPort !== undefined) lines.push(`mx.test smtp:[127.0.0.1]:${options.plainMxPort}`)
    return `${lines.join('\n')}\n`
  }

  /** Every message delivered to *@deliver.test, as raw text. */
  delivered(): string[] {
    const box = join(this.dir, 'mail', 'all', 'new')
    return existsSync(box) ? readdirSync(box).map((name) => readFileSync(join(box, name), 'latin1')) : []
  }

  log(): string {
    const file = join(this.dir, 'log')
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-40).join('\n') : ''
  }

  /** Reads its files and tables again, and tries what waits. */
  reload(): void {
    const etc = join(this.dir, 'etc')
    spawnSync('postfix', ['-c', etc, 'reload'])
    spawnSync('postqueue', ['-c', etc, '-f'])
  }

  stop(): void {
    spawnSync('postfix', ['-c', join(this.dir, 'etc'), 'stop'])
    rmSync(this.dir, { recursive: true, force: true })
  }
}
