/**
 * NAME      classify - why a recipient was refused: the table that tells hard from soft, and a site's own lines for it
 *     From a basic code, an enhanced code and a text to one of some twenty
 *     categories, each with its severity and whose fault it is. `hard` means that
 *     this address or domain is dead; everything else is `soft`. A false hard
 *     silences a living address, so the table in rules.ts looks for every other
 *     explanation first, and what nothing explains is soft.
 *     Addresses are cut before the text is read: `spam@` is not a reason. A link is
 *     cut, too, but for a block list that it names. What is said of the connection,
 *     the sender or a rule is cut before the words for a dead address are looked for.
 *   NOTES
 *     The surest text decides, and only this one and those before it may cast doubt:
 *     the prose around a plain `550 5.1.1 User unknown` is politeness. Where it has a code of its own
 *     that says anything but death (5.7.x), no further text makes the address dead: an MTA may
 *     write "User unknown" under every 550. A reply of class 4 is never of a dead address.
 *   Three tables, asked in this order; in each the first rule that holds
 *   decides.
 *     STRONG  words that name a cause. What says that the sender, the message
 *             or the network was refused stands above what says that the
 *             recipient is unknown, because servers put "user unknown" codes
 *             (550, 5.1.1, 5.7.1) on all of them.
 *     CODED   enhanced codes, where no words named a cause.
 *     WEAK    words that tell little more than a refusal.
 *   A site puts its own rules before all three.
 *   Turns plain data, as it stands in a configuration file, into rules:
 *     { category: policy, enhanced: [5.7.], code: [554], text: 'no thanks', unless: … }
 *   Patterns are case-insensitive regular expressions, tested as in rules.ts.
 *   A rule needs at least one condition; a mistake is said with its place.
 */

import { type Codes, codesIn, isVague } from '../reply.js'
import {
  CATEGORIES,
  type Category,
  type CategoryRule,
  type Fault,
  type Severity,
  type Verdict,
} from './category.js'
import * as words from './words.js'
import { BY_POLICY, COMPOUND, COURTESY, FOR_NOW, OF_OTHERS, OUR_SIDE } from './words.js'

const STRONG: readonly CategoryRule[] = [
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

const CODED: readonly CategoryRule[] = [
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

const WEAK: readonly CategoryRule[] = [
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

export { CATEGORIES, type Category, type CategoryRule, type Fault, type Severity, type Verdict }

/** A code, and the server that gave it, as far as known. */
interface Refusal extends Codes {
  readonly remote?: string | null
}

interface Reason extends Refusal {
  readonly text: string
}

const MAX_TEXT = 2_000
/** AsyncOS puts its own guess before the server's words: `5.1.0 - Unknown address error 550-'…'`. */
const GUESS = /\b\d\.\d\.\d - [A-Za-z ]{3,60}(?=\d{3}[ -]')/g
/** Google's links name the reason, and the text around them is sometimes empty. */
const GOOGLE_REASON = /https?:\/\/support\.google\.com\/mail\/\?p=(\w{1,40})/g
/** What a server is called is not what it says. */
const HOST = /\bhost \S{1,255}(?= said:)/g
/** The step at which it was said, in Postfix and in Exim. What is said after MAIL FROM is of the sender, and stays. */
const STEP =
  /\(in reply to (?!mail)[\w ]{1,20} command\)|\bfrom remote mail server after (?:pipelined )?(?!mail|pipelined)[a-z ]{1,20}(?::?<[^>\n]{0,255}>)?(?=:)/gi
const LINK = /\b(?:https?:\/\/|www\.)\S+/g
/** Who is sent to one of these is on a list, whatever the words and the code beside it say. */
const LIST_LINK =
  /spamhaus|spamcop|sorbs\.|barracudacentral|barracudanetworks\.com\/reputation|ipcheck\.proofpoint|dnsbl|\brbl|[./]rbl|senderbase|senderscore|talosintelligence|csi\.cloudmark|abuseat|uceprotect|spamrats|mailspike|invaluement|surbl|uribl|trustedsource|abusix|ipremoval|sender\.office\.com|blacklist|blocklist|block-list|delist/i

/** `link:` stays, since a reason may stand behind it that nobody has read; Google's own names none but a wrong address. */
const readLink = (link: string): string =>
  LIST_LINK.test(link) ? ' link: blocklist ' : link.includes('//support.google.com/mail/') ? ' ' : ' link: '

const without = (text: string, patterns: readonly RegExp[]): string =>
  patterns.reduce((rest, pattern) => rest.replace(pattern, ' ~ '), text)

const readyText = (text: string): string =>
  without(
    text
      .slice(0, MAX_TEXT)
      .replace(GUESS, ' ')
      .replace(GOOGLE_REASON, ' google:$1 ')
      .replace(LINK, readLink)
      .replace(HOST, ' ')
      .replace(STEP, ' ')
      .replace(/[^\s<>@"':;,=()[\]]{1,128}@[^\s<>@"',;:()]{1,255}/g, ' ')
      .replace(/\s+/g, ' ')
      .toLowerCase(),
    COURTESY,
  )

/** A text, and what of it may speak of the address. */
interface Said {
  readonly all: string
  readonly ofAddress: string
}

const SILENT: Said = { all: '', ofAddress: '' }
/** What the code alone tells. */
const BY_CODE = [...CODED, ...WEAK]

const saidIn = (text: string): Said => {
  const all = readyText(text)
  return { all, ofAddress: without(without(all, COMPOUND), OF_OTHERS) }
}

const coded = (enhanced: string | null, wanted: readonly string[]): boolean =>
  enhanced !== null && wanted.some((one) => (one.endsWith('.') ? enhanced.startsWith(one) : enhanced === one))

const holds = (rule: CategoryRule, codes: Refusal, said: Said): boolean => {
  const text = CATEGORIES[rule.category].severity === 'hard' ? said.ofAddress : said.all
  return (
    (rule.enhanced === undefined || coded(codes.enhanced, rule.enhanced)) &&
    (rule.code === undefined || (codes.code !== null && rule.code.includes(codes.code))) &&
    (rule.text === undefined || rule.text.test(text)) &&
    (rule.also === undefined || rule.also.test(text)) &&
    (rule.unless === undefined || !rule.unless.test(said.all)) &&
    (rule.remote === undefined || rule.remote.test(codes.remote ?? ''))
  )
}

/** What a reply says that is for now only. */
const isForNow = ({ code, enhanced }: Codes): boolean =>
  enhanced?.startsWith('4.') === true || (code !== null && code >= 400 && code < 500)

/** What a reply of class 4 is instead. */
const forNow = (category: Category): Category =>
  category === 'unknown_domain' ? 'network' : category === 'disabled' ? 'suspended' : 'system'

/** Codes that can be of a dead address, with or without words (RFC 3463, 3.2). */
const OF_DEAD = /^5\.(?:1\.(?:0|1|2|3|6|10)|2\.[01]|3\.0|4\.[014]|5\.0)$/

/** Codes that name another cause: sender, quota, size, system, loop, content, authentication. No words beside one make an address dead. */
const OF_ELSE = /^5\.(?:1\.[78]|2\.[2-4]|3\.[2-5]|4\.(?:3|[5-7]|14)|5\.[2-6]|6\.\d+|7\.(?!(?:0|1|17)$)\d+)$/

/** Replies to a wrong command, to a wrong order of commands or to a sign-in: whatever they name, it is no recipient. */
const OF_US = new Set([500, 502, 503, 504, 530, 534, 535, 538, 555])

/** The first text that a rule holds for, and those before it, which may doubt it. */
const decide = (
  rules: readonly CategoryRule[],
  codes: Refusal,
  texts: readonly Said[],
): { readonly category: Category; readonly heard: readonly Said[] } | undefined => {
  for (const [at, said] of texts.entries()) {
    const rule = rules.find((one) => holds(one, codes, said))
    if (rule !== undefined) return { category: rule.category, heard: texts.slice(0, at + 1) }
  }
  return undefined
}

/** A false hard silences a living address: what also speaks of us, of policy or of trouble for now is soft. */
const doubted = (category: Category, codes: Refusal, texts: readonly Said[]): Category => {
  if (CATEGORIES[category].severity !== 'hard') return category
  if (isForNow(codes)) return forNow(category)
  if (codes.code !== null && OF_US.has(codes.code)) return 'protocol'
  const says = (pattern: RegExp): boolean => texts.some(({ all }) => pattern.test(all))
  if (says(FOR_NOW)) return 'system'
  if (says(OUR_SIDE)) return 'sender_rejected'
  if (category === 'unknown_domain' && codes.enhanced?.startsWith('5.7.') === true) return 'sender_rejected'
  // a list that does not take mail from us (RFC 3463, 3.8)
  if (codes.enhanced === '5.7.2') return 'recipient_rejected'
  if (OF_ELSE.test(codes.enhanced ?? '')) return decide(BY_CODE, codes, [SILENT])?.category ?? 'policy'
  return category !== 'moved' && says(BY_POLICY) ? 'policy' : category
}

/**
 * Judges by several texts, the surest first: the server's reply, the lines about
 * this recipient. `around` is asked for a named cause only when all else is silent.
 */
export const judge = (
  codes: Refusal,
  texts: readonly string[],
  around = '',
  extra: readonly CategoryRule[] = [],
): Verdict => {
  const said = texts.map(saidIn)
  const at = Math.max(
    0,
    said.findIndex(({ all }) => all.trim() !== ''),
  )
  const surest = said[at] ?? SILENT
  const itsCode = texts.length > 1 ? codesIn(texts[at] ?? '').enhanced : null
  const mayBeDead = itsCode === null || isVague(itsCode) || OF_DEAD.test(itsCode)
  // A rule for a code alone would decide at an empty text, before the words that doubt it are read.
  const heard = said.slice(at).map((one, i) => (i > 0 && !mayBeDead ? { ...one, ofAddress: '' } : one))
  const site = decide(
    extra,
    codes,
    said.map(({ all }) => ({ all, ofAddress: all })),
  )
  const found =
    decide(STRONG, codes, heard) ??
    decide(CODED, codes, [surest]) ??
    decide(WEAK, codes, heard) ??
    (around === '' || !mayBeDead ? undefined : decide(STRONG, codes, [saidIn(around)]))
  const category = site?.category ?? (found && doubted(found.category, codes, found.heard)) ?? 'unknown'
  const { severity, fault } = CATEGORIES[category]
  return { class: severity, category, fault }
}

/** Judges one reply. Extra rules come first, so a site can correct the table. */
export const classify = (reason: Reason, extra: readonly CategoryRule[] = []): Verdict =>
  judge(reason, [reason.text], '', extra)

/** Whether a failure means that we must not write to this address again. */
export const suppresses = (failed: {
  readonly action: string | null
  readonly class: Severity | null
  readonly fault: Fault | null
}): boolean => failed.action === 'failed' && failed.class === 'hard' && failed.fault === 'recipient'

interface PlainRule {
  readonly category: string
  readonly enhanced?: readonly string[] | undefined
  readonly code?: readonly number[] | undefined
  readonly text?: string | undefined
  readonly unless?: string | undefined
}

const isCategory = (name: string): name is Category => Object.hasOwn(CATEGORIES, name)

const pattern = (source: string, place: string): RegExp => {
  try {
    return new RegExp(source, 'i')
  } catch {
    throw new TypeError(`${place}: not a regular expression: ${source}`)
  }
}

/** Throws for a rule that makes no sense, with its number. */
export const readRules = (plain: readonly PlainRule[]): CategoryRule[] =>
  plain.map(({ category, enhanced, code, text, unless }, at) => {
    const place = `bounce rule ${at + 1}`
    if (!isCategory(category)) throw new TypeError(`${place}: no category is named ${category}`)
    if (enhanced === undefined && code === undefined && text === undefined)
      throw new TypeError(`${place}: give enhanced, code or text`)
    return {
      category,
      ...(enhanced === undefined ? {} : { enhanced }),
      ...(code === undefined ? {} : { code }),
      ...(text === undefined ? {} : { text: pattern(text, `${place}, text`) }),
      ...(unless === undefined ? {} : { unless: pattern(unless, `${place}, unless`) }),
    }
  })
