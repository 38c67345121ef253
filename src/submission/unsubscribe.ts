/**
 * NAME      unsubscribe - a link in the header by which a reader leaves one mailing list
 *   A mail to one recipient may name its list. It gets the fields of RFC 8058, whose link leads to this gateway: a click on
 *   it suppresses the address for the mail of that list, and for nothing else. The token in the link is all that opens it. It
 *   is sealed under the pepper for this purpose alone: no address stands in a URL, and who has a token can make no other.
 *   A token does not end: it names account, workspace, mode, list, address and mail, and means nothing once its workspace is
 *   deleted.
 */
import type { FieldError } from '../base/fault.js'
import { isLoopback } from '../base/network.js'
import { seal, unseal } from '../base/secret.js'
import type { NewEmail } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { MAILING_LIST, MAILING_LIST_FORM } from '../lifecycle/suppress.js'
import { normalizeAddress } from '../mail/address.js'
import { asBuffer, scanHeader } from '../mail/header.js'

export interface ListReader {
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly list: string
  /** In its normal form. */
  readonly email: string
  readonly emailId: string
}

/** Fields that a mail with a list of ours may not bring along. */
export const UNSUBSCRIBE_FIELDS: ReadonlySet<string> = new Set(['list-unsubscribe', 'list-unsubscribe-post'])
/** What a reader's program posts, or the button of our page. */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const

const PURPOSE = 'unsubscribe'
/** Of the longest address and list. */
const TOKEN = /^[\w-]{40,1000}$/

export const tokenOf = (pepper: Uint8Array, one: ListReader): string =>
  seal(
    pepper,
    PURPOSE,
    JSON.stringify([one.accountId, one.workspaceId, one.mode, one.list, one.email, one.emailId]),
  )

/** Null for what is none of ours. */
export const readToken = (pepper: Uint8Array, token: string): ListReader | null => {
  if (!TOKEN.test(token) || Buffer.from(token, 'base64url').toString('base64url') !== token) return null
  try {
    const [accountId, workspaceId, mode, list, email, emailId] = JSON.parse(unseal(pepper, PURPOSE, token))
    return { accountId, workspaceId, mode, list, email, emailId }
  } catch {
    return null
  }
}

/** Readers reach it: by https, and from elsewhere. */
export const isReached = (baseUrl: string | undefined): boolean => {
  if (!baseUrl?.startsWith('https:')) return false
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  return !isLoopback(host) && host !== '0.0.0.0' && host !== '::'
}

/** What is asked of a header, of a mail with a list alone; names are in lower case. */
export interface HeaderNames {
  /** Of the fields in it. */
  readonly names: () => Iterable<string>
  /** Of the fields that a signature in it covers, there or not. */
  readonly signed: () => Iterable<string>
}

interface Wish extends HeaderNames {
  /** Where a mistake stands. */
  readonly at: string
  readonly baseUrl: string | undefined
  readonly recipients: number
}

const hasLinkField = (names: Iterable<string>): boolean =>
  [...names].some((name) => UNSUBSCRIBE_FIELDS.has(name))

/** Adds to `errors` what keeps a mail from having such a link. */
export const checkUnsubscribe = (
  list: string | null,
  { at, baseUrl, recipients, names, signed }: Wish,
  errors: FieldError[],
): void => {
  if (list === null) return
  const wrong = (kind: FieldError['kind'], message: string) => errors.push({ field: at, kind, message })
  if (!MAILING_LIST.test(list)) wrong('format', `its list ${MAILING_LIST_FORM}`)
  if (!isReached(baseUrl))
    wrong('unsupported', 'needs a base_url that readers reach by https, such as https://mail.example.com')
  if (recipients > 1)
    wrong('too_many', `a mail with a link to unsubscribe has one recipient, found ${recipients}`)
  if (hasLinkField(names())) wrong('not_unique', 'must not stand beside a List-Unsubscribe of your own')
  if (hasLinkField(signed()))
    wrong('not_unique', 'must not stand beside a signature of your own that covers List-Unsubscribe')
}

const BEHIND_TRACE = 'received'

/** Without a login that a proxy wants of others, and without a slash at its end. */
const publicUrl = (baseUrl: string): string => {
  const url = new URL(baseUrl)
  url.username = ''
  url.password = ''
  return url.href.replace(/\/+$/, '')
}

/** The mail with its link, if it has a list, one reader and an address that is reached: what is sent again may lack them. */
export const linked = (
  { pepper, config }: { pepper?: Uint8Array | undefined; config: { base_url?: string } },
  mail: NewEmail,
): NewEmail => {
  const list = mail.extras?.unsubscribe_list
  const [one, ...others] = mail.recipients
  if (list === undefined || one === undefined || others.length > 0 || !isReached(config.base_url)) return mail
  if (pepper === undefined) throw new Error('a link to unsubscribe is sealed under the pepper')
  const { accountId, workspaceId, mode, id } = mail
  const email = normalizeAddress(one.address)
  const token = tokenOf(pepper, { accountId, workspaceId, mode, list, email, emailId: id })
  const url = `${publicUrl(config.base_url ?? '')}/u/${token}`
  const raw = asBuffer(mail.raw)
  const [first] = scanHeader(raw).fields
  const at = first?.name === BEHIND_TRACE ? first.end : 0
  const fields = `List-Unsubscribe: <${url}>\r\nList-Unsubscribe-Post: ${ONE_CLICK.name}=${ONE_CLICK.value}\r\n`
  return { ...mail, raw: Buffer.concat([raw.subarray(0, at), Buffer.from(fields), raw.subarray(at)]) }
}
