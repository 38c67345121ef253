/**
 * Containers without an engine: the image that a release made, unpacked, and run as an engine would run it. A container
 * has the root of the image read-only, a /proc and processes of its own, /dev with what an engine puts there, the volume
 * that is given, the image's user and environment, and no way to more rights. All of them share one network beside this
 * machine's. Where the machine refuses that, the reason is an answer, to be printed.
 */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.js'
import { type Namespace, namespace } from './namespace.js'
import { ROOT } from './postern.js'

export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
}

export interface Options {
  readonly env?: Readonly<Record<string, string>>
  /** The folder that is /data; null: none. */
  readonly volume: string | null
  /** By default that of the image. */
  readonly user?: number
  /** Of standard input. */
  readonly input?: string
  /** Folders and files of this machine by their place in the container. */
  readonly mounts?: Readonly<Record<string, string>>
}

export interface Container {
  /** Standard output and standard error, as they came. */
  readonly said: () => string
  /** Its exit code, once it has ended; null after a signal. */
  readonly ended: Promise<number | null>
  /** To its first process. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Its first process, as this machine numbers it. */
  pid(): Promise<number>
}

// the root of the image, the place of the container's, user, number of mounts, mounts as FROM TO, words of env
const SCRIPT = `
set -eu
root=$1 place=$2 user=$3 mounts=$4; shift 4
mount --bind "$root" "$place"
for device in null zero full random urandom; do mount --bind "/dev/$device" "$place/dev/$device"; done
mount -t proc proc "$place/proc"
for _ in $(seq "$mounts"); do mount --bind "$1" "$place$2"; shift 2; done
mount -o remount,bind,ro "$place"
exec /usr/bin/env -i /usr/bin/setpriv --no-new-privs /usr/sbin/chroot --userspec="$user:$user" --groups= "$place" "$@" 2>&1
`

export class Containers {
  readonly root: string
  readonly dir = mkdtempSync(join(tmpdir(), 'postern-container-'))
  private readonly all: ChildProcess[] = []
  private count = 0

  /** The words of its program; an engine would leave those of another architecture to the kernel. */
  private readonly program: readonly string[]

  private constructor(
    readonly net: Namespace,
    readonly image: ImageConfig,
    private readonly emulator: string | null,
  ) {
    this.program = emulator === null ? image.Entrypoint : ['/usr/bin/emulator', ...WITHOUT_KERNEL]
    this.root = join(this.dir, 'root')
  }

  /** Of an archive, or why not; `emulator` is a static program of this machine that runs those of the image. */
  static async of(archive: string, emulator: string | null = null): Promise<Containers | string> {
    if (emulator !== null && !existsSync(emulator)) return `${emulator} is not installed`
    try {
      const trial = 'mount -t proc proc /proc && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp'
      execFileSync('unshare', ['-m', '-p', '-f', 'sh', '-c', trial], { stdio: 'ignore' })
    } catch {
      return 'no mounts and processes of its own can be had here: it wants root, and a kernel that lets it'
    }
    const net = namespace(1)
    if (typeof net === 'string') return net
    const { unpackImage } = await import(join(ROOT, 'systemd/release/image.mjs'))
    const dir = mkdtempSync(join(tmpdir(), 'postern-unpacked-'))
    rmSync(dir, { recursive: true })
    const made = new Containers(net, unpackImage(archive, dir).config, emulator)
    execFileSync('mv', [dir, made.root])
    // what an engine makes before it shuts the root
    for (const path of ['proc', 'dev', 'run/secrets', 'var/run/postgresql'])
      mkdirSync(join(made.root, path), { recursive: true })
    const devices = ['null', 'zero', 'full', 'random', 'urandom'].map((name) => join(made.root, 'dev', name))
    execFileSync('touch', [...devices, join(made.root, 'usr/bin/emulator')])
    return made
  }

  /** A new volume of a user. */
  volume(user = Number.parseInt(this.image.User, 10)): string {
    const path = join(this.dir, `volume-${++this.count}`)
    mkdirSync(path, { mode: 0o700 })
    chownSync(path, user, user)
    return path
  }

  run(words: readonly string[], { env = {}, volume, user, mounts = {}, input }: Options): Container {
    const place = join(this.dir, `place-${++this.count}`)
    mkdirSync(place)
    const own = {
      ...(volume && { '/data': volume }),
      ...(this.emulator && { '/usr/bin/emulator': this.emulator }),
    }
    const all: Record<string, string> = { ...own, ...mounts }
    const pairs = Object.entries(all).flatMap(([to, from]) => [from, to])
    const variables = [...this.image.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
    const script = SCRIPT.replace('/usr/bin/env -i', `/usr/bin/env -i ${variables.map(quoted).join(' ')}`)
    const owner = String(user ?? Number.parseInt(this.image.User, 10))
    const child = this.net.spawn('unshare', [
      ...['-m', '-p', '-f', '--kill-child', 'bash', '-c', script, 'sh', this.root, place, owner],
      ...[String(pairs.length / 2), ...pairs, ...this.program, ...words],
    ])
    this.all.push(child)
    child.stdin?.on('error', () => {}) // it may have ended
    child.stdin?.end(input)
    let said = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk
    })
    const first = (): Promise<number> =>
      eventually('its first process is there', () => {
        const file = `/proc/${child.pid}/task/${child.pid}/children`
        return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || null : null
      })
    return {
      said: () => said,
      ended: once(child, 'close').then(([code]) => code as number | null),
      pid: first,
      signal: async (name) => {
        process.kill(await first(), name)
      },
    }
  }

  /** One that ends by itself. */
  async ran(words: readonly string[], options: Options): Promise<{ code: number | null; text: string }> {
    const one = this.run(words, options)
    const code = await one.ended
    return { code, text: one.said() }
  }

  async remove(): Promise<void> {
    for (const child of this.all) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    this.net.remove()
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** What the first line of the program says. */
const WITHOUT_KERNEL = ['/usr/lib/postern/bin/node', '--max-semi-space-size=8', '/usr/lib/postern/postern.js']

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** The document among what a command says: standard error comes along. */
export const documentOf = (text: string) =>
  JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))

/** The archive of an architecture that a release left in $POSTERN_RELEASE, or why there is none. */
export const archiveOf = (arch: string): { file: string } | string => {
  const folder = process.env.POSTERN_RELEASE
  if (folder === undefined) return 'no release is made here: systemd/release/check.sh makes one and runs this'
  const name = readdirSync(folder).find((one) => one.endsWith(`-image-${arch}.tar`))
  return name === undefined ? `there is no image for ${arch} in ${folder}` : { file: join(folder, name) }
}
