/**
 * NAME      listen - how a server gets its socket, and which certificate it shows
 *   A listener has a key, which is also its place in the configuration (`http`, `submission.0`, `bounce`). If the
 *   supervisor has opened a socket for that key, it is taken over, and connections that came during a restart are
 *   waiting in it; else one is bound here. What goes wrong is said with the key and the remedy. Server Name Indication
 *   (RFC 6066 section 3), as node:tls asks for it. A name in a certificate may begin with `*.`, which stands for one
 *   label. Who asks for another name, or for none, gets the listener's own certificate.
 */
import type { Server } from 'node:net'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'

interface Place {
  readonly host: string
  readonly port: number
}

/** Makes the server listen for this key. */
export type Listen = (server: Server, key: string, at: Place) => Promise<void>

const REASONS: Readonly<Record<string, (key: string) => string>> = {
  EADDRINUSE: (key) =>
    `is in use by another program; stop that one (ss -ltnp shows it), or set ${key}.port to a free port`,
  EACCES: (key) =>
    `may not be opened by this user; take it from systemd (postern.socket), or set ${key}.port to 1024 or more`,
  EADDRNOTAVAIL: (key) => `is no address of this machine; set ${key}.host to one that is`,
  ENOTFOUND: (key) => `is a name without an address; set ${key}.host to an IP address`,
}

/** A listener that could not be opened; `code` is that of the system. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: string

  constructor(key: string, { host, port }: Place, code: string) {
    const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
    super(`${key}: ${where} ${REASONS[code]?.(key) ?? `cannot be opened: ${code}`}`)
    this.code = code
  }
}

const BACKLOG = 1024

/** Binds, or takes over the inherited descriptor of the key. Each is taken over once. */
export const createListen = (inherited: ReadonlyMap<string, number> = new Map()): Listen => {
  const left = new Map(inherited)
  return (server, key, at) =>
    new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException): void =>
        reject(new ListenError(key, at, error.code ?? error.message))
      server.once('error', refuse)
      const listening = (): void => {
        server.off('error', refuse)
        resolve()
      }
      const fd = left.get(key)
      left.delete(key)
      if (fd === undefined) server.listen({ host: at.host, port: at.port, backlog: BACKLOG }, listening)
      else server.listen({ fd, backlog: BACKLOG }, listening)
    })
}

export const plainListen: Listen = createListen()

export interface NamedPair {
  /** DNS names, in lower case. */
  readonly names: readonly string[]
  /** PEM. */
  readonly key: string
  readonly cert: string
}

export type FindContext = (servername: string) => SecureContext | undefined

/** Of two certificates with one name the first counts. */
export const contextsOf = (pairs: readonly NamedPair[], options: SecureContextOptions = {}): FindContext => {
  const byName = new Map<string, SecureContext>()
  for (const { names, key, cert } of [...pairs].reverse()) {
    const context = createSecureContext({ ...options, key, cert })
    for (const name of names) byName.set(name, context)
  }
  return (servername) => {
    const name = servername.toLowerCase().replace(/\.$/, '')
    return byName.get(name) ?? byName.get(name.replace(/^[^.]+/, '*'))
  }
}
