/**
 * NAME      listening - where the daemon really listens
 *   Ports come from the configuration, from systemd, or from the system (0). The daemon notes the real ones in its
 *   data folder as long as it runs, so that doctor, send and sendmail on the same folder find it. Whoever may not look
 *   in there, as cron jobs of other users, goes by the configuration. What is asked of the management listener goes to
 *   the noted place alone, and only while a daemon holds the folder: whoever else has that port is not for us to talk
 *   to.
 */
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../base/folder.js'
import type { Log } from '../base/log.js'
import type { Config, ListenAddress } from '../config/config.js'
import type { Ports } from '../daemon/daemon.js'

const fileIn = ({ data_dir }: Pick<Config, 'data_dir'>): string => join(data_dir, 'listening.json')

const AGAIN_MS = 10_000

/**
 * Writes the note; the answer takes it away again. On a full disk a daemon serves without it, and tries again: that of an
 * earlier one must not stand there. `inherited` are the listeners whose sockets systemd opened.
 */
export const noteListening = (
  config: Config,
  ports: Ports,
  log: Pick<Log, 'warn'>,
  inherited: readonly string[] = [],
): (() => void) => {
  const file = fileIn(config)
  const note: Note = { hosts: hostsOf(config), ports, inherited }
  let again: NodeJS.Timeout | null = null
  const remove = (): void => {
    try {
      rmSync(file, { force: true })
    } catch {
      // on a failed disk; why the daemon ends is what matters, and the next one writes it anew
    }
  }
  const write = (): void => {
    try {
      writeWhole(file, JSON.stringify(note))
    } catch (err) {
      if (again === null) log.warn({ err, file }, 'not noted where this listens: tried again')
      remove()
      again = setTimeout(write, AGAIN_MS).unref()
    }
  }
  write()
  return () => {
    if (again !== null) clearTimeout(again)
    remove()
  }
}

const hostsOf = ({ http, management, submission, bounce }: Config) => ({
  http: http.host,
  management: management.host,
  submission: submission.map(({ host }) => host),
  bounce: bounce.host,
})

interface Note {
  readonly hosts: ReturnType<typeof hostsOf>
  readonly ports: Ports
  readonly inherited: readonly string[]
}

const readNote = (config: Config): Note => JSON.parse(readFileSync(fileIn(config), 'utf8')) as Note

/** Settings whose place was taken by what systemd says. */
export const settledElsewhere = (config: Config): ReadonlySet<string> => {
  try {
    const { inherited } = readNote(config)
    const keys = inherited.flatMap((name) => {
      const [group = ''] = name.split('.')
      return group === 'submission' ? [group] : [`${group}.host`, `${group}.port`]
    })
    return new Set(inherited.includes('http') ? [...keys, 'base_url'] : keys)
  } catch {
    return new Set()
  }
}

/** The configuration with the addresses of the running daemon; as it is, when nobody left a note. */
export const asListening = (config: Config): Config => {
  try {
    const { hosts, ports } = readNote(config)
    const at = (key: 'http' | 'management' | 'bounce') => ({ host: hosts[key], port: ports[key] })
    return {
      ...config,
      http: { ...config.http, ...at('http') },
      management: { ...config.management, ...at('management') },
      bounce: { ...config.bounce, ...at('bounce') },
      submission: config.submission.map((one, i) => ({
        ...one,
        host: hosts.submission[i] ?? one.host,
        port: ports.submission[i] ?? one.port,
      })),
    }
  } catch {
    return config
  }
}

/** An address as it stands in a URL, of a listener that may listen on all of them. */
export const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host

export interface Doors {
  /** When the daemon began to listen. */
  readonly since: number
  readonly at: readonly (readonly [name: string, address: string])[]
}

/** Of the daemon that runs on this folder; null: none runs, or it has not said so yet. */
export const doorsOf = async (config: Config): Promise<Doors | null> => {
  if ((await managementOf(config)) === null) return null
  const { http, submission, bounce, management } = asListening(config)
  const text = ({ host, port }: ListenAddress): string => `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    since: statSync(fileIn(config)).mtimeMs,
    at: [
      ['http', text(http)],
      ...submission.map((one) => ['submission', text(one)] as const),
      ['bounce', text(bounce)],
      ['management', text(management)],
    ],
  }
}

/** Where the daemon that runs on this folder answers its operator; null: none runs, or it has not said so yet. */
export const managementOf = async (config: Config): Promise<ListenAddress | null> => {
  const { adminOf, placeOf } = await import('../store/open.js')
  if (!(await adminOf(placeOf(config.data_dir))).isLocked()) return null
  try {
    const { hosts, ports } = readNote(config)
    return { host: hosts.management, port: ports.management }
  } catch {
    return null
  }
}
