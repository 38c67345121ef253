/**
 * NAME      servers - which server of several takes writes, and the folder that says where they are
 *   `postgres://user:password@host:port/database?sslrootcert=FILE`, one a line: the first that takes writes
 *   is used. A host that begins with %2F is the folder of a Unix socket. Beyond this machine only TLS that
 *   proves who the server is (`sslmode=verify-full`) will do, and it need not be said; `verify-ca` proves it
 *   by a CA that certifies nobody else. A weaker mode is refused, since the password and every mail go over
 *   that line. No message has a password.
 */
import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { syncFolder } from '../../base/folder.js'
import { DamagedFileError, LooseModeError } from '../../base/secret.js'

/** What the operator says that stands before it. */
export type Pooling = 'none' | 'transaction'

interface Tls {
  readonly servername: string
  readonly ca?: string
  /** Whatever name its certificate has. */
  readonly anyName?: true
  /** By which we prove who we are. */
  readonly cert?: string
  readonly key?: string
}

export interface Server {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  /** Behind a pooler that gives a session for a transaction. */
  readonly isPooled: boolean
  /** Null: none, on this machine. */
  readonly tls: Tls | null
}

/** What the operator has to mend before anything can begin. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError'
}

const PARAMETERS: ReadonlySet<string> = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey'])
const MODES: ReadonlySet<string> = new Set(['disable', 'verify-ca', 'verify-full'])

const FORM = 'postgres://user:password@host:port/database'

const isSocket = (host: string): boolean => host.startsWith('/')

const isHere = (host: string): boolean =>
  isSocket(host) || host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

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

const read = (name: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new DatabaseRefusedError(`${name} ${file} cannot be read: ${(error as Error).message}`)
  }
}

/** What has none is taken by TLS without a word, and then nobody is trusted. */
const certificateIn = (name: string, file: string, whose: string): string => {
  const text = read(name, file)
  try {
    new X509Certificate(text)
  } catch {
    throw new DatabaseRefusedError(`${name} ${file} has no certificate in it: name that of ${whose}`)
  }
  return text
}

/** What may not be done with a key by others. */
const FORBIDDEN = 0o037

const keyIn = (file: string): string => {
  const text = read('sslkey', file)
  if ((statSync(file).mode & FORBIDDEN) !== 0)
    throw new LooseModeError(`${file} can be read by others; run: chmod 600 ${file}`)
  try {
    createPrivateKey(text)
  } catch {
    throw new DatabaseRefusedError(`sslkey ${file} has no key in it that can be read without a password`)
  }
  return text
}

/** The certificate by which we sign in, and its key. */
const ownOf = (certFile: string | null, keyFile: string | null): Pick<Tls, 'cert' | 'key'> => {
  if (certFile === null && keyFile === null) return {}
  if (certFile === null || keyFile === null)
    throw new DatabaseRefusedError('sslcert and sslkey of the URL of the database go together: name both')
  return { cert: certificateIn('sslcert', certFile, 'the user'), key: keyIn(keyFile) }
}

const tlsOf = (host: string, parameters: URLSearchParams): Server['tls'] => {
  const mode = parameters.get('sslmode') ?? (isHere(host) ? 'disable' : 'verify-full')
  if (!MODES.has(mode) || (mode === 'disable' && !isHere(host)))
    throw new DatabaseRefusedError(
      `sslmode ${mode} does not prove which server ${host} is: use sslmode=verify-full, with sslrootcert=FILE for a CA of your own`,
    )
  const root = parameters.get('sslrootcert')
  // of the CAs that everybody trusts each certifies whoever asks
  if (mode === 'verify-ca' && root === null)
    throw new DatabaseRefusedError(
      `sslmode verify-ca proves nothing by the CAs that all trust: name one of your own by sslrootcert=FILE, or use sslmode=verify-full`,
    )
  const own = ownOf(parameters.get('sslcert'), parameters.get('sslkey'))
  if (mode === 'disable' || isSocket(host)) {
    if (own.cert === undefined && (mode === 'disable' || !parameters.has('sslmode'))) return null
    throw new DatabaseRefusedError(
      isSocket(host)
        ? 'a Unix socket speaks no TLS: leave out what begins with ssl'
        : `sslcert wants TLS: add sslmode=verify-full`,
    )
  }
  return {
    servername: isIP(host) === 0 ? host : '',
    ...(root !== null && { ca: certificateIn('sslrootcert', root, 'the CA') }),
    ...(mode === 'verify-ca' && { anyName: true }),
    ...own,
  }
}

const hostOf = ({ hostname }: URL, number: number): string => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return /^%2f/i.test(host) ? decoded(host, number) : host
}

const serverOf = (line: string, number: number, isPooled: boolean): Server => {
  const url = parsed(line, number)
  const host = hostOf(url, number)
  for (const name of url.searchParams.keys())
    if (!PARAMETERS.has(name))
      throw new DatabaseRefusedError(
        `${name} of URL ${number} of the database is unknown: there are ${[...PARAMETERS].join(', ')}`,
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

// What a daemon keeps on its own disk: who it is, and where the database is. The id of a daemon outlives it, so that
// the next one on the same folder is known for its successor. The URLs have a password in them, and are read by
// nobody else.

const ID = /^[0-9a-f-]{36}$/

/** To be asked under the lock of the folder. */
export const daemonId = (dataDir: string): string => {
  const file = join(dataDir, 'daemon.id')
  if (!existsSync(file)) {
    writeFileSync(file, `${randomUUID()}\n`, { mode: 0o600, flush: true })
    syncFolder(dataDir)
  }
  const id = readFileSync(file, 'utf8').trim()
  if (!ID.test(id))
    throw new DamagedFileError(`${file} is damaged; remove it, and the daemon makes another in 30 s at most`)
  return id
}

export const readUrls = (file: string): string => {
  const about = statSync(file)
  if (about.isDirectory())
    throw new DatabaseRefusedError(
      `${file} is a folder: name a file with the URL of the database (store.url_file, or --to)`,
    )
  if ((about.mode & FORBIDDEN) !== 0)
    throw new LooseModeError(`${file} can be read by others; run: chmod 600 ${file}`)
  return readFileSync(file, 'utf8')
}

/** The text that has the URLs, or its file, which is read at each connect: a password may be changed while a daemon runs. */
export type Urls = string | { readonly file: string }

/** As they are now. */
export const serversNow = (urls: Urls, pooler?: Pooling): readonly Server[] =>
  serversOf(typeof urls === 'string' ? urls : readUrls(urls.file), pooler)
