/**
 * NAME      validate - what a draft must fulfil, and who it is from and to
 *   Judges meaning; types were the door's business. Every mistake is reported, under its name on the wire. A checked
 *   draft can be composed and accepted without further doubt, apart from its size as MIME.
 *   Recipients are listed once each: the first of to, cc, bcc that names an address has it. What clients wrote is kept
 *   as they wrote it; what goes into envelopes is the wire form.
 */
import { type FieldError, wrongIn } from '../base/fault.js'
import { type Extras, GIVEN_EXTRAS, type GivenExtra, wrongWith } from '../lifecycle/extras.js'
import type { DsnRequest, NewRecipient, RecipientKind, Tag } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { entriesAgainst, entryOf } from '../lifecycle/suppress.js'
import { type Mailbox, normalizeAddress, parseAddress, parseRecipient, wireAddress } from '../mail/address.js'
import type { MessageAttachment } from '../mail/compose.js'
import {
  isControlHeader,
  readTags,
  scheduleIn,
  UNSUBSCRIBE_FIELD,
  unheeded,
} from '../mail/control-headers.js'
import { decodeWords } from '../mail/encoding.js'
import {
  isForbiddenHeader,
  isHeaderName,
  isHeaderValue,
  keepsUnsubscribeRule,
  lacksFoldPoint,
  namesIn,
} from '../mail/header.js'
import { REF_HEADER } from '../mail/return-path.js'
import { type Draft, decodeBase64, demandSize, readAttachments, readSchedule } from './draft.js'
import { extrasIn, type Finished, type FinishedRules, headerNames, readFinished } from './finished-message.js'
import { checkUnsubscribe } from './unsubscribe.js'

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

interface Recipients {
  readonly to: readonly Party[]
  readonly cc: readonly Party[]
  readonly bcc: readonly Party[]
  readonly recipients: readonly Recipient[]
}

interface Parties extends Recipients {
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
const readRecipients = (
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
  if (draft.to.length === 0 && !(draft.needsNoTo && recipients.length > 0))
    errors.push({ field: `${at}.to`, kind: 'missing', message: '"to" is required' })
  if (recipients.length > most) {
    const message = `at most ${most} recipients over to, cc and bcc, found ${recipients.length}`
    errors.push({ field: `${at}.to`, kind: 'too_many', message })
  }
  return all
}

/** Reads all address fields of a draft, adding to `errors` what is wrong. */
const readParties = (
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

export const MOST_TAGS = 75
const MOST_LETTERS = 256

export interface CheckedDraft extends Parties {
  readonly from: Party
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly Tag[]
  readonly attachments: readonly MessageAttachment[]
  readonly scheduledAt: number | null
  readonly ignoreSuppressions: boolean
  readonly extras: Extras | null
}

export interface CheckedMime extends Recipients {
  readonly finished: Finished
  readonly tags: readonly Tag[]
  readonly scheduledAt: number | null
  readonly ignoreSuppressions: boolean
  readonly extras: Extras | null
}

export interface DraftRules extends FinishedRules {
  readonly recipients: number
  /** Octets of the largest message. */
  readonly messageSize: number
  readonly now: number
  /** Of this gateway, as readers reach it. */
  readonly baseUrl?: string | undefined
}

type Verdict<T = CheckedDraft> =
  | { readonly checked: T; readonly errors: null }
  | { readonly checked: null; readonly errors: readonly FieldError[] }

const NAME_IN_PATH = /^[A-Za-z0-9_-]+$/
const LISTS = 'is for SMTP: POST /v1/emails names a mailing list by its member unsubscribe'

const checkHeaders = ({ headers, replyTo }: Draft, at: string, errors: FieldError[]): void => {
  const names = new Set<string>()
  const wrong = (name: string, kind: FieldError['kind'], message: string) => {
    const place = NAME_IN_PATH.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 80))}]`
    errors.push({ field: `${at}.headers${place}`, kind, message })
  }
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase()
    const repeated = names.has(lower)
    names.add(lower)
    if (!isHeaderName(name))
      wrong(name, 'format', 'must be a header name: printable ASCII without blank or colon')
    else if (lower === UNSUBSCRIBE_FIELD) wrong(name, 'forbidden', `${name} ${LISTS}`)
    else if (isForbiddenHeader(name)) wrong(name, 'forbidden', `${name} is set by the service`)
    else if (!isHeaderValue(headers[name] ?? '')) {
      wrong(name, 'format', 'must not contain line breaks or control characters')
    } else if (lacksFoldPoint(headers[name] ?? '')) {
      wrong(name, 'length', 'must have a blank at least every 900 characters, where its line can be folded')
    } else if (repeated) wrong(name, 'not_unique', 'is there already, in other letters')
    else if (lower === 'reply-to' && replyTo.length > 0) {
      wrong(name, 'not_unique', 'must not stand beside reply_to')
    } else {
      const asks = unheeded(lower, headers[name] ?? '')
      if (asks !== null) wrong(name, 'unsupported', asks)
    }
  }
  if (!keepsUnsubscribeRule(headers)) {
    const message =
      'must be "List-Unsubscribe=One-Click", beside a List-Unsubscribe with an https URI (RFC 8058)'
    wrong('List-Unsubscribe-Post', 'format', message)
  }
}

/** When to send: by the field of the request, or else by a control field. */
const readTime = (draft: Draft, now: number, at: string, errors: FieldError[]): number | null => {
  const said = Object.entries(draft.headers).flatMap(([name, value]) => {
    const text = scheduleIn(name.toLowerCase(), decodeWords(value))
    return text === null ? [] : [[`headers.${name}`, text] as const]
  })
  const [place, text] =
    draft.scheduledAt === null ? (said[0] ?? ['', null]) : ['scheduled_at', draft.scheduledAt]
  return readSchedule(text, now, `${at}.${place}`, errors)
}

/** Fields that other providers heed leave the header; what they say of tags is added to the tags, the caller's own first. */
const takeControls = ({ headers, tags, foundTags = [] }: Draft): Pick<CheckedDraft, 'headers' | 'tags'> => {
  const controls = Object.entries(headers).filter(([name]) => isControlHeader(name.toLowerCase()))
  if (controls.length === 0 && foundTags.length === 0) return { headers, tags }
  const inHeader = controls.flatMap(([name, value]) => readTags(name.toLowerCase(), decodeWords(value)))
  return {
    headers: Object.fromEntries(
      Object.entries(headers).filter(([name]) => !isControlHeader(name.toLowerCase())),
    ),
    tags: [...tags, ...foundTags, ...inHeader].slice(0, MOST_TAGS),
  }
}

/** Judges what a client gives; `at` is where each stands. */
export const checkExtras = (
  extras: Extras | null,
  at: (extra: GivenExtra) => string,
  errors: FieldError[],
): void => {
  for (const extra of GIVEN_EXTRAS) {
    const value = extras?.[extra.name]
    const wrong = value === undefined ? null : wrongWith(extra, value)
    if (wrong !== null) errors.push({ field: at(extra), ...wrong })
  }
}

export const listIn = (extras: Extras | null): string | null => extras?.unsubscribe_list ?? null

const checkTags = ({ tags }: Draft, at: string, errors: FieldError[]): void => {
  const wrong = wrongIn(errors, `${at}.tags`)
  if (tags.length > MOST_TAGS) wrong('', 'too_many', `at most ${MOST_TAGS} tags`)
  const names = new Set<string>()
  for (const [i, { name, value }] of tags.entries()) {
    if (name === '' || name.length > MOST_LETTERS)
      wrong(`[${i}].name`, 'length', 'must have 1 to 256 characters')
    else if (!NAME_IN_PATH.test(name)) wrong(`[${i}].name`, 'format', 'must be of A-Z a-z 0-9 _ -')
    else if (names.has(name)) wrong(`[${i}].name`, 'not_unique', 'must not repeat')
    if (value.length > MOST_LETTERS) wrong(`[${i}].value`, 'length', 'must have at most 256 characters')
    else if (/[\x00-\x1f\x7f]/.test(value))
      wrong(`[${i}].value`, 'format', 'must not contain control characters')
    names.add(name)
  }
}

const checkText = (draft: Draft, at: string, errors: FieldError[]): void => {
  if (!isHeaderValue(draft.subject))
    errors.push({
      field: `${at}.subject`,
      kind: 'format',
      message: 'must not contain line breaks or control characters',
    })
  for (const name of ['html', 'text'] as const) {
    if (draft[name]?.includes('\0') === true)
      errors.push({ field: `${at}.${name}`, kind: 'format', message: 'must not contain NUL' })
  }
}

/** What `raw` stands for already, and may not be told a second time. */
const saidTwice = (draft: Draft): readonly string[] =>
  Object.entries({
    from: draft.from !== null,
    subject: draft.subject !== '',
    html: draft.html !== null,
    text: draft.text !== null,
    headers: Object.keys(draft.headers).length > 0,
    attachments: draft.attachments.length > 0,
    reply_to: draft.replyTo.length > 0,
  }).flatMap(([name, given]) => (given ? [name] : []))

/** The message in a draft. What would steer us from within its header has a field of the request, and is refused unless it is heeded. */
const readMime = (
  mime: string,
  { heedsHeader = false }: Draft,
  rules: DraftRules,
  at: string,
  errors: FieldError[],
): Finished | null => {
  const octets = decodeBase64(mime)
  if (octets === null || octets.length === 0) {
    const message = 'must be a message in base64 with padding, and not in the alphabet for URLs'
    errors.push({ field: at, kind: 'format', message })
    return null
  }
  demandSize(rules.messageSize, octets.length)
  const finished = readFinished(octets, rules, { header: at, from: at, body: at }, errors)
  if (heedsHeader) {
    const isKeyed = (finished?.submitted.idempotencyKey ?? null) !== null
    const message = 'Idempotency-Key counts as a header of the request, and not in the message'
    if (isKeyed) errors.push({ field: at, kind: 'forbidden', message })
    return finished
  }
  const names = finished === null ? [] : namesIn(finished.submitted.section)
  // the reference of another Postern that relays through this one is taken out, and asks for nothing
  const steering = new Set(names.filter((name) => isControlHeader(name) && name !== REF_HEADER.toLowerCase()))
  for (const name of steering) {
    const message =
      name === UNSUBSCRIBE_FIELD
        ? `${name} in the message ${LISTS}`
        : `${name} in the message steers nothing here; tags, scheduled_at and the like stand beside raw`
    errors.push({ field: at, kind: 'forbidden', message })
  }
  return finished
}

const checkMime = (draft: Draft, mime: string, rules: DraftRules, at: string): Verdict<CheckedMime> => {
  const errors: FieldError[] = []
  const recipients = readRecipients(draft, rules.recipients, at, errors)
  const { heedsHeader = false, from, foundTags = [] } = draft
  for (const name of saidTwice(heedsHeader ? { ...draft, from: null } : draft)) {
    errors.push({ field: `${at}.${name}`, kind: 'forbidden', message: 'must not stand beside raw' })
  }
  checkTags(draft, at, errors)
  if (from !== null && heedsHeader && parseAddress(from) === null)
    errors.push({ field: `${at}.from`, kind: 'format', message: 'must be an address' })
  const finished = readMime(
    mime,
    draft,
    heedsHeader ? { ...rules, defaultFrom: from ?? rules.defaultFrom } : rules,
    `${at}.raw`,
    errors,
  )
  const found = heedsHeader ? (finished?.submitted ?? null) : null
  const schedule = draft.scheduledAt ?? found?.scheduledAt?.text ?? null
  const place = draft.scheduledAt === null && found !== null ? 'raw' : 'scheduled_at'
  const scheduledAt = readSchedule(schedule, rules.now, `${at}.${place}`, errors)
  const inHeader = heedsHeader && finished !== null ? extrasIn(finished) : null
  const extras = inHeader === null ? (draft.extras ?? null) : { ...inHeader, ...draft.extras }
  checkExtras(extras, ({ name }) => `${at}.${name}`, errors)
  const link = { at: `${at}.unsubscribe`, baseUrl: rules.baseUrl, ...headerNames(finished) }
  checkUnsubscribe(listIn(extras), { ...link, recipients: recipients.recipients.length }, errors)
  if (errors.length > 0 || finished === null) return { checked: null, errors }
  const tags = [...draft.tags, ...foundTags, ...(found?.tags ?? [])].slice(0, MOST_TAGS)
  const ignoreSuppressions = draft.ignoreSuppressions || (found?.ignoreSuppressions ?? false)
  return {
    checked: { finished, tags, scheduledAt, ignoreSuppressions, extras, ...recipients },
    errors: null,
  }
}

/** Checks a draft that is to be composed. `at` is where it stands in the request: `body`, or `body[3]` in a batch. */
export const checkDraft = (draft: Draft, rules: DraftRules, at = 'body'): Verdict => {
  const errors: FieldError[] = []
  const parties = readParties(draft, rules.defaultFrom, rules.recipients, at, errors)
  checkText(draft, at, errors)
  checkHeaders(draft, at, errors)
  checkTags(draft, at, errors)
  const attachments = readAttachments(draft.attachments, at, errors)
  const scheduledAt = readTime(draft, rules.now, at, errors)
  const { from } = parties
  const { extras = null } = draft
  checkExtras(extras, ({ name }) => `${at}.${name}`, errors)
  const names = () => Object.keys(draft.headers).map((name) => name.toLowerCase())
  // a composed mail has no signature yet
  const link = { at: `${at}.unsubscribe`, baseUrl: rules.baseUrl, names, signed: () => [] }
  checkUnsubscribe(listIn(extras), { ...link, recipients: parties.recipients.length }, errors)
  if (errors.length > 0 || from === null) return { checked: null, errors }
  const { subject, html, text, ignoreSuppressions = false } = draft
  return {
    checked: {
      subject,
      html,
      text,
      attachments,
      scheduledAt,
      ignoreSuppressions,
      extras,
      ...takeControls(draft),
      ...parties,
      from,
    },
    errors: null,
  }
}

/** Checks what is to be sent, composed or whole. */
export const checkSend = (
  draft: Draft,
  rules: DraftRules,
  at = 'body',
): Verdict<CheckedDraft | CheckedMime> =>
  draft.mime == null ? checkDraft(draft, rules, at) : checkMime(draft, draft.mime, rules, at)
