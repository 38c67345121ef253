/**
 * A private Exim as upstream MTA: its own folder, a high loopback port, nothing
 * of the system touched. Debian's package can not be installed beside Postfix,
 * so that its files are unpacked where apt can fetch them, and the user that it
 * insists on exists in a mount namespace of its own.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pair } from './certificates.js'
import { eventually } from './eventually.js'
import { freePort, listens } from './postfix.js'

const INSTALLED = '/usr/sbin/exim4'

/** Runs Exim where its user is known. */
const command = (
  dir: string,
  path: string,
  args: readonly string[],
): readonly [string, readonly string[]] => {
  if (path === INSTALLED) return [path, args]
  writeFileSync(
    join(dir, 'passwd'),
    `${readFileSync('/etc/passwd', 'utf8')}Debian-exim:x:9925:9925::/:/bin/false\n`,
  )
  writeFileSync(join(dir, 'group'), `${readFileSync('/etc/group', 'utf8')}Debian-exim:x:9925:\n`)
  const script = 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"'
  return ['unshare', ['-m', 'sh', '-c', script, dir, path, ...args]]
}

/** The program, or why there is none. */
const findExim = (): { readonly path: string } | { readonly why: string } => {
  if (process.getuid?.() !== 0) return { why: 'a private Exim needs root' }
  if (existsSync(INSTALLED)) return { path: INSTALLED }
  const dir = join(tmpdir(), 'postern-test-exim')
  const path = join(dir, 'root', 'usr', 'sbin', 'exim4')
  if (!existsSync(path)) {
    mkdirSync(dir, { recursive: true })
    const options = { cwd: dir, timeout: 60_000, encoding: 'utf8' } as const
    const fetched = spawnSync('apt-get', ['download', 'exim4-daemon-light'], options)
    const [deb] = readdirSync(dir).filter((name) => name.endsWith('.deb'))
    if (fetched.status !== 0 || deb === undefined)
      return { why: 'Exim is not here, and apt-get can not fetch it' }
    if (spawnSync('dpkg', ['-x', deb, 'root'], options).status !== 0)
      return { why: 'dpkg can not unpack Exim' }
  }
  const [name, args] = command(dir, path, ['-C', '/dev/null', '-bV'])
  const version = spawnSync(name, args, { encoding: 'utf8' })
  return version.status === 0 ? { path } : { why: `Exim does not run here: ${version.stderr.slice(0, 200)}` }
}

const found = findExim()

/** Why the tests with a real Exim cannot run here, or null. */
export const noExim = (): string | null => ('why' in found ? found.why : null)

export interface EximOptions {
  /** Where mail to bounce.test goes: the bounce door. */
  readonly bouncePort: number
  readonly pair: Pair
  readonly login: { readonly user: string; readonly password: string }
}

export class Exim {
  readonly dir = mkdtempSync(join(tmpdir(), 'postern-exim-'))
  port = 0
  #child: ChildProcess | null = null

  async start(options: EximOptions): Promise<this> {
    if ('why' in found) throw new Error(found.why)
    this.port = await freePort()
    for (const name of ['spool', 'log', 'mail']) mkdirSync(join(this.dir, name))
    writeFileSync(join(this.dir, 'cert.pem'), options.pair.cert)
    writeFileSync(join(this.dir, 'key.pem'), options.pair.key)
    writeFileSync(join(this.dir, 'exim.conf'), this.#config(found.path, options))
    spawnSync('chown', ['-R', 'mail:mail', this.dir])
    spawnSync('chown', ['root', join(this.dir, 'exim.conf')])
    spawnSync('chmod', ['755', this.dir])
    const args = ['-C', join(this.dir, 'exim.conf'), '-bdf', '-q2s']
    const [name, words] = command(this.dir, found.path, args)
    this.#child = spawn(name, words, { stdio: 'ignore' })
    await eventually('Exim comes up', () => listens(this.port), { every: 50, seen: () => this.log() })
    return this
  }

  #config(path: string, { bouncePort, login }: EximOptions): string {
    return `
primary_hostname = exim.upstream.test
exim_user = mail
exim_group = mail
never_users =
spool_directory = ${this.dir}/spool
log_file_path = ${this.dir}/log/%s
pid_file_path = ${this.dir}/exim.pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${this.port}
tls_advertise_hosts = *
tls_certificate = ${this.dir}/cert.pem
tls_privatekey = ${this.dir}/key.pem
dsn_advertise_hosts = *
smtputf8_advertise_hosts = *
smtp_accept_max = 50
queue_run_max = 2
keep_environment =
deliver_drop_privilege
exim_path = ${path}
qualify_domain = upstream.test
acl_smtp_mail = check_mail
acl_smtp_rcpt = check_rcpt

begin acl
check_mail:
  deny
    message = 5.7.0 authentication required
    !authenticated = *
  accept
check_rcpt:
  deny
    message = 5.1.1 no such user here
    local_parts = nobody
  defer
    message = 4.2.1 mailbox busy, try again in 300 seconds
    local_parts = busy
  accept

begin routers
box:
  driver = accept
  domains = deliver.test
  transport = box
fails:
  driver = redirect
  domains = local5.test
  allow_fail
  data = :fail: 550 5.1.1 user unknown: no such mailbox here
back:
  driver = manualroute
  domains = bounce.test
  route_list = * 127.0.0.1 byname
  self = send
  transport = door

begin transports
box:
  driver = appendfile
  directory = ${this.dir}/mail
  maildir_format
  user = mail
  group = mail
door:
  driver = smtp
  port = ${bouncePort}
  hosts_avoid_tls = *
  allow_localhost

begin retry
* * F,1h,2s

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{${login.user}}}{eq{$auth3}{${login.password}}}}}
  server_advertise_condition = \${if def:tls_in_cipher}
`
  }

  /** Every message delivered to *@deliver.test, as raw text. */
  delivered(): string[] {
    const box = join(this.dir, 'mail', 'new')
    return existsSync(box) ? readdirSync(box).map((name) => readFileSync(join(box, name), 'latin1')) : []
  }

  log(): string {
    const file = join(this.dir, 'log', 'main')
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-40).join('\n') : ''
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child !== null && child.exitCode === null) {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await gone
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 })
  }
}
