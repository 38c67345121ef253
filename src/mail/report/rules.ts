/**
 * NAME      rules - the table that tells hard from soft
 * DESCRIPTION
 *   Three tables, asked in this order; in each the first rule that holds
 *   decides.
 *     STRONG  words that name a cause. What says that the sender, the message
 *             or the network was refused stands above what says that the
 *             recipient is unknown, because servers put "user unknown" codes
 *             (550, 5.1.1, 5.7.1) on all of them.
 *     CODED   enhanced codes, where no words named a cause.
 *     WEAK    words that tell little more than a refusal.
 *   A site puts its own rules before all three.
 */
import type { Rule } from './category.js'
import * as words from './words.js'

export const STRONG: readonly Rule[] = [
  // Japanese mobile carriers say "unknown user" to everybody whom their customer filters out.
  {
    category: 'recipient_rejected',
    remote: /\.(?:docomo|ezweb|softbank|vodafone)\.ne\.jp$/i,
    text: /unknown user|user unknown/,
    unless: /5\.1\.1/,
  },
  // An account of ours that the server closed, after it let us sign in (RFC 5248).
  { category: 'sender_rejected', enhanced: ['5.7.13'] },
  { category: 'virus', text: words.VIRUS, unless: /antivirus|anti-virus/ },
  { category: 'authentication', text: words.BAD_AUTH },
  { category: 'sender_rejected', text: words.BAD_SENDER },
  { category: 'reputation', text: words.BLOCKED },
  { category: 'rate_limited', text: words.RATE },
  { category: 'mailbox_full', text: words.FULL },
  { category: 'relay_denied', text: words.RELAY },
  { category: 'loop', text: words.LOOP },
  { category: 'too_big', text: words.BIG },
  { category: 'spam', text: words.SPAM },
  // A name that cannot be looked up now is not a name that does not exist.
  { category: 'network', text: words.NAME_TROUBLE, enhanced: ['4.4.'] },
  { category: 'network', text: words.NAME_TROUBLE, also: words.BAD_NAME },
  { category: 'network', text: words.GONE_DOMAIN, enhanced: ['4.'] },
  { category: 'unknown_domain', text: words.GONE_DOMAIN, unless: words.ABOUT_US },
  { category: 'unknown_domain', enhanced: ['5.4.4'], unless: words.NOT_REACHED },
  { category: 'recipient_rejected', text: words.OPEN_TO_OTHERS },
  { category: 'system', text: words.ON_ITS_WAY },
  // The recipient. "Not allowed" may stand beside "unknown"; a code settles it.
  { category: 'unknown_user', text: words.UNKNOWN, enhanced: ['5.1.1', '5.1.10'] },
  // These codes are about the sender, whatever address the words call invalid (RFC 3463, 3.2).
  { category: 'sender_rejected', text: words.UNKNOWN, enhanced: ['5.1.7', '5.1.8'] },
  // AsyncOS, where its list of recipients has no such one.
  { category: 'unknown_user', text: /(?:^|#5\.1\.0 )address rejected\b/, enhanced: ['5.1.0'] },
  // Exchange Online says this, and only this, where no mailbox has the name.
  {
    category: 'unknown_user',
    text: /(?<!all )recipient address rejected: access denied/,
    enhanced: ['5.4.1'],
  },
  { category: 'moved', text: words.MOVED },
  { category: 'disabled', text: words.DISABLED, unless: words.NOT_FOR_GOOD },
  { category: 'disabled', text: words.DISABLED_ABROAD, unless: words.NOT_OF_MAILBOX },
  { category: 'suspended', text: words.SUSPENDED },
  { category: 'recipient_rejected', text: words.RESTRICTED },
  { category: 'unknown_user', text: words.UNKNOWN },
  { category: 'recipient_rejected', text: words.BARE_REJECTION, enhanced: ['5.7.', '4.', '5.2.0'] },
  { category: 'unknown_user', text: words.BARE_REJECTION },
  // qmail and Haraka give up at once, too.
  { category: 'expired', text: words.EXPIRED, unless: /permanent error; i've given up/ },
  { category: 'network', text: words.NETWORK },
]

export const CODED: readonly Rule[] = [
  { category: 'unknown_user', enhanced: ['5.1.1', '5.1.3', '5.1.10', '5.2.1'], unless: words.NOT_DEAD },
  { category: 'unknown_domain', enhanced: ['5.1.2', '5.4.4'], unless: words.NOT_DEAD },
  { category: 'moved', enhanced: ['5.1.6'], unless: words.NOT_DEAD },
  { category: 'mailbox_full', enhanced: ['5.2.2', '4.2.2'] },
  { category: 'too_big', enhanced: ['5.2.3', '5.3.4'] },
  { category: 'sender_rejected', enhanced: ['5.1.7', '5.1.8', '4.1.8'] },
  { category: 'loop', enhanced: ['5.4.6', '5.4.14'] },
  { category: 'expired', enhanced: ['4.4.7', '5.4.7'] },
  { category: 'authentication', enhanced: ['5.7.20', '5.7.23', '5.7.24', '5.7.26', '5.7.509', '5.7.515'] },
  { category: 'reputation', enhanced: ['5.7.25', '5.7.27', '5.7.606', '5.7.511', '5.7.708'] },
  { category: 'content', enhanced: ['5.6.'] },
  { category: 'network', enhanced: ['4.4.', '5.4.'] },
]

export const WEAK: readonly Rule[] = [
  { category: 'security', text: words.SECURE },
  { category: 'protocol', text: words.PROTOCOL },
  { category: 'system', text: words.SYSTEM },
  { category: 'policy', text: words.BY_POLICY },
  { category: 'content', text: words.CONTENT },
  { category: 'policy', enhanced: ['5.7.', '4.7.'] },
  { category: 'policy', text: words.POLICY },
  { category: 'system', enhanced: ['4.3.', '5.3.', '4.2.'] },
  { category: 'protocol', enhanced: ['5.5.'] },
  { category: 'too_big', code: [552] },
]
