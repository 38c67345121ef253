/**
 * NAME      category - the reasons a recipient can be refused for, and what others call such a bounce
 *   Some twenty reasons, each with its severity and whose fault it is, and the form of a rule that recognises one.
 *   `hard` means that the address or domain is dead, and only faults of the recipient are ever hard.
 *   The names of Amazon SES (bounceType, bounceSubType) and of Postmark (Type) beside our categories, for those whose
 *   code reads these. They tell less than ours: SES knows no blocked sender, and Postmark calls most of what is not a
 *   dead address `SoftBounce`.
 */
export type Severity = 'hard' | 'soft'
export type Fault = 'recipient' | 'sender' | 'infrastructure' | 'content'

const row = (severity: Severity, fault: Fault, title: string) => ({ severity, fault, title }) as const

export const CATEGORIES = {
  unknown_user: row('hard', 'recipient', 'No such mailbox'),
  unknown_domain: row('hard', 'recipient', 'No such domain'),
  moved: row('hard', 'recipient', 'The mailbox has moved away'),
  disabled: row('hard', 'recipient', 'The mailbox was closed'),
  suspended: row('soft', 'recipient', 'The mailbox is locked or inactive for now'),
  mailbox_full: row('soft', 'recipient', 'Mailbox full'),
  recipient_rejected: row('soft', 'recipient', 'The recipient does not take this mail'),
  authentication: row('soft', 'sender', 'SPF, DKIM or DMARC failed'),
  reputation: row('soft', 'sender', 'Our sending address or host is blocked'),
  rate_limited: row('soft', 'sender', 'Too much mail in too short a time'),
  relay_denied: row('soft', 'sender', 'The server does not relay for us'),
  sender_rejected: row('soft', 'sender', 'The sender address is refused'),
  policy: row('soft', 'sender', 'Refused by a rule'),
  spam: row('soft', 'content', 'Taken for spam'),
  virus: row('soft', 'content', 'Taken for a virus'),
  too_big: row('soft', 'content', 'The message is too big'),
  content: row('soft', 'content', 'Its content or format is refused'),
  expired: row('soft', 'infrastructure', 'Not delivered in time'),
  network: row('soft', 'infrastructure', 'Not reached'),
  loop: row('soft', 'infrastructure', 'A mail loop'),
  system: row('soft', 'infrastructure', 'Busy or in trouble'),
  protocol: row('soft', 'infrastructure', 'The two servers did not understand each other'),
  security: row('soft', 'infrastructure', 'TLS or authentication is missing'),
  unknown: row('soft', 'infrastructure', 'No reason that we know'),
} as const
export type Category = keyof typeof CATEGORIES

/** What a row of a list says of it; null where that is no category. */
export const categoryTitle = (reason: string): string | null =>
  Object.hasOwn(CATEGORIES, reason) ? CATEGORIES[reason as Category].title : null

/** One line of the table. All that is given must hold; the first rule that holds decides. */
export interface CategoryRule {
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
  /** Tested against the name of the server that refused. */
  readonly remote?: RegExp
}

export interface Verdict {
  readonly class: Severity
  readonly category: Category
  readonly fault: Fault
}

interface BounceTypes {
  readonly ses: { readonly type: string; readonly sub_type: string }
  readonly postmark: string
}

const transient = (postmark: string, subType = 'General'): BounceTypes => ({
  ses: { type: 'Transient', sub_type: subType },
  postmark,
})
const permanent = (postmark: string, subType = 'General'): BounceTypes => ({
  ses: { type: 'Permanent', sub_type: subType },
  postmark,
})

const UNDETERMINED: BounceTypes = {
  ses: { type: 'Undetermined', sub_type: 'Undetermined' },
  postmark: 'Unknown',
}

const TYPES: Readonly<Record<Category | 'lifetime' | 'suppressed', BounceTypes>> = {
  unknown_user: permanent('HardBounce', 'NoEmail'),
  unknown_domain: permanent('HardBounce'),
  moved: permanent('AddressChange'),
  disabled: permanent('HardBounce'),
  suppressed: permanent('ManuallyDeactivated', 'Suppressed'),
  suspended: transient('SoftBounce'),
  mailbox_full: transient('SoftBounce', 'MailboxFull'),
  recipient_rejected: transient('SoftBounce'),
  authentication: transient('DMARCPolicy'),
  reputation: transient('Blocked'),
  rate_limited: transient('Transient'),
  relay_denied: transient('Blocked'),
  sender_rejected: transient('Blocked'),
  policy: transient('Blocked'),
  spam: transient('SpamNotification', 'ContentRejected'),
  virus: transient('VirusNotification', 'AttachmentRejected'),
  too_big: transient('SoftBounce', 'MessageTooLarge'),
  content: transient('Blocked', 'ContentRejected'),
  expired: transient('Transient'),
  lifetime: transient('Transient'),
  network: transient('Transient'),
  loop: transient('SoftBounce'),
  system: transient('Transient'),
  protocol: transient('SoftBounce'),
  security: transient('SoftBounce'),
  unknown: UNDETERMINED,
}

const isKnown = (reason: string): reason is keyof typeof TYPES => Object.hasOwn(TYPES, reason)

/** By the `reason` of an event. */
export const bounceTypesOf = (reason: string | null): BounceTypes =>
  reason !== null && isKnown(reason) ? TYPES[reason] : UNDETERMINED
