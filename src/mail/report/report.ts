/**
 * NAME      report - what a mail that came back says, and the field groups of its status part
 *   The reading of one bounce, delay notice, delivery report, complaint or auto-reply, as a value. It says only what the
 *   mail says: whom to believe, and whose group is ours, is for outcome/ to decide. `action` is null in a complaint
 *   (RFC 5965), which tells nothing of delivery, and where the report gives one that RFC 3464 does not know. `class` is
 *   null unless the recipient failed.
 *   A status part (RFC 3464 section 2.1) is groups of header-like fields, apart by blank lines. Real parts put blank
 *   lines inside a group, forget them between groups, or mix the message's fields with a recipient's, so a recipient ends
 *   where one of its own fields comes a second time. A folded line always belongs to the field above it: a field name
 *   inside a Diagnostic-Code is text, not a field.
 */
import type { Category, Fault, Severity } from './category.js'
import { findAddresses, uniqueBy } from './mime.js'

export type ReportKind = 'bounce' | 'delay' | 'delivered' | 'arf' | 'autoreply' | 'none'

/** The words of RFC 3464 §2.3.3. */
const ACTIONS = ['delivered', 'relayed', 'expanded', 'delayed', 'failed'] as const
export type Action = (typeof ACTIONS)[number]

/** Where the reading came from, most trustworthy first. */
type ReportSource = 'status-part' | 'raw' | 'header' | 'text' | 'feedback-part'

export interface ReportRecipient {
  /**
   * Whom the group is about, and whom `class` judges: Original-Recipient, else Final-Recipient, else
   * from the text; but Final-Recipient where one Original-Recipient was expanded to several.
   */
  readonly address: string | null
  readonly finalRecipient: string | null
  readonly originalRecipient: string | null
  readonly action: Action | null
  /** What the report gave as Action, when that is no word of RFC 3464: then `action` is null. */
  readonly unknownAction?: string
  /** `5.1.1`; null when the report gives no enhanced code. */
  readonly status: string | null
  /** The remote server's words, on one line, cut to a bounded length. */
  readonly diagnostic: string | null
  /** The basic SMTP code inside the diagnostic, when there is one. */
  readonly code: number | null
  readonly remoteMta: string | null
  readonly class: Severity | null
  readonly category: Category | null
  readonly fault: Fault | null
}

/** A group that says nothing: of a report that names nobody, and what a complaint leaves open. */
export const UNSAID: ReportRecipient = {
  address: null,
  finalRecipient: null,
  originalRecipient: null,
  action: null,
  status: null,
  diagnostic: null,
  code: null,
  remoteMta: null,
  class: null,
  category: null,
  fault: null,
}

export interface Report {
  readonly kind: ReportKind
  /** RFC 5965 Feedback-Type in lower case; only when kind is `arf`. */
  readonly feedbackType?: string
  readonly source: ReportSource | null
  readonly reportingMta: string | null
  /** Message-ID of the report itself. */
  readonly messageId: string | null
  /** Original-Envelope-Id, xtext decoded. */
  readonly envid: string | null
  /** Message-ID of the mail the report is about. */
  readonly originalMessageId: string | null
  /** Values of X-Postern-Ref in the returned headers of the top multipart, never from deeper. */
  readonly refs: readonly string[]
  /** Envelope senders named by the returned headers or the status part; never the report's own To. */
  readonly returnPathHints: readonly string[]
  readonly recipients: readonly ReportRecipient[]
}

/** Failed outweighs delayed, delayed outweighs success. */
export const kindOf = (recipients: readonly { readonly action: Action | null }[]): ReportKind => {
  if (recipients.some((one) => one.action === 'failed')) return 'bounce'
  if (recipients.some((one) => one.action === 'delayed')) return 'delay'
  return recipients.some((one) => one.action !== null) ? 'delivered' : 'none'
}

export type ReportFields = ReadonlyMap<string, string>

/** More than a report of 1 MB has room for with fields that say anything. */
const MAX_LINES = 40_000
const MAX_VALUE = 4_000
const LINE = /^([A-Za-z][A-Za-z0-9-]{1,60})[ \t]*:[ \t]*(.*)$/
const RECIPIENT = new Set(['final-recipient', 'original-recipient', 'action', 'status', 'x-actual-recipient'])

const NAMING = new Set(['final-recipient', 'original-recipient'])

export interface FieldGroups {
  readonly message: ReportFields
  readonly recipients: readonly ReportFields[]
}

/** What a group says; when it was tried, and what else stands there, does not make it another. */
const TELLING = [...NAMING, 'x-actual-recipient', 'action', 'status', 'diagnostic-code']

/** Some systems repeat a group for every attempt: equal ones are one. */
export const distinct = (groups: readonly ReportFields[]): ReportFields[] =>
  uniqueBy(groups, (one) => JSON.stringify(TELLING.map((name) => one.get(name))))

const names = (group: ReportFields): boolean =>
  group.has('final-recipient') || group.has('original-recipient')

/** Reads groups from text that holds nothing but fields, or (prose: true) from text around them. */
export const readGroups = (text: string): FieldGroups => {
  const message = new Map<string, string>()
  const recipients: Map<string, string>[] = []
  let group = new Map<string, string>()
  let field: string | null = null
  let gap = false
  const close = (): void => {
    if (names(group)) recipients.push(group)
    group = new Map()
  }
  for (const line of text.split('\n', MAX_LINES)) {
    if (line.trim() === '') {
      gap = true
      field = null
      continue
    }
    const found = line[0] === ' ' || line[0] === '\t' ? null : LINE.exec(line)
    // Some systems forget to indent the further lines of a reply.
    const folded = line[0] === ' ' || line[0] === '\t' || (found === null && field === 'diagnostic-code')
    if (folded && field !== null) {
      const owner = group.has(field) ? group : message
      const value = owner.get(field) ?? ''
      if (value.length < MAX_VALUE) owner.set(field, `${value} ${line.trim()}`)
      continue
    }
    field = found?.[1]?.toLowerCase() ?? null
    if (field === null) continue
    const value = (found?.[2] ?? '').trim().slice(0, MAX_VALUE)
    const own = RECIPIENT.has(field)
    const complete = names(group) && (group.has('action') || group.has('status'))
    if (own && (group.has(field) || (gap && complete && NAMING.has(field)))) close()
    if (!own && !names(group) && !group.has('action')) {
      if (!message.has(field)) message.set(field, value)
    } else if (!group.has(field)) {
      group.set(field, value)
    }
    gap = false
  }
  close()
  return { message, recipients }
}

/** Cuts `(comments)`, nested ones too. */
export const withoutComments = (value: string): string => {
  let depth = 0
  let out = ''
  for (const char of value) {
    if (char === '(') depth++
    else if (char === ')' && depth > 0) depth--
    else if (depth === 0) out += char
  }
  return out.trim()
}

const hex = (text: string, which: RegExp): string =>
  text.replace(which, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** RFC 3461 §4 xtext. Where `@` stands in clear, the sender did not encode, so only `+2B` and `+3D` count. */
export const decodeXtext = (text: string): string =>
  hex(text, text.includes('@') ? /\+(2B|3D)/g : /\+([0-9A-F]{2})/g)

/** RFC 6533 §3: `\x{F6}` in utf-8-addr-xtext. */
const decodeUnicode = (text: string): string =>
  text.replace(/\\x\{([0-9A-Fa-f]{1,6})\}/g, (all, code: string) => {
    const point = Number.parseInt(code, 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : all
  })

/** Cuts the type before a value, `rfc822;`, also where a gateway wrote it a second time. */
const withoutType = (value: string): string =>
  value.replace(/^(?:[\w.-]{1,40}\s{0,9};\s{0,9}){1,4}/, '').trim()

/** `rfc822; <user@example.com>` → the address, or the bare word when it is none (`local; kijitora`). */
export const addressOf = (value: string | undefined): string | null => {
  if (value === undefined) return null
  const bare = withoutType(value).replace(/^smtp:/i, '')
  const plain = decodeUnicode(decodeXtext(bare))
  const whole = /^<?([^\s<>@]{1,128}@[^\s<>@,;]{1,255})>?$/.exec(plain)?.[1]
  if (whole !== undefined) return whole
  const found = findAddresses(plain)[0]
  if (found !== undefined) return found.address
  return withoutComments(plain).replace(/[<>]/g, '').trim() || null
}

/** `dns; mx.example.com (192.0.2.1)` → `mx.example.com`. */
export const hostOf = (value: string | undefined): string | null => {
  const bare = withoutComments(withoutType(value ?? ''))
  return bare.split(/\s/)[0] || null
}

/** `smtp; 550 5.1.1 text` → the text, with the type cut. */
export const diagnosticOf = (value: string | undefined): string | null =>
  value === undefined ? null : withoutType(value) || null

/** `5.1.1 (bad mailbox)` → `5.1.1`. */
export const statusOf = (value: string | undefined): string | null =>
  /(?<![\d.])([245]\.\d\.\d{1,3})(?!\.?\d)/.exec(value ?? '')?.[1] ?? null

/** `5.2.1 (mailbox disabled)` → `mailbox disabled`, the only reason some systems give. */
export const commentOf = (value: string | undefined): string | null =>
  /\(([^()]{3,400})\)/.exec(value ?? '')?.[1]?.trim() ?? null

/** First word of Action without comments; null when it is none of RFC 3464's. */
export const actionOf = (value: string | undefined): Action | null => {
  const word = /^[a-z]+/.exec(withoutComments(value ?? '').toLowerCase())?.[0] ?? ''
  const found = ACTIONS.find((action) => action === word)
  if (found !== undefined) return found
  if (/^(?:fail|undeliver|expire|reject|bounce|error)/.test(word)) return 'failed'
  return /^(?:delay|defer|warning)/.test(word) ? 'delayed' : null
}
