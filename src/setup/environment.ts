/**
 * NAME      environment - the smallest setup: three variables
 * DESCRIPTION
 *   POSTERN_UPSTREAM is the URL of the upstream of the default pool, POSTERN_UPSTREAM_PASSWORD_FILE the file of its
 *   password, POSTERN_KEY_FILE the file of the key `app` of the default workspace, which is made where there is none.
 *   In our image the smart host may also be named as other images of relays name it. What those variables become is
 *   told, and so is each that is not understood. None of them opens a relay to a network: a range of addresses that may
 *   send without a login is made by files or people.
 * NOTES
 *   A password in a variable can be read by all that see the process or the container, so it is taken with a warning.
 */
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { DEFAULT_POOL } from '../store/pools.js'
import type { ManagedKind } from '../store/port/tenants.js'
import { secretWord, serviceOf, withWord } from '../tenant/upstream.js'
import { type Declared, InlineUpstream, type Mistake, type Setup } from './files.js'

type Variables = Readonly<Record<string, string | undefined>>

/** What is said of variables in the log. */
export interface Said {
  readonly isWarning: boolean
  readonly variable: string
  readonly says: string
}

interface OfEnvironment {
  /** Null where no variable describes anything. */
  readonly setup: Setup | null
  readonly said: readonly Said[]
}

/** How an image of a relay names a smart host. */
interface Dialect {
  readonly host: string
  readonly port: string | null
  readonly user: string
  readonly password: string
  readonly tls: string | null
}

const DIALECTS: readonly Dialect[] = [
  {
    ...{ host: 'RELAYHOST', port: null, tls: 'RELAYHOST_TLS_LEVEL' },
    ...{ user: 'RELAYHOST_USERNAME', password: 'RELAYHOST_PASSWORD' },
  },
  {
    ...{ host: 'SMARTHOST_ADDRESS', port: 'SMARTHOST_PORT', tls: null },
    ...{ user: 'SMARTHOST_USER', password: 'SMARTHOST_PASSWORD' },
  },
]

/** Of Postfix's levels. */
const TLS_LEVELS: Readonly<Record<string, string>> = {
  none: 'none',
  may: 'opportunistic',
  encrypt: 'required',
  verify: 'verify',
  secure: 'verify',
}

/** Of the same images, with another meaning or none here. */
const FOREIGN =
  /^(?:RELAYHOST_.*|SMARTHOST_.*|POSTFIX_.*|POSTFIXMASTER_.*|OPENDKIM_.*|ALLOWED_SENDER_DOMAINS|ALLOW_EMPTY_SENDER_DOMAINS|MASQUERADED_DOMAINS|INBOUND_DEBUGGING|DKIM_AUTOGENERATE|DKIM_SELECTOR|SMTPD_SASL_USERS|XOAUTH2_.*|MYNETWORKS|RELAY_NETWORKS|RELAY_DOMAINS|RELAY_HOST|RELAY_PORT|RELAY_USERNAME|RELAY_PASSWORD|MAILNAME|OTHER_HOSTNAMES|SES_(?:USER|PASSWORD|REGION|PORT)|GMAIL_(?:USER|PASSWORD))$/

const given = (env: Variables, name: string | null): string | undefined =>
  name === null || env[name] === '' ? undefined : env[name]

/** `[mta.example]:587`, `mta.example:587` or `mta.example`, as Postfix names it. */
const placeOf = (text: string, port: string | undefined): string | null => {
  const [, bracketed, plain, own] =
    /^(?:\[([^\]\s]+)\]|([^\s:[\]/@]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  const host = bracketed ?? plain
  if (host === undefined) return null
  const number = own ?? port
  return `${isIP(host) === 6 ? `[${host}]` : host}${number === undefined ? '' : `:${number}`}`
}

type Wrong = (where: string, message: string) => void

interface Named {
  readonly url: string
  /** By the words of the URL. */
  readonly secrets?: Readonly<Record<string, string>>
  /** The variable that names the host. */
  readonly by: string
}

/** The upstream as another image's variables name it. */
const inDialect = (
  env: Variables,
  dialect: Dialect,
  wrong: Wrong,
  say: (said: Said) => void,
): Named | null => {
  const text = given(env, dialect.host)
  if (text === undefined) return null
  const place = placeOf(text, given(env, dialect.port))
  if (place === null) {
    wrong(dialect.host, 'is no host such as [mta1.example.com]:587')
    return null
  }
  const level = given(env, dialect.tls)
  const tls = level === undefined ? undefined : TLS_LEVELS[level.toLowerCase()]
  if (level !== undefined && tls === undefined)
    wrong(dialect.tls ?? '', `must be one of ${Object.keys(TLS_LEVELS).join(', ')}`)
  const user = given(env, dialect.user)
  const file = given(env, `${dialect.password}_FILE`)
  const password = file === undefined && user !== undefined ? given(env, dialect.password) : undefined
  const at = user === undefined ? '' : `${encodeURIComponent(user)}@`
  const words = [...(tls === undefined ? [] : [`tls=${tls}`])]
  const plain = `smtp://${at}${place}${words.length === 0 ? '' : `?${words.join('&')}`}`
  const url = file === undefined || user === undefined ? plain : withWord(plain, 'password_file', file)
  say({ isWarning: false, variable: dialect.host, says: `became POSTERN_UPSTREAM=${plain}` })
  if (file !== undefined)
    say({
      isWarning: false,
      variable: `${dialect.password}_FILE`,
      says: `became POSTERN_UPSTREAM_PASSWORD_FILE=${file}`,
    })
  if (password === undefined) return { url, by: dialect.host }
  say({
    isWarning: true,
    variable: dialect.password,
    says: `holds a password that others can read; name its file by ${dialect.password}_FILE`,
  })
  return { url, secrets: { password_file: password }, by: dialect.host }
}

const namesOf = (dialect: Dialect): readonly string[] =>
  [
    dialect.host,
    dialect.port,
    dialect.user,
    dialect.password,
    `${dialect.password}_FILE`,
    dialect.tls,
  ].filter((name) => name !== null)

const upstreamOf = (
  env: Variables,
  isImage: boolean,
  wrong: Wrong,
  say: (said: Said) => void,
): Named | null => {
  const own = given(env, 'POSTERN_UPSTREAM')
  const file = given(env, 'POSTERN_UPSTREAM_PASSWORD_FILE')
  if (own === undefined && file !== undefined)
    wrong('POSTERN_UPSTREAM_PASSWORD_FILE', 'needs POSTERN_UPSTREAM')
  const word = secretWord(serviceOf(own ?? ''))
  const named =
    own === undefined
      ? null
      : { url: file === undefined ? own : withWord(own, word, file), by: 'POSTERN_UPSTREAM' }
  if (!isImage) return named
  const used = named === null ? DIALECTS.find(({ host }) => given(env, host) !== undefined) : undefined
  const known = used === undefined ? [] : namesOf(used)
  for (const name of Object.keys(env).sort())
    if (FOREIGN.test(name) || DIALECTS.some((one) => namesOf(one).includes(name)))
      if (!known.includes(name) && given(env, name) !== undefined)
        say({
          isWarning: true,
          variable: name,
          says: 'is of another image and not understood here; nothing is made of it',
        })
  return named ?? (used === undefined ? null : inDialect(env, used, wrong, say))
}

/** `workspace`: the slug of the default one. */
export const readEnvironment = (env: Variables, isImage: boolean, workspace: string): OfEnvironment => {
  const mistakes: Mistake[] = []
  const said: Said[] = []
  const wrong: Wrong = (where, message) => void mistakes.push({ where, message })
  const upstream = upstreamOf(env, isImage, wrong, (one) => void said.push(one))
  const objects: Declared[] = []
  const add = (kind: ManagedKind, name: string, fields: Declared['given'], by: string): void =>
    void objects.push({
      ...{ kind, workspace: kind === 'key' ? workspace : '', name, given: fields },
      ...{ folder: process.cwd(), isWrong: false, at: () => by },
    })
  if (upstream !== null) {
    const { url, secrets, by } = upstream
    const given = secrets === undefined ? url : new InlineUpstream(url, secrets)
    add('pool', DEFAULT_POOL, { upstreams: [given] }, by)
  }
  const file = given(env, 'POSTERN_KEY_FILE')
  // one that is not there is made, where a new secret may be written
  if (file !== undefined)
    add('key', 'app', existsSync(file) ? { secret_file: file } : { out: file }, 'POSTERN_KEY_FILE')
  const isNothing = objects.length === 0 && mistakes.length === 0
  return { setup: isNothing ? null : { name: 'environment', objects, mistakes }, said }
}
