/**
 * NAME      service - an upstream that is a service spoken to by HTTPS, as people write it
 * DESCRIPTION
 *   `ses+https://REGION?access_key_file=PATH` and `mailgun+https://DOMAIN?region=eu&key_file=PATH`. Its host is taken from a
 *   table. It stands in a row like any other: what its URL names is the `host`, its key is a user and a sealed password.
 *   An access key is written as its id and its secret, with a colon, a comma or blanks between them, or as the file that
 *   AWS gives, with a line of titles.
 */
import type { FieldError } from '../base/fault.js'
import type { UpstreamRow, UpstreamService } from '../store/port/tenants.js'

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

export const SERVICE_REGIONS = ['us', 'eu'] as const

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
export const SERVICE_WORDS: Readonly<Record<UpstreamService, readonly string[]>> = {
  ses: [KINDS.ses.word],
  mailgun: [KINDS.mailgun.word, 'region'],
}

export const serviceHost = (
  row: Pick<UpstreamRow, 'host' | 'region'> & { readonly service: UpstreamService },
): string => KINDS[row.service].host(row)

/** The key in the text of its file, or what is wrong with it, in words. */
export const readKey = (service: UpstreamService, text: string): ReturnType<Kind['login']> | string =>
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
