/**
 * NAME      bounce-type - what others call a bounce
 * DESCRIPTION
 *   The names of Amazon SES (bounceType, bounceSubType) and of Postmark (Type) beside our
 *   categories, for those whose code reads these. They tell less than ours: SES knows no
 *   blocked sender, and Postmark calls most of what is not a dead address `SoftBounce`.
 */
import type { Category } from '../report/category.js'

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
