/**
 * NAME      servers - where the database is, by the URLs that its operator wrote
 * DESCRIPTION
 *   `postgres://user:password@host:port/database?sslrootcert=FILE`, one a line: the first that takes writes is used.
 *   Beyond this machine only TLS that proves who the server is (`sslmode=verify-full`) will do, and it need not be
 *   said; a weaker mode is refused, since the password and every mail go over that line. No message has a password.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** What the operator says that stands before it. */
export type Pooling = 'none' | 'transaction'

export interface Server {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  /** Behind a pooler that gives a session for a transaction. */
  readonly isPooled: boolean
  /** Null: none, on this machine. */
  readonly tls: { readonly servername: string; readonly ca?: string } | null
}

/** What the operator has to mend before anything can begin. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError'
}

const PARAMETERS: ReadonlySet<string> = new Set(['sslmode', 'sslrootcert'])
const MODES: ReadonlySet<string> = new Set(['disable', 'verify-full'])

const FORM = 'postgres://user:password@host:port/database'

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

const parsed = (line: string, number: number): URL => {
  const url = URL.canParse(line) ? new URL(line) : null
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hostname === '')
    throw new DatabaseRefusedError(
      `URL ${number} of the database is none: write ${FORM}, and in a password # as %23, / as %2F, ? as %3F`,
    )
  return url
}

/** A password with a % in it is written with %25. */
const decoded = (text: string, number: number): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new DatabaseRefusedError(
      `URL ${number} of the database has a % that begins no character: write %25`,
    )
  }
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new DatabaseRefusedError(`sslrootcert ${file} cannot be read: ${(error as Error).message}`)
  }
}

/** What has none is taken by TLS without a word, and then nobody is trusted. */
const certificate = (file: string | null): { ca?: string } => {
  if (file === null) return {}
  const ca = read(file)
  try {
    new X509Certificate(ca)
  } catch {
    throw new DatabaseRefusedError(`sslrootcert ${file} has no certificate in it: name that of the CA`)
  }
  return { ca }
}

const tlsOf = (host: string, parameters: URLSearchParams): Server['tls'] => {
  const mode = parameters.get('sslmode') ?? (isLoopback(host) ? 'disable' : 'verify-full')
  if (!MODES.has(mode) || (mode === 'disable' && !isLoopback(host)))
    throw new DatabaseRefusedError(
      `sslmode ${mode} does not prove which server ${host} is: use sslmode=verify-full, with sslrootcert=FILE for a CA of your own`,
    )
  if (mode === 'disable') return null
  return { servername: isIP(host) === 0 ? host : '', ...certificate(parameters.get('sslrootcert')) }
}

const serverOf = (line: string, number: number, isPooled: boolean): Server => {
  const url = parsed(line, number)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  for (const name of url.searchParams.keys())
    if (!PARAMETERS.has(name))
      throw new DatabaseRefusedError(
        `${name} of URL ${number} of the database is unknown: there are ${[...PARAMETERS].join(' and ')}`,
      )
  const database = decoded(url.pathname.slice(1), number)
  if (database === '' || url.username === '')
    throw new DatabaseRefusedError(`URL ${number} of the database must name a user and a database`)
  return {
    host,
    port: url.port === '' ? 5432 : Number(url.port),
    user: decoded(url.username, number),
    password: url.password === '' ? undefined : decoded(url.password, number),
    database,
    isPooled,
    tls: tlsOf(host, url.searchParams),
  }
}

/** In the order in which they are to be tried. */
export const serversOf = (text: string, pooler: Pooling = 'none'): readonly Server[] => {
  const lines = text.split('\n').map((line) => line.trim())
  const servers = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line, i) => serverOf(line, i + 1, pooler === 'transaction'))
  if (servers.length === 0) throw new DatabaseRefusedError(`store.url_file has no URL: write ${FORM} in it`)
  return servers
}
