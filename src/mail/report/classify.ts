/**
 * NAME      classify - why a recipient was refused
 * DESCRIPTION
 *   From a basic code, an enhanced code and a text to one of some twenty
 *   categories, each with its severity and whose fault it is. `hard` means that
 *   this address or domain is dead; everything else is `soft`. A false hard
 *   silences a living address, so the table in rules.ts looks for every other
 *   explanation first, and what nothing explains is soft.
 *   Addresses and web links are cut before the text is read: `spam@` in an
 *   address is not a reason.
 */
import { RULES } from './rules.js'

export type Severity = 'hard' | 'soft'
export type Fault = 'recipient' | 'sender' | 'infrastructure' | 'content'

const row = (severity: Severity, fault: Fault, title: string) => ({ severity, fault, title }) as const

export const CATEGORIES = {
  unknown_user: row('hard', 'recipient', 'No mailbox of that name'),
  unknown_domain: row('hard', 'recipient', 'The domain does not exist or takes no mail'),
  moved: row('hard', 'recipient', 'The mailbox has moved away'),
  disabled: row('hard', 'recipient', 'The mailbox was closed'),
  suspended: row('soft', 'recipient', 'The mailbox is locked or inactive for now'),
  mailbox_full: row('soft', 'recipient', 'The mailbox is full'),
  recipient_rejected: row('soft', 'recipient', 'The recipient, or a list, does not take this mail'),
  authentication: row('soft', 'sender', 'SPF, DKIM or DMARC did not pass'),
  reputation: row('soft', 'sender', 'The sending address or host is blocked'),
  rate_limited: row('soft', 'sender', 'Too much mail in too short a time'),
  relay_denied: row('soft', 'sender', 'The server does not relay for us'),
  sender_rejected: row('soft', 'sender', 'The sender address is refused'),
  policy: row('soft', 'sender', 'Refused by a rule of the recipient server'),
  spam: row('soft', 'content', 'Taken for spam'),
  virus: row('soft', 'content', 'Taken for a virus'),
  too_big: row('soft', 'content', 'The message is too big'),
  content: row('soft', 'content', 'The content or its format is refused'),
  expired: row('soft', 'infrastructure', 'Not delivered in time'),
  network: row('soft', 'infrastructure', 'The server could not be reached, or the name not be looked up'),
  loop: row('soft', 'infrastructure', 'A mail loop'),
  system: row('soft', 'infrastructure', 'The server is in trouble'),
  protocol: row('soft', 'infrastructure', 'The two servers did not understand each other'),
  security: row('soft', 'infrastructure', 'No TLS or authentication as required'),
  unknown: row('soft', 'infrastructure', 'No reason that we know'),
} as const
export type Category = keyof typeof CATEGORIES

export interface Reason {
  readonly code: number | null
  readonly enhanced: string | null
  readonly text: string
}

/** One line of the table. All that is given must hold; the first rule that holds decides. */
export interface Rule {
  readonly category: Category
  /** Full codes `5.1.1`, or beginnings that end in a dot: `5.7.`. */
  readonly enhanced?: readonly string[]
  readonly code?: readonly number[]
  /** Tested against the text in lower case, on one line, without addresses and links. */
  readonly text?: RegExp
  /** A second pattern that must match too. */
  readonly also?: RegExp
  /** Tested likewise; the rule holds only where it does not match. */
  readonly unless?: RegExp
}

export interface Verdict {
  readonly class: Severity
  readonly category: Category
  readonly fault: Fault
}

const MAX_TEXT = 2_000
/** AsyncOS puts its own guess before the server's words: `5.1.0 - Unknown address error 550-'…'`. */
const GUESS = /\b\d\.\d\.\d - [A-Za-z ]{3,60}(?=\d{3}[ -]')/g
/** Google's links name the reason, and the text around them is sometimes empty. */
const GOOGLE_REASON = /https?:\/\/support\.google\.com\/mail\/\?p=(\w{1,40})/g

export const readyText = (text: string): string =>
  text
    .slice(0, MAX_TEXT)
    .replace(GUESS, ' ')
    .replace(GOOGLE_REASON, ' google:$1 ')
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/[^\s<>@"']{1,128}@[^\s<>@"',;]{1,255}/g, ' ')
    .replace(/\s+/g, ' ')
    .toLowerCase()

const coded = (enhanced: string | null, wanted: readonly string[]): boolean =>
  enhanced !== null && wanted.some((one) => (one.endsWith('.') ? enhanced.startsWith(one) : enhanced === one))

const holds = (rule: Rule, reason: Reason, text: string): boolean =>
  (rule.enhanced === undefined || coded(reason.enhanced, rule.enhanced)) &&
  (rule.code === undefined || (reason.code !== null && rule.code.includes(reason.code))) &&
  (rule.text === undefined || rule.text.test(text)) &&
  (rule.also === undefined || rule.also.test(text)) &&
  (rule.unless === undefined || !rule.unless.test(text))

/** Extra rules come first, so a site can correct the table. */
export const classify = (reason: Reason, extra: readonly Rule[] = []): Verdict => {
  const text = readyText(reason.text)
  const rule = extra.find((one) => holds(one, reason, text)) ?? RULES.find((one) => holds(one, reason, text))
  const category = rule?.category ?? 'unknown'
  const { severity, fault } = CATEGORIES[category]
  return { class: severity, category, fault }
}

/** Whether a failure means that we must not write to this address again. */
export const suppresses = (failed: {
  readonly action: string | null
  readonly class: Severity | null
  readonly fault: Fault | null
}): boolean => failed.action === 'failed' && failed.class === 'hard' && failed.fault === 'recipient'
