/**
 * NAME      addresses - who a mail is from and to
 * DESCRIPTION
 *   Reads the address fields of a draft and lists the recipients once each: the
 *   first of to, cc, bcc that names an address has it. What clients wrote is kept
 *   as they wrote it; what goes into envelopes is the wire form.
 */
import type { FieldError } from '../base/fault.js'
import type { DsnRequest, NewRecipient, RecipientKind } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { entriesAgainst, entryOf } from '../lifecycle/suppress.js'
import { type Mailbox, normalizeAddress, parseAddress, parseRecipient, wireAddress } from '../mail/address.js'
import type { Draft } from './draft.js'

/** A mailbox and the text that a client gave for it. */
export interface Party {
  readonly mailbox: Mailbox
  readonly text: string
}

export interface Recipient {
  /** Wire form. */
  readonly address: string
  /** The form in which suppressions and duplicates are compared. */
  readonly normal: string
  readonly kind: RecipientKind
  readonly dsn?: DsnRequest | null
}

/** Who receives it. */
export interface Recipients {
  readonly to: readonly Party[]
  readonly cc: readonly Party[]
  readonly bcc: readonly Party[]
  readonly recipients: readonly Recipient[]
}

export interface Parties extends Recipients {
  readonly from: Party | null
  readonly replyTo: readonly Party[]
}

/** What one must be. */
export const FORM = 'must be an address such as ana@example.com or Ana <ana@example.com>'

/** A list in one text, or a name with a comma: what people try first. */
const formOf = (text: string): string => {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, '').slice(0, 1_000)
  if (!bare.includes(',')) return FORM
  return bare.split('@').length > 2
    ? `${FORM}; send several addresses as an array`
    : `${FORM}; quote a name that has a comma: "Acme, Inc." <ana@example.com>`
}

/** Reads one field; a list of one is reported without its index, since a client may have sent plain text. */
const readList = (
  texts: readonly string[],
  field: string,
  errors: FieldError[],
  parse = parseAddress,
): readonly Party[] => {
  const parties: Party[] = []
  for (const [i, text] of texts.entries()) {
    const mailbox = parse(text)
    if (mailbox !== null) parties.push({ mailbox, text: text.trim() })
    else
      errors.push({
        field: texts.length === 1 ? field : `${field}[${i}]`,
        kind: 'format',
        message: formOf(text),
      })
  }
  return parties
}

/** Those of a list that nobody before them named, and their recipients. */
const firstNamed = (
  parties: readonly Party[],
  kind: RecipientKind,
  seen: Set<string>,
  recipients: Recipient[],
): readonly Party[] =>
  parties.filter(({ mailbox }) => {
    const normal = normalizeAddress(mailbox.address)
    if (seen.has(normal)) return false
    seen.add(normal)
    recipients.push({ address: wireAddress(mailbox.address), normal, kind })
    return true
  })

/** Reads who receives a draft, adding to `errors` what is wrong. */
export const readRecipients = (
  draft: Pick<Draft, RecipientKind | 'needsNoTo'>,
  most: number,
  at: string,
  errors: FieldError[],
): Recipients => {
  const seen = new Set<string>()
  const recipients: Recipient[] = []
  const take = (kind: RecipientKind) =>
    firstNamed(readList(draft[kind], `${at}.${kind}`, errors, parseRecipient), kind, seen, recipients)
  const all = { to: take('to'), cc: take('cc'), bcc: take('bcc'), recipients }
  if (draft.to.length === 0 && !(draft.needsNoTo && recipients.length > 0)) {
    errors.push({ field: `${at}.to`, kind: 'missing', message: '"to" is required' })
  }
  if (recipients.length > most) {
    const message = `at most ${most} recipients over to, cc and bcc, found ${recipients.length}`
    errors.push({ field: `${at}.to`, kind: 'too_many', message })
  }
  return all
}

/** Reads all address fields of a draft, adding to `errors` what is wrong. */
export const readParties = (
  draft: Draft,
  defaultFrom: string | null,
  most: number,
  at: string,
  errors: FieldError[],
): Parties => {
  const given = draft.from ?? defaultFrom
  const [from = null] = given === null ? [] : readList([given], `${at}.from`, errors)
  if (given === null) errors.push({ field: `${at}.from`, kind: 'missing', message: '"from" is required' })
  const recipients = readRecipients(draft, most, at, errors)
  return { from, replyTo: readList(draft.replyTo, `${at}.reply_to`, errors), ...recipients }
}

/** `suppressed@` at any domain, with or without a detail: listed in every test. */
const PRETENDED = /^"?suppressed(?:\+[^@]*)?"?@/

interface Minding {
  readonly mode: Mode
  /** Lists are not asked. */
  readonly ignored: boolean
  /** What is known of them. */
  readonly listed: Listed
  readonly mailingList: string | null
}

/** A recipient as the store takes it, which asks lists for itself unless they are ignored. */
export const newRecipient = (
  { address, normal, kind, dsn = null }: Recipient,
  id: string,
  { mode, ignored, listed, mailingList }: Minding,
): NewRecipient => {
  const isPretended = !ignored && mode === 'test' && PRETENDED.test(normal)
  const isAsked = !ignored && !isPretended
  const narrowest = entryOf(normal, mailingList)
  const isListed = isAsked && listed.size > 0 && entriesAgainst(narrowest).some((one) => listed.has(one))
  return {
    ...{ id, address, kind, dsn },
    suppressed: isPretended || isListed,
    normal: isAsked ? narrowest : undefined,
  }
}

/** What stands on the lists that hold for these mails. */
export type Listed = ReadonlySet<string>
