/**
 * NAME      wish - what an endpoint may be asked to be
 * DESCRIPTION
 *   Everything that is wrong with a wish is told at once, by the names that the
 *   wire has. An address that must not be called is refused here already, in
 *   words; one that changes later is refused again at each post.
 *   Headers of the customer's own are secrets (tokens, mostly): sealed when stored,
 *   and never shown again but for their names.
 */
import { readTarget } from '../../base/dial/dial.js'
import type { FieldError } from '../../base/fault.js'
import { CHANGE_TYPES, isNote, isOfOthers, nearestEventType } from '../../mail/event-type.js'
import type { EndpointRow, Subscription } from '../../store/port/hooks.js'
import { normalDomain } from '../../tenant/domain/domain.js'

export interface EndpointWish {
  readonly url: string
  readonly events: readonly string[]
  readonly domains: readonly string[]
  readonly tags: EndpointRow['tags']
  /** All of them, by name; those that were are gone. */
  readonly headers: Readonly<Record<string, string>>
  readonly fields: EndpointRow['fields']
  readonly maxInFlight: number
  readonly replayRate: number
}

export const DEFAULTS = {
  domains: [],
  tags: [],
  headers: {},
  fields: 'full',
  maxInFlight: 8,
  replayRate: 50,
} as const

const MOST_HEADERS = 10
const MOST_URL = 2048
/** A URL is shown in mails, logs and lists; parsers drop or turn these, so it would not be what is called. */
const UNCLEAR = /[\s\p{C}\\]/u
const NOT_PLAIN = 'must have no blank, line break, invisible character or backslash; write %20 for a blank'

const KNOWN: readonly Subscription[] = [...CHANGE_TYPES, 'email.delivery_delayed']

const isKnown = (name: string): name is Subscription =>
  name === '*' || (KNOWN as readonly string[]).includes(name)

/** The types that are asked for, each once. */
export const subscriptionsOf = (names: readonly string[]): readonly Subscription[] => [
  ...new Set(names.filter(isKnown)),
]

/** Those asked for that a well-known API has, and this one not. */
export const ignoredOf = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter(isOfOthers)),
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

/** Says why a URL must not be called, or null. */
type Refusal = (url: string) => Promise<string | null>

const wrongWithUrl = async (url: string, refusal: Refusal): Promise<readonly FieldError[]> => {
  const field = 'body.endpoint'
  if (url.length > MOST_URL)
    return [{ field, kind: 'length', message: `must have at most ${MOST_URL} characters` }]
  if (UNCLEAR.test(url.trim())) return [{ field, kind: 'format', message: NOT_PLAIN }]
  if (!/^https?:\/\/[^\s/]/i.test(url) || typeof readTarget(url) === 'string') {
    const said = readTarget(url)
    return [{ field, kind: 'format', message: typeof said === 'string' ? said : 'it is no https URL' }]
  }
  const said = await refusal(url)
  return said === null ? [] : [{ field, kind: 'forbidden', message: said }]
}

/** All that is wrong with a wish; what it leaves out is not looked at. */
export const wrongWithEndpoint = async (
  wish: Partial<EndpointWish>,
  isOfAccount: boolean,
  refusal: Refusal,
): Promise<readonly FieldError[]> => [
  ...(wish.url === undefined ? [] : await wrongWithUrl(wish.url, refusal)),
  ...wrongWithTypes(wish.events ?? [], isOfAccount),
  ...(wish.domains ?? []).flatMap((name, i): FieldError[] =>
    typeof name !== 'string' || normalDomain(name) !== null
      ? []
      : [{ field: `body.domains[${i}]`, kind: 'format', message: 'must be a domain such as shop.example' }],
  ),
  ...wrongWithHeaders(wish.headers ?? {}),
]
