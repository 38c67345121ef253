/**
 * NAME      systemd - notifications to the supervisor, and its sockets
 *   sd_notify(3) by the program systemd-notify, since a Unix datagram needs a native module in Node; without
 *   $NOTIFY_SOCKET nothing is ever spawned. Messages go out one after the other, so READY never overtakes RELOADING.
 *   sd_listen_fds(3): what was inherited, by number and name, and where each of those sockets is bound, read from
 *   /proc. The environment is handed in; nothing here looks at the real one.
 */
import { execFile } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'

type Environment = Readonly<Record<string, string | undefined>>

export interface Notifier {
  /** Sends one message of `NAME=value` words; never waits, never fails. */
  say(...words: readonly string[]): void
  /** Resolves when everything said so far has been handed over. */
  said(): Promise<void>
  /** How often to say WATCHDOG=1, in milliseconds; null when nobody watches. */
  readonly watchEvery: number | null
}

/** Half of what systemd allows, as sd_watchdog_enabled(3) advises; null when it is off or meant for another process. */
const watchEvery = (env: Environment, pid: number): number | null => {
  const micros = Number(env.WATCHDOG_USEC)
  const meant = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === pid
  return Number.isFinite(micros) && micros > 0 && meant ? Math.max(1, Math.floor(micros / 2_000)) : null
}

const PROGRAM = 'systemd-notify'
const LONGEST_MS = 5_000

export const createNotifier = (env: Environment, pid: number): Notifier => {
  const listened = Boolean(env.NOTIFY_SOCKET)
  let last = Promise.resolve()
  const tell = (words: readonly string[]): Promise<void> =>
    new Promise((resolve) => execFile(PROGRAM, [...words], { timeout: LONGEST_MS }, () => resolve()))
  return {
    say(...words) {
      if (listened) last = last.then(() => tell(words))
    },
    said: () => last,
    watchEvery: listened ? watchEvery(env, pid) : null,
  }
}

export interface InheritedSocket {
  readonly fd: number
  /** FileDescriptorName= of the socket unit; by default the name of the unit. */
  readonly name: string
  /** Where it is bound; null when that cannot be read. */
  readonly at: { readonly host: string; readonly port: number } | null
}

const FIRST_FD = 3

/** `0100007F:1F90` is 127.0.0.1:8080: words of four bytes in the order of this machine, then the port. */
export const readProcAddress = (text: string): { host: string; port: number } | null => {
  const match = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(text)
  if (match === null) return null
  const [, address = '', port = ''] = match
  const bytes = (address.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex').reverse()])
  if (bytes.length === 4) return { host: bytes.join('.'), port: Number.parseInt(port, 16) }
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  )
  const host = new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
  return { host, port: Number.parseInt(port, 16) }
}

const boundAt = (fd: number): InheritedSocket['at'] => {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1]
    for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
      for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
        const fields = line.trim().split(/\s+/)
        if (fields[9] === inode && inode !== undefined) return readProcAddress(fields[1] ?? '')
      }
    }
  } catch {
    // no /proc here: the name has to do
  }
  return null
}

/** The sockets that the supervisor opened for this process; none when $LISTEN_PID is another. */
export const inheritedSockets = (env: Environment, pid: number): readonly InheritedSocket[] => {
  const count = Number(env.LISTEN_FDS)
  if (!Number.isInteger(count) || count <= 0 || Number(env.LISTEN_PID) !== pid) return []
  const names = (env.LISTEN_FDNAMES ?? '').split(':')
  return Array.from({ length: count }, (_, i) => {
    const fd = FIRST_FD + i
    return { fd, name: names[i] ?? '', at: boundAt(fd) }
  })
}
