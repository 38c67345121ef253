/**
 * NAME      endpoints - what an endpoint may be; making, changing and removing it
 *   Verbs for every door. A signing secret is given out when it is made, and never again; after a rotation the one
 *   before signs as well for a while, so that receivers can be changed one after the other. Everything that is wrong
 *   with a wish is told at once, by the names that the wire has. An address that must not be called is refused here
 *   already, in words; one that changes later is refused again at each post. Headers of the customer's own are secrets
 *   (tokens, mostly): sealed when stored, and never shown again but for their names; so is the login of a format whose
 *   receivers ask for one.
 */
import type { Clock } from '../base/clock.js'
import { type Dialler, readTarget } from '../base/dial.js'
import { Fault, type FieldError, invalid, throwInvalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { seal, unseal } from '../base/secret.js'
import type { Mode } from '../lifecycle/page.js'
import { CHANGE_TYPES, isNote, isOfOthers, nearestEventType } from '../mail/event-type.js'
import { beginningOf, outOfRange, wishedOf } from '../resource/member.js'
import { WEBHOOK } from '../resource/webhook.js'
import type { EndpointChange, EndpointRow, Hooks, KnownEndpoint, Subscription } from '../store/port/hooks.js'
import type { EventLog } from '../store/port/log.js'
import { normalDomain } from '../tenant/domain/domain.js'
import { FORMATS, newSigningSecret, withoutCounterpart } from './formats.js'
import type { PostTarget } from './post.js'

export interface HookDeps {
  readonly store: Hooks & Pick<EventLog, 'log' | 'follow' | 'logEnds' | 'isMark' | 'loggedEvent'>
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly dialler: Dialler
}

/** Whose endpoints somebody sees. */
export interface HookScope {
  readonly accountId: string
  /** null: all of the account, and those of the account as a whole. */
  readonly workspaceId: string | null
  /** null: both. */
  readonly mode: Mode | null
}

const SECRET = 'webhook signing secret'
const HEADERS = 'webhook headers'
const AUTH = 'webhook login'

const sealSecret = (pepper: Uint8Array, secret: string): string => seal(pepper, SECRET, secret)

/** What this endpoint signs with now. */
export const signingSecretOf = (pepper: Uint8Array, { secret }: Pick<EndpointRow, 'secret'>): string =>
  unseal(pepper, SECRET, secret)

/** As the store keeps the secret of an endpoint, and what of it may be shown. */
const keptSecret = (
  pepper: Uint8Array,
  format: EndpointRow['format'],
  secret: string,
): Pick<EndpointRow, 'secret' | 'publicKey'> => ({
  secret: sealSecret(pepper, secret),
  publicKey: FORMATS[format]?.publicKey?.(secret) ?? null,
})

/** `user:password`, in the clear; null: there is none. */
export const loginOf = (pepper: Uint8Array, { auth }: Pick<EndpointRow, 'auth'>): string | null =>
  auth === null ? null : unseal(pepper, AUTH, auth)

const sealHeaders = (
  pepper: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Pick<EndpointRow, 'headers' | 'headerNames'> => {
  const entries = Object.entries(headers)
  return {
    headers: entries.length === 0 ? null : seal(pepper, HEADERS, JSON.stringify(entries)),
    headerNames: entries.map(([name]) => name),
  }
}

/** The customer's own, in the clear. */
export const headersOf = (
  pepper: Uint8Array,
  { headers }: Pick<EndpointRow, 'headers'>,
): Readonly<Record<string, string>> =>
  headers === null
    ? {}
    : Object.fromEntries(JSON.parse(unseal(pepper, HEADERS, headers)) as [string, string][])

/** What a post needs of an endpoint, in the clear: for the moment of the post. */
export const targetOf = (pepper: Uint8Array, row: EndpointRow, now: number): PostTarget => {
  const { previousSecret, previousUntil } = row
  const isBoth = previousSecret !== null && now < (previousUntil ?? 0)
  const before = isBoth ? [unseal(pepper, SECRET, previousSecret)] : []
  return {
    url: row.url,
    format: row.format,
    auth: loginOf(pepper, row),
    headers: headersOf(pepper, row),
    secrets: [signingSecretOf(pepper, row), ...before],
  }
}

export interface EndpointWish {
  readonly url: string
  /** Said when it is made, and never after. */
  readonly format: EndpointRow['format']
  readonly events: readonly string[]
  readonly domains: readonly string[]
  readonly tags: EndpointRow['tags']
  /** `user:password` for the server that is posted to; empty: none. */
  readonly auth: string
  /** All of them, by name; those that were are gone. */
  readonly headers: Readonly<Record<string, string>>
  /** And what else people set of it, as resource/ says. */
  readonly fields: EndpointRow['fields']
}

/** What is not given stays as it is, or is what a new one has. */
export type WishedEndpoint = { readonly [K in keyof EndpointWish]?: EndpointWish[K] | undefined }

const DEFAULTS: WishedEndpoint = {
  ...{ auth: '', domains: [], tags: [], headers: {} },
  ...beginningOf(WEBHOOK),
}

const MOST_HEADERS = 10
const MOST_URL = 2048
/** A URL is shown in mails, logs and lists; parsers drop or turn these, so it would not be what is called. */
const UNCLEAR = /[\s\p{C}\\]/u
const NO_LOGIN =
  'must hold no user name or password; they go into auth, with format postmark, or into a header of your own'
const NOT_PLAIN = 'must have no blank, line break, invisible character or backslash; write %20 for a blank'

const KNOWN: readonly Subscription[] = [...CHANGE_TYPES, 'email.delivery_delayed']

const isKnown = (name: string): name is Subscription =>
  name === '*' || (KNOWN as readonly string[]).includes(name)

/** The types that are asked for, each once. */
const subscriptionsOf = (names: readonly string[]): readonly Subscription[] => [
  ...new Set(names.filter(isKnown)),
]

/** Those asked for that are never told: a well-known API has them and this one not, or the format has no word for them. */
export const ignoredOf = (
  names: readonly string[],
  format: EndpointRow['format'] = 'standard',
): readonly string[] => [
  ...new Set([...names.filter(isOfOthers), ...withoutCounterpart(subscriptionsOf(names), format)]),
]

type Wrong = Pick<FieldError, 'kind' | 'message'>

const wrongWithType = (name: string, isOfAccount: boolean): Wrong | null => {
  if (isOfOthers(name)) return null
  if (isNote(name)) return { kind: 'unsupported', message: `"${name}" is told by GET /v1/events only` }
  if (!isKnown(name)) {
    const message = `"${name.slice(0, 80)}" is no type of event; did you mean "${nearestEventType(name)}"?`
    return { kind: 'unsupported', message }
  }
  return name.startsWith('upstream.') && !isOfAccount
    ? { kind: 'forbidden', message: `"${name}" is told to endpoints of the whole account only` }
    : null
}

const wrongWithTypes = (names: EndpointWish['events'], isOfAccount: boolean): readonly FieldError[] => {
  if (names.length > 0 && names.every((name) => typeof name === 'string' && isOfOthers(name)))
    return [
      {
        field: 'body.events',
        kind: 'unsupported',
        message: 'names only types of event that there are none of here',
      },
    ]
  return names.flatMap((name, i) => {
    const wrong = typeof name === 'string' ? wrongWithType(name, isOfAccount) : null
    return wrong === null ? [] : [{ field: `body.events[${i}]`, ...wrong }]
  })
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]{0,1998}[\x21-\x7e])?$/
/** Ours, those of the connection, and those that would change what a body is. */
const RESERVED =
  /^(?:webhook-.*|proxy-.*|sec-.*|content-.*|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent|date|via|forwarded|x-forwarded-.*)$/i

const wrongWithHeader = (name: string, value: string, all: readonly string[]): Wrong | null => {
  if (!TOKEN.test(name)) return { kind: 'format', message: 'is no name of a header' }
  if (RESERVED.test(name)) return { kind: 'forbidden', message: 'this header is not yours to set' }
  if (all.filter((other) => other.toLowerCase() === name.toLowerCase()).length > 1)
    return { kind: 'not_unique', message: 'stands there twice' }
  return VALUE.test(value)
    ? null
    : { kind: 'format', message: 'must be 1 to 2000 printable ASCII characters, without blanks at its ends' }
}

const wrongWithHeaders = (headers: EndpointWish['headers']): readonly FieldError[] => {
  const names = Object.keys(headers)
  if (names.length > MOST_HEADERS)
    return [{ field: 'body.headers', kind: 'too_many', message: `must have at most ${MOST_HEADERS} members` }]
  return Object.entries(headers).flatMap(([name, value]) => {
    const wrong = wrongWithHeader(name, value, names)
    const shown = TOKEN.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 80))}]`
    return wrong === null ? [] : [{ field: `body.headers${shown}`, ...wrong }]
  })
}

/** RFC 7617: no colon in the name, no control characters. */
export const LOGIN = /^[^:\p{Cc}]+:\P{Cc}*$/u
const MOST_LOGIN = 500
const MOVE_ON = 'use format standard or resend, or ask for other types'

type Known = Pick<EndpointRow, 'format' | 'auth' | 'headerNames'>

/** What goes with some formats only; `known` is what there is already. */
const wrongWithFormat = (wish: WishedEndpoint, known: Known | null): readonly FieldError[] => {
  const { auth = '', fields, events = [], headers } = wish
  const name = known?.format ?? wish.format ?? 'standard'
  const format = FORMATS[name]
  const names = headers === undefined ? (known?.headerNames ?? []) : Object.keys(headers)
  const hasLogin = wish.auth === undefined ? known?.auth != null : auth !== ''
  const wrong = (field: string, kind: FieldError['kind'], message: string): FieldError => ({
    ...{ field: `body.${field}`, kind, message },
  })
  const types = subscriptionsOf(events)
  const isUntold = format !== null && types.length > 0 && !types.includes('*')
  return [
    ...(auth !== '' && format?.hasLogin !== true
      ? [
          wrong(
            'auth',
            'forbidden',
            'goes with format postmark only; for another one set a header of your own',
          ),
        ]
      : []),
    ...(auth !== '' && (auth.length > MOST_LOGIN || !LOGIN.test(auth))
      ? [wrong('auth', 'format', `must be user:password, with at most ${MOST_LOGIN} characters`)]
      : []),
    ...(hasLogin && names.some((one) => one.toLowerCase() === 'authorization')
      ? [wrong('auth', 'not_unique', 'stands beside a header Authorization of your own; leave one out')]
      : []),
    ...(fields === 'thin' && format?.mayBeThin === false
      ? [
          wrong(
            'fields',
            'forbidden',
            `posts of ${format.service} name address and subject; they can not be thin`,
          ),
        ]
      : []),
    ...(isUntold && withoutCounterpart(types, name).length === types.length
      ? [wrong('events', 'unsupported', `${format.service} has no word for any of them; ${MOVE_ON}`)]
      : []),
  ]
}

/** Says why a URL must not be called, or null. */
type Refusal = (url: string) => Promise<string | null>

const hasLogin = (url: string): boolean => {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' }
  return username !== '' || password !== ''
}

const wrongWithUrl = async (url: string, refusal: Refusal): Promise<readonly FieldError[]> => {
  const field = 'body.endpoint'
  if (url.length > MOST_URL)
    return [{ field, kind: 'length', message: `must have at most ${MOST_URL} characters` }]
  if (UNCLEAR.test(url.trim())) return [{ field, kind: 'format', message: NOT_PLAIN }]
  if (hasLogin(url)) return [{ field, kind: 'format', message: NO_LOGIN }]
  if (!/^https?:\/\/[^\s/]/i.test(url) || typeof readTarget(url) === 'string') {
    const said = readTarget(url)
    return [{ field, kind: 'format', message: typeof said === 'string' ? said : 'it is no https URL' }]
  }
  const said = await refusal(url)
  return said === null ? [] : [{ field, kind: 'forbidden', message: said }]
}

/** All that is wrong with a wish; what it leaves out is not looked at. */
export const wrongWithEndpoint = async (
  wish: WishedEndpoint,
  isOfAccount: boolean,
  refusal: Refusal,
  known: Known | null = null,
): Promise<readonly FieldError[]> => [
  ...(wish.url === undefined ? [] : await wrongWithUrl(wish.url, refusal)),
  ...wrongWithTypes(wish.events ?? [], isOfAccount),
  ...(wish.domains ?? []).flatMap((name, i): FieldError[] =>
    typeof name !== 'string' || normalDomain(name) !== null
      ? []
      : [{ field: `body.domains[${i}]`, kind: 'format', message: 'must be a domain such as shop.example' }],
  ),
  ...wrongWithHeaders(wish.headers ?? {}),
  ...wrongWithFormat(wish, known),
  ...outOfRange(WEBHOOK, wish),
]

/** Of one workspace and mode, or of the account as a whole. */
const MOST_ENDPOINTS = 50
const FULL: FieldError = {
  field: 'body',
  kind: 'too_many',
  message: `there are ${MOST_ENDPOINTS} endpoints already, and no more are taken`,
}

export const MOST_GRACE_MS = 7 * 86_400_000
export const GRACE_MS = 86_400_000

const changeOf = (pepper: Uint8Array, wish: WishedEndpoint): EndpointChange => ({
  ...(wish.url !== undefined && { url: wish.url.trim() }),
  ...(wish.events !== undefined && { events: subscriptionsOf(wish.events) }),
  ...(wish.headers !== undefined && sealHeaders(pepper, wish.headers)),
  ...(wish.domains !== undefined && {
    domains: [...new Set(wish.domains.map((name) => normalDomain(name) ?? name))],
  }),
  ...(wish.tags !== undefined && { tags: wish.tags }),
  ...(wish.auth !== undefined && { auth: wish.auth === '' ? null : seal(pepper, AUTH, wish.auth) }),
  ...wishedOf<EndpointChange>(WEBHOOK, wish),
})

/** By its id; throws webhook.not_found, also for one that this caller must not see. */
export const findEndpoint = async (
  { store }: Pick<HookDeps, 'store'>,
  { accountId, workspaceId, mode }: HookScope,
  id: string,
): Promise<KnownEndpoint> => {
  const row = await store.endpoint(accountId, id)
  const isSeen =
    row !== null &&
    (workspaceId === null || row.workspaceId === workspaceId) &&
    (mode === null || row.mode === mode)
  if (!isSeen) throw new Fault('webhook.not_found')
  return row
}

interface Owner {
  readonly accountId: string
  /** null: the account as a whole. */
  readonly workspaceId: string | null
  readonly mode: Mode
}

export interface Made {
  readonly row: KnownEndpoint
  /** Shown now, and never again. */
  readonly secret: string
}

/** The secret may be one that newSigningSecret made before. Told of everything from now on; throws validation.request_invalid. */
export const createEndpoint = async (
  deps: HookDeps,
  owner: Owner,
  wish: Pick<EndpointWish, 'url' | 'events'> & WishedEndpoint,
  secret: string = newSigningSecret(),
): Promise<Made> => {
  const { store, pepper, clock, dialler } = deps
  throwInvalid(await wrongWithEndpoint(wish, owner.workspaceId === null, dialler.refusal))
  const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
  const all = (await store.endpoints(owner, page)).rows
  if (all.filter((row) => row.workspaceId === owner.workspaceId).length >= MOST_ENDPOINTS)
    throw invalid([FULL])
  const now = clock.now()
  const { format = 'standard' } = wish
  const row: EndpointRow = {
    id: newId('wh', now),
    ...owner,
    format,
    ...({ ...changeOf(pepper, DEFAULTS), ...changeOf(pepper, wish) } as Required<EndpointChange>),
    status: 'enabled',
    disabledReason: null,
    disabledAt: null,
    ...keptSecret(pepper, format, secret),
    previousSecret: null,
    previousUntil: null,
    createdAt: now,
    updatedAt: now,
  }
  await store.createEndpoint(row, (await store.logEnds()).newest)
  return { row: await findEndpoint(deps, owner, row.id), secret }
}

interface StatusWish {
  readonly status?: EndpointRow['status'] | undefined
  /** Only when it is enabled: what waits is passed over. */
  readonly from?: 'now' | undefined
}

const originOf = (url: string): string | null =>
  URL.canParse(url.trim()) ? new URL(url.trim()).origin : null

/** Who may change an endpoint need not know what is sent along, and a server of his own would show it to him. */
const wrongWithMove = (
  row: Pick<EndpointRow, 'url' | 'auth' | 'headerNames'>,
  { url, auth, headers }: WishedEndpoint,
): readonly FieldError[] => {
  if (url === undefined || originOf(url) === originOf(row.url)) return []
  const missing = (name: 'auth' | 'headers'): FieldError => ({
    field: `body.${name}`,
    kind: 'missing',
    message:
      'must be given anew, or empty: "endpoint" is another server, and what is kept was not meant for it',
  })
  return [
    ...(row.auth !== null && auth === undefined ? [missing('auth')] : []),
    ...(row.headerNames.length > 0 && headers === undefined ? [missing('headers')] : []),
  ]
}

/** All that is wrong with a change of this endpoint. */
export const wrongWithChange = async (
  { dialler }: Pick<HookDeps, 'dialler'>,
  row: EndpointRow,
  wish: WishedEndpoint & StatusWish,
): Promise<readonly FieldError[]> => [
  // what it is already need not be asked for again
  ...(await wrongWithEndpoint(
    wish.url === row.url ? { ...wish, url: undefined } : wish,
    row.workspaceId === null,
    dialler.refusal,
    row,
  )),
  ...wrongWithMove(row, wish),
  ...(wish.from === 'now' && wish.status !== 'enabled'
    ? [{ field: 'body.from', kind: 'forbidden', message: 'goes with "status": "enabled" only' } as const]
    : []),
]

/** Changes the endpoint, then enables or disables it; throws validation.request_invalid or webhook.not_found. */
export const updateEndpoint = async (
  deps: HookDeps,
  scope: HookScope,
  id: string,
  wish: WishedEndpoint & StatusWish,
): Promise<KnownEndpoint> => {
  const { store, pepper, clock } = deps
  const { accountId } = scope
  const old = await findEndpoint(deps, scope, id)
  throwInvalid(await wrongWithChange(deps, old, wish))
  const now = clock.now()
  const change = changeOf(pepper, wish)
  if (Object.keys(change).length > 0) await store.updateEndpoint(accountId, id, change, now)
  if (wish.status === 'disabled') await store.disableEndpoint(accountId, id, 'requested', now)
  if (wish.status === 'enabled') {
    const from = wish.from === 'now' ? (await store.logEnds()).newest : null
    await store.enableEndpoint(accountId, id, from, now)
  }
  return findEndpoint(deps, scope, id)
}

/** A new secret; the one before signs as well for `graceMs`. */
export const rotateSecret = async (
  deps: HookDeps,
  scope: HookScope,
  id: string,
  graceMs: number,
): Promise<Made> => {
  const { store, pepper, clock } = deps
  const { format } = await findEndpoint(deps, scope, id)
  const now = clock.now()
  const secret = newSigningSecret()
  const until = graceMs === 0 ? null : now + graceMs
  await store.rotateEndpoint(scope.accountId, id, keptSecret(pepper, format, secret), until, now)
  return { row: await findEndpoint(deps, scope, id), secret }
}

/** It, and all that was posted to it; throws webhook.not_found. */
export const deleteEndpoint = async (deps: HookDeps, scope: HookScope, id: string): Promise<void> => {
  await findEndpoint(deps, scope, id)
  if (!(await deps.store.deleteEndpoint(scope.accountId, id, deps.clock.now())))
    throw new Fault('webhook.not_found')
}
