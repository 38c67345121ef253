/**
 * NAME      identity - who may sign in, and how
 *   Local people, providers of OpenID Connect, sessions and what roles see. A provider lets nobody in by itself: only
 *   who was invited, or whom allowed_domains or allowed_groups name.
 *   `readSecret` and `readCa` open the files that a provider names; what is wrong with them is a mistake in the
 *   settings like any other.
 */
import Joi from 'joi'
import { isLoopback } from '../base/network.js'
import {
  choice,
  DAY,
  duration,
  file,
  flag,
  group,
  HOUR,
  MINUTE,
  orEmpty,
  orNull,
  readText,
  refuse,
  secretIn,
} from './forms.js'
import { ConfigError } from './problem.js'

export type Role = 'owner' | 'member' | 'viewer'
export const ROLES: readonly Role[] = ['owner', 'member', 'viewer']

export interface SignInProvider {
  /** A word of the redirect address: `{base_url}/sign-in/{name}/callback`. */
  readonly name: string
  readonly label: string | null
  readonly issuer: string
  readonly client_id: string
  readonly client_secret_file: string | null
  readonly scopes: readonly string[]
  readonly allowed_domains: readonly string[]
  readonly allowed_groups: { readonly claim: string; readonly values: readonly string[] } | null
  readonly trust_email: boolean
  readonly default_role: Role | null
  readonly role_from: { readonly claim: string; readonly map: Readonly<Record<string, Role>> } | null
  readonly logout: 'session' | 'person'
  readonly ca_file: string | null
}

export const labelOf = ({ label, name }: Pick<SignInProvider, 'label' | 'name'>): string => label ?? name

export interface IdentitySettings {
  readonly local: boolean
  readonly auto: boolean
  readonly second_factor: 'optional' | 'required'
  readonly viewers_see: 'nothing' | 'subjects' | 'bodies'
  readonly default_role: Role
  readonly session: { readonly idle: number; readonly lifetime: number }
  readonly release_to: readonly string[]
  readonly oidc: readonly SignInProvider[]
}

/** Sessions of people who came otherwise are called so. */
const TAKEN = ['local', 'link', 'cli']

const readIssuer = (value: string, helpers: Joi.CustomHelpers) => {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || /[?#]/.test(value)) return helpers.error('issuer.form')
  if (url.username !== '' || url.password !== '') return helpers.error('url.login')
  const onLoopback = isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  return url.protocol === 'https:' || (url.protocol === 'http:' && onLoopback)
    ? value
    : helpers.error('issuer.form')
}

const readScopes = (value: readonly string[], helpers: Joi.CustomHelpers) =>
  value.includes('openid') ? value : helpers.error('scopes.openid')

const NEEDED = { shown: 'none, it is needed' }
const role = () => Joi.string().valid(...ROLES)
const claim = () =>
  Joi.string()
    .max(200)
    .required()
    .meta(NEEDED)
    .description('Its name in the ID token or userinfo; a dot leads into an object: realm_access.roles')

const provider = Joi.object<SignInProvider, true>({
  name: Joi.string()
    .pattern(/^[a-z0-9][a-z0-9-]{0,31}$/, 'up to 32 of a-z, 0-9 and -')
    .invalid(...TAKEN)
    .required()
    .meta(NEEDED)
    .description('A word for it; its redirect address is {base_url}/sign-in/{name}/callback'),
  label: orNull(Joi.string().max(100), 'What its button says after "Sign in with"; null: its name'),
  issuer: Joi.string()
    .custom(readIssuer)
    .required()
    .meta(NEEDED)
    .description('Its URL, from which all else is discovered; https, or http on loopback'),
  client_id: Joi.string().max(500).required().meta(NEEDED).description('Our name there'),
  client_secret_file: file('File of our secret there, readable by nobody else; null: a public client'),
  scopes: Joi.array()
    .items(Joi.string().pattern(/^[!#-[\]-~]+$/, 'a word without blanks'))
    .custom(readScopes)
    .default(['openid', 'email', 'profile'])
    .description('What is asked for; offline_access for a refresh token, where that needs it') as never,
  allowed_domains: orEmpty(
    Joi.array().items(Joi.string().domain({ tlds: false }).lowercase()),
    'Everybody with a verified address at one of these domains may sign in',
  ),
  allowed_groups: orNull(
    Joi.object({
      claim: claim(),
      values: Joi.array()
        .items(Joi.string())
        .min(1)
        .required()
        .meta(NEEDED)
        .description('Names of groups, each of which is enough'),
    }),
    'Everybody in one of these groups may sign in',
  ),
  trust_email: flag(
    'Believe its addresses without email_verified: for a provider of your own alone, such as Entra with the issuer of your tenant',
  ),
  default_role: orNull(
    role(),
    'Role of who comes by allowed_domains or allowed_groups; null: identity.default_role',
  ),
  role_from: orNull(
    Joi.object({
      claim: claim(),
      map: Joi.object()
        .pattern(Joi.string(), role())
        .min(1)
        .required()
        .description('Roles by value of the claim; the highest one that fits'),
    }),
    'The provider says the role, at each sign-in; who has none there is refused',
  ),
  logout: choice(
    ['session', 'person'],
    'What a logout there ends here: that session, or all that the person has from there',
  ),
  ca_file: file('CA certificates to believe for it, PEM; null: those of the system'),
}).description('One provider of OpenID Connect')

/** The keys of one provider, to guess what was meant: joi takes a while to name them. */
export const providerKeys = (): readonly string[] => Object.keys(provider.describe().keys)

export const identity = group(
  Joi.object<IdentitySettings, true>({
    local: flag('People with a password here may sign in; links of postern setup-link work without it', true),
    auto: flag('Go straight to the provider when there is only one; /sign-in?local shows the page'),
    second_factor: choice(
      ['optional', 'required'],
      'Whether who signs in with a password must have a second factor, too; providers have their own',
    ),
    viewers_see: Joi.string()
      .valid('nothing', 'subjects', 'bodies')
      .default('subjects')
      .description('What people with the role viewer see of mails'),
    default_role: role().default('viewer').description('Role of who was let in without an invitation'),
    session: group(
      Joi.object<IdentitySettings['session'], true>({
        idle: duration(MINUTE, 30 * DAY)
          .default(12 * HOUR)
          .description('A session that nobody uses ends after this time'),
        lifetime: duration(MINUTE, 90 * DAY)
          .default(7 * DAY)
          .description('Every session ends after this time'),
      }),
      'How long people stay signed in',
    ) as never,
    release_to: orEmpty(
      Joi.array().items(Joi.string().email({ tlds: false })),
      'Addresses to which a mail of test mode may be sent for real',
    ),
    oidc: orEmpty(
      Joi.array().items(provider).unique('name').max(20),
      'Providers of OpenID Connect, as many as you like',
    ),
  }),
  'People, and how they sign in',
)

/** Our secret at the provider at this place of the list; null: a public client. Throws ConfigError. */
export const readSecret = ({ client_secret_file: name }: SignInProvider, at: number): string | null => {
  if (name === null) return null
  const key = `identity.oidc.${at}.client_secret_file`
  return secretIn(key, name, 'put the secret of the client there')
}

/** The certificates that are believed for it; null: those of the system. Throws ConfigError. */
export const readCa = ({ ca_file: name }: SignInProvider, at: number): string | null => {
  if (name === null) return null
  const key = `identity.oidc.${at}.ca_file`
  const text = readText(key, name)
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw refuse(key, name, 'holds no certificate in PEM', 'name the CA certificate of the provider')
  return text
}

export const providerFileProblems = ({ oidc }: IdentitySettings) =>
  oidc.flatMap((one, i) =>
    [readSecret, readCa].flatMap((read) => {
      try {
        read(one, i)
        return []
      } catch (error) {
        if (error instanceof ConfigError) return error.problems
        throw error
      }
    }),
  )
