/**
 * NAME      sockets - which inherited socket belongs to which listener
 *   A socket that systemd opened finds its listener by name (`http`, `bounce`, `submission-0`, `submission-1`,
 *   `management`), else by the port that the configuration gives, else by the port's well-known meaning: 25 bounces,
 *   465 submission with implicit TLS, 587 submission with STARTTLS, 80 and 443 http. The socket's address then stands
 *   in the configuration, so that safety.ts judges what is really open. One that fits nothing is a mistake, not
 *   ignored: connections to it would never be answered.
 */
import type { InheritedSocket } from '../base/systemd.js'
import type { Config, ListenAddress } from './config.js'
import { ownUrl } from './load.js'
import { ConfigError } from './problem.js'

export interface Adopted {
  readonly config: Config
  /** File descriptors by the key of their listener. */
  readonly sockets: ReadonlyMap<string, number>
}

const listenersOf = (config: Config): ReadonlyMap<string, ListenAddress> =>
  new Map<string, ListenAddress>([
    ['http', config.http],
    ['bounce', config.bounce],
    ['management', config.management],
    ...config.submission.map((one, i) => [`submission.${i}`, one] as const),
  ])

const firstWith = (config: Config, tls: 'starttls' | 'implicit'): string =>
  `submission.${config.submission.findIndex((one) => one.tls === tls)}`

const byMeaning = (config: Config, port: number): string | null => {
  if (port === 25) return 'bounce'
  if (port === 465) return firstWith(config, 'implicit')
  if (port === 587) return firstWith(config, 'starttls')
  return port === 80 || port === 443 ? 'http' : null
}

const keyOf = (config: Config, { name, at }: InheritedSocket): string | null => {
  const listeners = listenersOf(config)
  const named = name.replace('-', '.')
  if (listeners.has(named)) return named
  if (at === null) return null
  for (const [key, { port }] of listeners) if (port === at.port && port !== 0) return key
  const meant = byMeaning(config, at.port)
  return meant !== null && listeners.has(meant) ? meant : null
}

const placed = (config: Config, key: string, at: ListenAddress): Config => {
  const [group = '', index] = key.split('.')
  if (index === undefined)
    return { ...config, [group]: { ...config[group as 'http' | 'bounce' | 'management'], ...at } }
  const submission = config.submission.map((one, i) => (i === Number(index) ? { ...one, ...at } : one))
  return { ...config, submission }
}

/** Gives each socket to its listener; throws ConfigError for one that has none, or when two want the same. */
export const adoptSockets = (config: Config, inherited: readonly InheritedSocket[]): Adopted => {
  const sockets = new Map<string, number>()
  let adopted = config
  for (const socket of inherited) {
    const key = keyOf(config, socket)
    const where = socket.at === null ? `descriptor ${socket.fd}` : `${socket.at.host}:${socket.at.port}`
    if (key === null || sockets.has(key)) {
      const expected = key === null ? 'fits no listener' : `is a second socket for ${key}`
      const remedy =
        'name it with FileDescriptorName=http, bounce or submission-0, or take it out of the unit'
      throw new ConfigError([
        { where: null, key: `socket ${socket.name || where}`, value: where, expected, remedy },
      ])
    }
    sockets.set(key, socket.fd)
    if (socket.at !== null) adopted = placed(adopted, key, socket.at)
  }
  // a base URL that nobody configured follows the socket
  if (config.base_url === ownUrl(config.http)) adopted = { ...adopted, base_url: ownUrl(adopted.http) }
  return { config: adopted, sockets }
}
