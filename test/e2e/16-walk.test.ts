/**
 * A new sysadmin's walk in a root of its own: walk.sh goes the two ways of config/OPERATE.md to a live service, backs up, loses the
 * disk, restores and purges. On this machine's own files, kept apart by an overlay; WALK=debootstrap takes a fresh Debian.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { UNPACKED } from '../parts/debian-root.js'
import { cleanEnv, ROOT } from '../parts/postern.js'
import { must } from '../parts/run.js'

const kind = process.env.WALK ?? 'overlay'
const limit = kind === 'overlay' ? 280_000 : 880_000 // a fresh Debian is fetched and unpacked first
t.setTimeout(limit)
const dir = mkdtempSync(join(tmpdir(), 'postern-walk-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

const MOUNTS =
  'mount -t tmpfs none "$1" && mkdir "$1"/u "$1"/w "$1"/m && ' +
  'mount -t overlay overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" "$1/m" && ip link set lo up'

/** Why it can not be walked here, or false. */
const reason = (): string | false => {
  const programs = ['/usr/bin/dpkg-deb', '/usr/bin/unshare', '/usr/bin/systemd-socket-activate']
  const here = kind === 'overlay' ? ['/usr/sbin/postfix', '/usr/bin/curl'] : ['/usr/sbin/debootstrap']
  const lacking = [...programs, ...here].filter((file) => !existsSync(file))
  if (lacking.length > 0) return `${lacking.join(', ')} not installed`
  if (process.getuid?.() !== 0) return 'mounting needs root'
  try {
    execFileSync('unshare', ['-m', '-n', '-p', '-f', 'sh', '-c', MOUNTS, 'sh', dir], { stdio: 'ignore' })
    return false
  } catch {
    return 'no overlay can be mounted in a namespace here'
  }
}

const why = reason()
if (why !== false) t.comment(`not walked: ${why}`)

t.test(
  'from the package to a restored backup to a clean machine',
  { skip: why, timeout: limit },
  async (t) => {
    const built = await must(join(ROOT, 'systemd', 'build-deb.sh'), [dir], ROOT, UNPACKED)
    const deb = /'([^']+\.deb)'/.exec(built.stdout)?.[1] ?? ''
    const executable = (await must(join(ROOT, 'systemd', 'build-sea.sh'), [dir])).stdout.trim()
    const child = spawn(join(ROOT, 'test', 'e2e', 'walk.sh'), [deb, executable, process.execPath, kind], {
      env: cleanEnv({ TMPDIR: dir }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.teardown(() => child.kill())
    let rest = ''
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        const [, not, name] = /^(not )?ok \d+ - (.*)$/.exec(line) ?? []
        if (name === undefined) rest += `${line}\n`
        else if (not === undefined) t.pass(name)
        else t.fail(name)
      })
    }
    const [code] = await once(child, 'close')
    if (code !== 0) t.comment(rest.slice(-6000))
    t.equal(code, 0, 'and all of it')
  },
)
