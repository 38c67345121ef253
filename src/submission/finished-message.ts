/**
 * NAME      finished-message - a finished message, read and judged
 *     What a message must fulfil that came whole, over SMTP or as `raw` of the API, and the octets that are made of it.
 *     One set of rules for both doors: line ends, the size of the header, one From, no loop. A missing From is filled
 *     from the default sender, where there is one.
 *   NOTES
 *     A From that is there and cannot be read is never replaced: somebody meant something by it.
 */
import { Fault, type FieldError } from '../base/fault.js'
import { type Extras, givenExtras, readExtra } from '../lifecycle/extras.js'
import { formatMailbox, isAscii, type Mailbox, parseAddress, wireAddress } from '../mail/address.js'
import { decodeWords, fromRaw } from '../mail/encoding.js'
import {
  asBuffer,
  fieldValue,
  formatDate,
  isHeaderTooLarge,
  MOST_HEADER_FIELDS,
  MOST_HEADER_OCTETS,
  namesIn,
  normalizeLineEnds,
} from '../mail/header.js'
import { prepareForRelay, readSubmitted, type Submitted, signedIn } from '../mail/submitted.js'
import type { HeaderNames } from './unsubscribe.js'

export interface FinishedRules {
  /** Our own name: its Received fields show a loop. */
  readonly hostname: string
  readonly lineEndings: 'normalize' | 'strict'
  readonly defaultFrom: string | null
}

export interface Finished {
  readonly raw: Uint8Array
  readonly submitted: Submitted
  /** Who has written it: each of From, or the default sender. */
  readonly authors: readonly [Mailbox, ...Mailbox[]]
  /** True when From is yet to be added. */
  readonly lacksFrom: boolean
}

const MOST_RECEIVED = 50
const MOST_OWN_PASSES = 2

const TOO_LARGE = `the header may have at most ${MOST_HEADER_OCTETS / 1024} KiB and ${MOST_HEADER_FIELDS} fields`
const LINE_ENDS =
  'lines must end in CRLF, and there must be no NUL; a workspace whose line_endings are "normalize" has them mended'

/** Where a mistake stands, as the door names it. */
export type MessagePlaces = Readonly<Record<'header' | 'from' | 'body', string>>

const authorsOf = (
  submitted: Submitted,
  defaultFrom: string | null,
): Pick<Finished, 'authors' | 'lacksFrom'> | null => {
  const [first, ...others] = submitted.authors
  if (first !== undefined) return { authors: [first, ...others], lacksFrom: false }
  const own = submitted.hasFrom || defaultFrom === null ? null : parseAddress(defaultFrom)
  return own && { authors: [own], lacksFrom: true }
}

/** Adds to `errors` what is wrong; null when it is too much to read on. Throws email.loop_detected. */
export const readFinished = (
  given: Uint8Array,
  rules: FinishedRules,
  places: MessagePlaces,
  errors: FieldError[],
): Finished | null => {
  const token = `by ${rules.hostname} with `
  let raw = given
  if (isHeaderTooLarge(asBuffer(raw))) {
    errors.push({ field: places.header, kind: 'too_many', message: TOO_LARGE })
    return null
  }
  let submitted = readSubmitted(raw, token)
  if (submitted.hasBareCr || submitted.hasBareLf || submitted.hasNul) {
    if (rules.lineEndings === 'strict') {
      errors.push({ field: places.body, kind: 'format', message: LINE_ENDS })
    } else {
      raw = normalizeLineEnds(raw)
      submitted = readSubmitted(raw, token)
    }
  }
  const from = authorsOf(submitted, rules.defaultFrom)
  if (from === null) {
    const message = 'a From field with an address is required'
    errors.push({ field: places.from, kind: 'missing', message })
  }
  if (submitted.repeated.includes('from'))
    errors.push({ field: places.from, kind: 'not_unique', message: 'there must be one From field' })
  for (const message of submitted.unheeded)
    errors.push({ field: places.header, kind: 'unsupported', message })
  const comesRound = submitted.received > MOST_RECEIVED || submitted.loops >= MOST_OWN_PASSES
  if (comesRound && errors.length === 0) throw new Fault('email.loop_detected')
  return from && { raw, submitted, ...from }
}

/** What its control fields give. */
export const extrasIn = ({ raw, submitted }: Finished): Extras | null => {
  const { unsubscribe, section } = submitted
  return givenExtras(
    (extra) => {
      const field = section.fields.find(({ name }) => name === extra.field)
      return field && readExtra(extra, decodeWords(fromRaw(fieldValue(asBuffer(raw), field))).trim())
    },
    unsubscribe === null ? {} : { unsubscribe_list: unsubscribe },
  )
}

export const headerNames = (finished: Finished | null): HeaderNames => ({
  names: () => (finished === null ? [] : namesIn(finished.submitted.section)),
  signed: () =>
    finished === null ? [] : signedIn(asBuffer(finished.raw), finished.submitted.section.fields),
})

/** A mailbox as one would write it, undisturbed by encoded words. */
export const show = ({ name, address }: Mailbox): string => {
  if (name === null) return address
  return `${/[<>@,;:"\\()]/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name} <${address}>`
}

export const headOf = ({ submitted, authors }: Finished) => ({
  from: show(authors[0]),
  replyTo: submitted.replyTo.map(show),
  subject: submitted.subject,
})

export const needsSmtpUtf8 = (
  { submitted, authors, lacksFrom }: Finished,
  recipients: readonly { readonly address: string }[],
): boolean =>
  submitted.needsSmtpUtf8 ||
  (lacksFrom && !isAscii(wireAddress(authors[0].address))) ||
  recipients.some(({ address }) => !isAscii(address))

interface Making {
  readonly id: string
  readonly hostname: string
  readonly now: number
  /** The whole field with its CRLF. */
  readonly receivedLine: string
  /** As in RelayFields. */
  readonly headroom?: number
}

/** The octets to relay, and the Message-ID in them. */
export const octetsOf = (
  { raw, submitted, authors, lacksFrom }: Finished,
  { id, hostname, now, receivedLine, headroom = 0 }: Making,
): { readonly raw: Uint8Array; readonly messageId: string } => {
  const messageId = submitted.messageId ?? `<${id}@${hostname}>`
  const octets = prepareForRelay(raw, submitted, {
    messageId,
    date: formatDate(now),
    from: lacksFrom ? formatMailbox(authors[0]) : null,
    receivedLine,
    headroom,
  })
  return { raw: octets, messageId }
}
