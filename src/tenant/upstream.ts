/**
 * NAME      upstream - one member of a pool, as people write it: a mail server, or a service that takes mail by HTTPS
 *   `smtp://user@host:587?tls=required&weight=10&password_file=/run/secrets/mta` or `smtps://host` (TLS from the first
 *   byte). A password never stands in the URL, since URLs end up in process lists and shell histories: it is read from
 *   the named file. `ca_file=` names the private authority that signed the server's certificate. `bind=` names the
 *   addresses to connect from, `helo=` the name to say there, `warmup=50:14` how much it may be given while it is new.
 *   Without `tls=` a member with a user name requires TLS, and one without takes TLS when it is offered.
 *   In place of a password there may be a file that holds a token (`token_file=`), the key file of a Google service
 *   account (`service_account_file=`), or a client at a token endpoint (`token_url=`, `client_id=`), with its secret, a
 *   refresh token or both. Secrets are sealed, and kept only for the endpoint and the client that they were given for.
 *   `ses+https://REGION?access_key_file=PATH` and `mailgun+https://DOMAIN?region=eu&key_file=PATH` are services. Their
 *   hosts are taken from a table, and they stand in a row like any other: what the URL names is the `host`, the key is
 *   a user and a sealed password. An access key is written as its id and its secret, with a colon, a comma or blanks
 *   between them, or as the file that AWS gives, with a line of titles.
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { readTarget } from '../base/dial.js'
import { type FieldError, invalidField, throwInvalid, wrongIn } from '../base/fault.js'
import { isLoopback, isPrivateRange, isUnspecified, parseRange } from '../base/network.js'
import { WARMUP_MOST, type WarmupPlan } from '../lifecycle/warmup.js'
import type {
  AuthMechanism,
  OauthRow,
  UpstreamRow,
  UpstreamService,
  UpstreamTls,
} from '../store/port/tenants.js'

const REGION = /^[a-z]{2}(-[a-z]+)+-[0-9]$/
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

export const HTTPS_PORT = 443

interface Kind {
  /** What its URL names. */
  readonly name: RegExp
  readonly says: string
  readonly host: (row: Pick<UpstreamRow, 'host' | 'region'>) => string
  /** The word of its URL that names the file of its key. */
  readonly word: string
  /** The same over the API, where the key itself is given. */
  readonly secret: string
  /** From the text of that file; null when it is none. */
  readonly login: (text: string) => { readonly user: string; readonly pass: string } | null
  /** What such a file holds, in words. */
  readonly holds: string
}

const KINDS: Readonly<Record<UpstreamService, Kind>> = {
  ses: {
    name: REGION,
    says: 'must be a region of AWS, such as eu-west-1',
    host: ({ host }) => `email.${host}.amazonaws.com`,
    word: 'access_key_file',
    secret: 'access_key',
    login(text) {
      const [user, pass, more] = text
        .replace(/^\uFEFF?Access key ID,Secret access key\s/i, '')
        .trim()
        .split(/[\s,:]+/)
      return user && pass && more === undefined && /^[!-~]+$/.test(user + pass) ? { user, pass } : null
    },
    holds: 'must hold an access key: its id and its secret, with a colon between them',
  },
  mailgun: {
    name: DOMAIN,
    says: 'must be a sending domain of Mailgun, such as mg.example.com',
    host: ({ region }) => (region === 'eu' ? 'api.eu.mailgun.net' : 'api.mailgun.net'),
    word: 'key_file',
    secret: 'key',
    login(text) {
      const pass = text.trim()
      return /^[!-~]+$/.test(pass) ? { user: 'api', pass } : null
    },
    holds: 'must hold one key',
  },
}

const SERVICE_REGIONS = ['us', 'eu'] as const

const known = (name: string): UpstreamService | null =>
  Object.hasOwn(KINDS, name) ? (name as UpstreamService) : null

/** Of the scheme of a URL; null for a mail server. */
export const serviceOf = (url: string): UpstreamService | null =>
  known(/^([a-z]+)\+https:/i.exec(url)?.[1]?.toLowerCase() ?? '')

/** The word of a URL that names the file of a secret, whichever upstream it is of. */
export const secretWord = (service: UpstreamService | null | undefined): string =>
  service == null ? 'password_file' : KINDS[service].word

/** Where a setup over the API gives the secret itself, by the word that would name its file. */
export const SERVICE_SECRETS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(KINDS).map(({ secret, word }) => [secret, word]),
)

/** What the query of its URL may say beside what every upstream's may. */
const SERVICE_WORDS: Readonly<Record<UpstreamService, readonly string[]>> = {
  ses: [KINDS.ses.word],
  mailgun: [KINDS.mailgun.word, 'region'],
}

export const serviceHost = (
  row: Pick<UpstreamRow, 'host' | 'region'> & { readonly service: UpstreamService },
): string => KINDS[row.service].host(row)

/** The key in the text of its file, or what is wrong with it, in words. */
const readKey = (service: UpstreamService, text: string): ReturnType<Kind['login']> | string =>
  KINDS[service].login(text) ?? KINDS[service].holds

/** The text of such a file, for whoever must tell one key from another. */
export const keyText = (service: UpstreamService, user: string, pass: string): string =>
  service === 'ses' ? `${user}:${pass}` : pass

type Lack = readonly [field: string, kind: FieldError['kind'], message: string]

/** What a header can carry, and the file of a key. */
const WORD = /^[!-~]+$/
const PARTED = /[,:]/

const wrongWithKey = (service: UpstreamService, user: string, pass: string | undefined): Lack | null => {
  const message = `must be one word of ASCII${service === 'ses' ? ', without comma and colon' : ''}`
  const isOdd = (text: string): boolean => !WORD.test(text) || (service === 'ses' && PARTED.test(text))
  if (isOdd(user)) return ['auth.user', 'format', message]
  return pass !== undefined && isOdd(pass) ? ['auth.pass', 'format', message] : null
}

/** What keeps a row from being the upstream that it says to be, with a password that was given; null when nothing does. */
export const wrongWithService = (row: UpstreamRow, pass?: string): Lack | null => {
  const { service } = row
  if (service == null) return row.region == null ? null : ['region', 'forbidden', 'goes with service mailgun']
  const kind = KINDS[service]
  if (!kind.name.test(row.host)) return ['host', 'format', kind.says]
  if (row.port !== HTTPS_PORT) return ['port', 'range', `must be ${HTTPS_PORT}, or left out`]
  if (row.tls !== 'implicit') return ['tls', 'forbidden', 'must be implicit, or left out']
  if (service === 'ses' && row.region != null) return ['region', 'forbidden', 'is the host here']
  if (row.user === null || row.sealedPassword === null)
    return [
      'auth',
      'missing',
      service === 'ses' ? 'needs the access key: user and pass' : 'needs the key as pass',
    ]
  const odd = wrongWithKey(service, row.user, pass)
  if (odd !== null) return odd
  const smtp = [
    ['auth.oauth', row.oauth],
    ['auth_mechanism', row.authMechanism],
    ['helo', row.helo],
    ['client_cert_file', row.clientCertFile],
  ] as const
  const [field] = smtp.find(([, value]) => value != null) ?? []
  return field === undefined ? null : [field, 'forbidden', 'is for mail servers']
}

interface OauthWish {
  readonly tokenFile?: string | undefined
  readonly serviceAccountFile?: string | undefined
  readonly tokenUrl?: string | undefined
  readonly clientId?: string | undefined
  /** Left out, the stored one stays. */
  readonly clientSecret?: string | undefined
  readonly refreshToken?: string | undefined
  readonly scope?: string | null | undefined
}

export const MECHANISMS: readonly AuthMechanism[] = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER']

const isOfTokens = (mechanism: AuthMechanism): boolean =>
  mechanism === 'XOAUTH2' || mechanism === 'OAUTHBEARER'

/** By itself; whether a secret is there shows when it meets the stored one. */
const checkOauth = (wish: OauthWish, wrong: Wrong): void => {
  const { tokenUrl, clientId, tokenFile, serviceAccountFile } = wish
  const named = [tokenFile, serviceAccountFile].filter((file) => file !== undefined).length
  const client = tokenUrl !== undefined || clientId !== undefined
  if (named === 2 || (tokenFile !== undefined && client))
    wrong('token_file', 'forbidden', 'names the token: nothing else may say where it comes from')
  if (tokenUrl !== undefined) {
    const target = readTarget(tokenUrl)
    if (typeof target === 'string') wrong('token_url', 'format', target)
  } else if (named === 0) wrong('token_url', 'missing', 'tells where tokens are to be had')
  if (named === 0 && clientId === undefined) wrong('client_id', 'missing', 'goes with token_url')
}

export const oauthRow = (
  seal: (secret: string) => string,
  wish: OauthWish,
  old: OauthRow | null,
): OauthRow => {
  const { tokenUrl = null, clientId = null, clientSecret, refreshToken, scope } = wish
  const known = old !== null && old.tokenUrl === tokenUrl && old.clientId === clientId ? old : null
  const sealed = (secret: string | undefined, before: string | null | undefined): string | null =>
    secret === undefined ? (before ?? null) : seal(secret)
  return {
    tokenFile: wish.tokenFile ?? null,
    serviceAccountFile: wish.serviceAccountFile ?? null,
    tokenUrl,
    clientId,
    sealedSecret: sealed(clientSecret, known?.sealedSecret),
    sealedRefreshToken: sealed(refreshToken, known?.sealedRefreshToken),
    scope: scope === undefined ? (known?.scope ?? null) : scope,
  }
}

/** What a login lacks, as the end of a field's path and a sentence; null when it is whole. */
export const lacks = ({
  user,
  sealedPassword,
  oauth,
  authMechanism,
}: UpstreamRow): [string, string] | null => {
  if (user === null) return null
  if (oauth == null) {
    if (authMechanism != null && isOfTokens(authMechanism)) return ['oauth', `${authMechanism} needs it`]
    return sealedPassword === null
      ? ['pass', 'a user name needs a password (in a URL: password_file=PATH), or oauth']
      : null
  }
  if (authMechanism != null && !isOfTokens(authMechanism))
    return ['pass', `${authMechanism} needs it, and no oauth`]
  const { tokenFile, serviceAccountFile, sealedSecret, sealedRefreshToken } = oauth
  const secret = tokenFile ?? serviceAccountFile ?? sealedSecret ?? sealedRefreshToken
  return secret === null ? ['oauth.client_secret', 'a client needs its secret, or a refresh token'] : null
}

/** A password or tokens: the one ends the other. */
interface MemberAuth {
  readonly user: string
  readonly pass?: string | undefined
  readonly oauth?: OauthWish | undefined
}

/** A member as a door hands it in; what is left out takes its default, or stays as it was. */
export interface MemberWish {
  /** Of an existing member; else host and port tell which one it is. */
  readonly id?: string | undefined
  /** A service in place of a mail server; null: none. */
  readonly service?: UpstreamService | null | undefined
  readonly host: string
  readonly region?: UpstreamRow['region'] | undefined
  readonly port?: number | undefined
  readonly tls?: UpstreamTls | undefined
  readonly fingerprint?: string | null | undefined
  /** null takes the login away. What is left out of it keeps what is stored. */
  readonly auth?: MemberAuth | null | undefined
  /** null: what fits. */
  readonly authMechanism?: AuthMechanism | null | undefined
  readonly caFile?: string | null | undefined
  readonly clientCertFile?: string | null | undefined
  readonly clientKeyFile?: string | null | undefined
  readonly bind?: readonly string[] | null | undefined
  readonly helo?: string | null | undefined
  /** null ends it. */
  readonly warmup?: WarmupPlan | null | undefined
  readonly weight?: number | undefined
  readonly priority?: number | undefined
  readonly maxConnections?: number | undefined
  readonly messagesPerConnection?: number | undefined
  readonly rate?: number | null | undefined
  readonly state?: UpstreamRow['state'] | undefined
}

const TLS_MODES: readonly UpstreamTls[] = ['none', 'opportunistic', 'required', 'verify', 'implicit']

type Wrong = (field: string, kind: FieldError['kind'], message: string) => void

const NUMBERS = {
  weight: [1, 1000],
  priority: [0, 1000],
  max_connections: [1, 1000],
  messages_per_connection: [1, 1_000_000],
  rate: [0.001, 100_000],
} as const

/** What of a URL names a file. */
export const FILES_OF_URL: readonly string[] = [
  'password_file',
  'ca_file',
  'client_cert_file',
  'client_key_file',
  ...Object.values(SERVICE_SECRETS),
]
export const OAUTH_FILES = [
  'token_file',
  'service_account_file',
  'client_secret_file',
  'refresh_token_file',
] as const
const OAUTH = [...OAUTH_FILES, 'token_url', 'client_id', 'scope'] as const
/** What the query of an upstream URL may hold about its login, which `upstream add` has as options. */
export const LOGIN_WORDS = ['auth_mechanism', 'password_file', ...OAUTH] as const
const COMMON: readonly string[] = ['fingerprint', 'bind', 'ca_file', 'warmup', ...Object.keys(NUMBERS)]
const KNOWN: readonly string[] = [
  ...['tls', 'helo', 'password_file', 'client_cert_file', 'client_key_file'],
  ...[...COMMON, 'auth_mechanism', ...OAUTH],
]

const isPrivateHost = (host: string): boolean => {
  const range = parseRange(host)
  return isLoopback(host) || (range !== null && isPrivateRange(range))
}

/** Hex in lower case, without colons. */
export const normalFingerprint = (text: string): string => text.replace(/[:\s]/g, '').toLowerCase()

const MOST_ADDRESSES = 16
/** A host name in full, or an address literal (RFC 5321, section 4.1.3). */
const HELO =
  /^(?=.{1,255}$)(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9-]{1,63}|\[[0-9A-Fa-f.:]+\]|\[IPv6:[0-9A-Fa-f.:]+\])$/

const checkOrigin = ({ bind, helo }: MemberWish, wrong: Wrong): void => {
  if (bind != null && (bind.length === 0 || bind.length > MOST_ADDRESSES))
    wrong('bind', 'length', `must have 1 to ${MOST_ADDRESSES} addresses`)
  for (const [i, address] of (bind ?? []).entries())
    if (isIP(address) === 0 || isUnspecified(address) || address.includes('%'))
      wrong(`bind[${i}]`, 'format', 'must be an IPv4 or IPv6 address of this machine')
  if (helo != null && !HELO.test(helo))
    wrong('helo', 'format', 'must be a host name in full, such as mta1.example.com')
}

const checkWarmup = ({ warmup }: MemberWish, wrong: Wrong): void => {
  for (const name of ['first', 'days'] as const) {
    const value = warmup?.[name]
    const most = WARMUP_MOST[name]
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= most))
      wrong(`warmup.${name}`, 'range', `must be 1 to ${most}`)
  }
}

/** `50:14`: recipients of the first day, and days; `none` ends it. */
const WARMUP = /^(?:none|(\d{1,9}):(\d{1,9}))$/

const readWarmup = (text: string | undefined): WarmupPlan | null | undefined => {
  if (text === undefined) return undefined
  const [, first, days] = WARMUP.exec(text) ?? []
  return first === undefined ? null : { first: Number(first), days: Number(days) }
}

/** What one member must fulfil, whichever door it came by. `at` is its place, such as `members[0]`. */
export const checkMember = (member: MemberWish, at: string): readonly FieldError[] => {
  const errors: FieldError[] = []
  const wrong = wrongIn(errors, `body.${at}.`)
  if (!/^[A-Za-z0-9._:-]+$/.test(member.host)) wrong('host', 'format', 'must be a host name or an IP address')
  if (member.port !== undefined && !(Number.isInteger(member.port) && member.port > 0 && member.port < 65536))
    wrong('port', 'range', 'must be 1 to 65535')
  const given: Partial<Record<keyof typeof NUMBERS, number | null | undefined>> = {
    weight: member.weight,
    priority: member.priority,
    max_connections: member.maxConnections,
    messages_per_connection: member.messagesPerConnection,
    rate: member.rate,
  }
  for (const [name, [low, high]] of Object.entries(NUMBERS)) {
    const value = given[name as keyof typeof NUMBERS]
    if (value == null) continue
    const whole = name === 'rate' || Number.isInteger(value)
    if (!whole || !(value >= low && value <= high)) wrong(name, 'range', `must be ${low} to ${high}`)
  }
  if (member.fingerprint != null && !/^[0-9a-f]{64}$/.test(normalFingerprint(member.fingerprint)))
    wrong('fingerprint', 'format', 'must be a SHA-256 in hex, with or without colons')
  if ((member.clientCertFile == null) !== (member.clientKeyFile == null))
    wrong('client_key_file', 'missing', 'a client certificate and its key go together')
  if (member.caFile != null && member.tls !== 'verify' && member.tls !== 'implicit')
    wrong('ca_file', 'forbidden', 'needs tls verify or implicit: the others check no certificate')
  checkOrigin(member, wrong)
  checkWarmup(member, wrong)
  const { auth } = member
  if (auth?.oauth !== undefined) {
    if (auth.pass !== undefined) wrong('auth.pass', 'forbidden', 'goes without oauth')
    checkOauth(auth.oauth, (field, kind, message) => wrong(`auth.oauth.${field}`, kind, message))
  }
  if (member.authMechanism != null && !MECHANISMS.includes(member.authMechanism))
    wrong('auth_mechanism', 'format', `must be one of ${MECHANISMS.join(', ')}`)
  const inClear = member.tls === 'none' || member.tls === 'opportunistic'
  if (member.auth != null && inClear && !isPrivateHost(member.host))
    wrong('tls', 'forbidden', 'a login needs tls required, verify or implicit beyond the private network')
  return errors
}

type Query = Readonly<Record<string, string>>

/** The daemon opens it later, from another folder. */
const fileIn =
  (folder: string) =>
  (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(folder, path)

/** `word`: by which the URL names it. */
type ReadSecret = (path: string, word: string) => Promise<string>

/** The login of a URL; files of secrets are read now, those of tokens and keys later and again. */
const loginOf = async (
  user: string,
  query: Query,
  readSecret: ReadSecret,
  at: string,
  file: ReturnType<typeof fileIn>,
): Promise<MemberAuth | null> => {
  if (user === '') return null
  const secret = async (word: string): Promise<string | undefined> => {
    const path = query[word]
    if (path === undefined) return undefined
    const found = (await readSecret(path, word)).replace(/\r?\n$/, '')
    if (found === '') throw invalidField(`${at}.${word}`, 'missing', 'the file is empty')
    return found
  }
  const pass = await secret('password_file')
  if (!OAUTH.some((word) => query[word] !== undefined)) return { user, pass }
  const oauth: OauthWish = {
    tokenFile: file(query.token_file),
    serviceAccountFile: file(query.service_account_file),
    tokenUrl: query.token_url,
    clientId: query.client_id,
    clientSecret: await secret('client_secret_file'),
    refreshToken: await secret('refresh_token_file'),
    scope: query.scope,
  }
  return { user, pass, oauth }
}

/** What a URL may not say, whatever its values mean. */
const checkUrl = (url: URL, query: Query, tls: string | undefined, wrong: Wrong): void => {
  const service = serviceOf(url.protocol)
  const known = service === null ? KNOWN : [...SERVICE_WORDS[service], ...COMMON]
  if (url.password !== '')
    wrong('', 'forbidden', 'must not hold a password: put it in a file and add ?password_file=PATH')
  if (url.pathname.length > 1) wrong('', 'format', 'must have no path')
  for (const name of Object.keys(query)) {
    if (!known.includes(name)) wrong(name, 'unknown', `is not known; known are ${known.join(', ')}`)
  }
  if (tls !== undefined && !TLS_MODES.includes(tls as UpstreamTls))
    wrong('tls', 'format', `must be one of ${TLS_MODES.join(', ')}`)
  for (const name of Object.keys(NUMBERS)) {
    if (query[name] !== undefined && !/^\d+(\.\d+)?$/.test(query[name]))
      wrong(name, 'type', 'must be a number')
  }
  if (query.warmup !== undefined && !WARMUP.test(query.warmup))
    wrong('warmup', 'format', 'must look like 50:14, recipients of the first day and days, or be none')
  if (service !== null) {
    if (url.username !== '' || url.port !== '') wrong('', 'format', 'must have no user name and no port')
    if (query.region !== undefined && !(SERVICE_REGIONS as readonly string[]).includes(query.region))
      wrong('region', 'format', `must be one of ${SERVICE_REGIONS.join(', ')}`)
    return
  }
  const orphan = LOGIN_WORDS.find((word) => query[word] !== undefined)
  if (orphan !== undefined && url.username === '')
    wrong(orphan, 'forbidden', 'needs a user name: smtp://user@host')
}

/** The key of a service; without a file the one that is stored. */
const keyOf = async (
  service: UpstreamService,
  query: Query,
  readSecret: ReadSecret,
  at: string,
): Promise<MemberAuth | undefined> => {
  const word = secretWord(service)
  const path = query[word]
  if (path === undefined) return undefined
  const key = readKey(service, await readSecret(path, word))
  if (typeof key === 'string') throw invalidField(`${at}.${word}`, 'format', key)
  return key ?? undefined
}

const mechanismOf = ({ auth_mechanism: said }: Query): AuthMechanism | null | undefined =>
  said === 'any' ? null : (said?.toUpperCase() as AuthMechanism | undefined)

/** Reads an upstream URL. `readSecret` fetches the content of a password file; other files are relative to `folder`. */
export const parseUpstream = async (
  text: string,
  readSecret: ReadSecret,
  at = 'upstream',
  folder = '.',
): Promise<MemberWish> => {
  const file = fileIn(folder)
  const errors: FieldError[] = []
  const wrong: Wrong = (field, kind, message) =>
    errors.push({ field: `${at}${field === '' ? '' : `.${field}`}`, kind, message })
  const url = URL.canParse(text) ? new URL(text) : null
  const service = serviceOf(text)
  if (url === null || !(service !== null || /^smtps?:$/.test(url.protocol)) || url.hostname === '') {
    throw invalidField(at, 'format', 'must look like smtp://user@host:587?tls=required')
  }
  const query = Object.fromEntries(url.searchParams)
  const isTls = url.protocol === 'smtps:' || service !== null
  const tls = query.tls ?? (isTls ? 'implicit' : undefined)
  checkUrl(url, query, tls, wrong)
  throwInvalid(errors)
  const number = (name: string): number | undefined =>
    query[name] === undefined ? undefined : Number(query[name])
  const user = decodeURIComponent(url.username)
  return {
    ...(service !== null && { service }),
    host: url.hostname.replace(/^\[|\]$/g, ''),
    region: query.region as MemberWish['region'],
    port: url.port === '' ? undefined : Number(url.port),
    tls: tls as UpstreamTls | undefined,
    fingerprint: query.fingerprint,
    auth:
      service === null
        ? await loginOf(user, query, readSecret, at, file)
        : await keyOf(service, query, readSecret, at),
    authMechanism: mechanismOf(query),
    caFile: file(query.ca_file),
    clientCertFile: file(query.client_cert_file),
    clientKeyFile: file(query.client_key_file),
    bind: query.bind?.split(',').map((address) => address.trim()),
    helo: query.helo,
    warmup: readWarmup(query.warmup),
    weight: number('weight'),
    priority: number('priority'),
    maxConnections: number('max_connections'),
    messagesPerConnection: number('messages_per_connection'),
    rate: number('rate'),
  }
}

/** A URL with one more word in its query. */
export const withWord = (url: string, word: string, value: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${word}=${encodeURIComponent(value)}`

/** `mta1.example:587` or `ses+https://eu-west-1`, as lists name it. */
export const upstreamText = ({
  service,
  host,
  port,
}: Pick<UpstreamRow, 'service' | 'host' | 'port'>): string => {
  if (service != null) return `${service}+https://${host}`
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** A quote would end the word of a shell, so none stands in it. */
export const upstreamUrl = (row: Pick<UpstreamRow, 'service' | 'host' | 'port' | 'user'>): string => {
  if (row.service != null) return upstreamText(row)
  const user = row.user === null ? '' : `${encodeURIComponent(row.user).replaceAll("'", '%27')}@`
  return `smtp://${user}${upstreamText(row)}`
}

type Words = Readonly<Record<string, string | number | null | undefined>>

/** As they are where nothing is said of them. */
const PRESET = { weight: 1, priority: 0, max_connections: 10, messages_per_connection: 100 } as const

/** What the query of its URL says beside its login. */
export const upstreamWords = (row: UpstreamRow): Words => {
  const numbers = {
    ...{ weight: row.weight, priority: row.priority, max_connections: row.maxConnections },
    messages_per_connection: row.messagesPerConnection,
  }
  const own = Object.entries(numbers).filter(([name, value]) => PRESET[name as keyof typeof PRESET] !== value)
  return {
    ...{ tls: row.service == null ? row.tls : null, region: row.region },
    ...{ fingerprint: row.fingerprint, ca_file: row.caFile },
    ...{ bind: row.bind?.join(','), helo: row.helo },
    warmup: row.warmup == null ? null : `${row.warmup.first}:${row.warmup.days}`,
    ...{ client_cert_file: row.clientCertFile, client_key_file: row.clientKeyFile },
    ...{ auth_mechanism: row.authMechanism, ...Object.fromEntries(own), rate: row.rate },
  }
}

/** `name=value` for each that is known, as a query of a URL has it; the placeholder FILE and the like stay readable. */
export const queryText = (words: Words): string =>
  Object.entries(words)
    .flatMap(([name, value]) =>
      value == null ? [] : [`${name}=${encodeURIComponent(value).replace(/%2F|%3A|%40|%2C|'/g, unquoted)}`],
    )
    .join('&')

/** As they may stand in a query; a quote would end the word of the shell. */
const unquoted = (text: string): string => (text === "'" ? '%27' : decodeURIComponent(text))
