/**
 * NAME      rules - what a reply says about the pace
 * DESCRIPTION
 *   A table, read from the top; the first line whose code, enhanced code and text
 *   all fit decides. It is asked only for 4xx replies to MAIL, RCPT, DATA and the
 *   final dot, and speaks about the recipient's domain in that pool, never about
 *   the mail, which is retried as its own reply says.
 *     nothing   the reply is about one mailbox or one mail: the pace stays
 *     fewer     halve the number of messages at once
 *     pause     send nothing for a while, then begin again with one at a time
 *   A pause lasts as long as the text asks ("try again in 300 seconds"), else
 *   `seconds`, doubled for each pause in a row. Each message that is taken makes
 *   room for more: both slow down by themselves and speed up by themselves.
 */
import type { Reply } from '../../mail/reply.js'

export interface PaceRule {
  readonly name: string
  readonly codes: RegExp | null
  readonly enhanced: RegExp | null
  readonly text: RegExp | null
  readonly does: 'nothing' | 'fewer' | 'pause'
  /** Of a pause whose text names no time. */
  readonly seconds: number
}

const rule = (
  name: string,
  does: PaceRule['does'],
  when: { codes?: RegExp; enhanced?: RegExp; text?: RegExp },
  seconds = 0,
): PaceRule => ({
  name,
  does,
  seconds,
  codes: when.codes ?? null,
  enhanced: when.enhanced ?? null,
  text: when.text ?? null,
})

export const PACE_RULES: readonly PaceRule[] = [
  // about one mailbox or one pair of addresses
  rule('greylisting', 'nothing', {
    text: /gr[ae]y[- ]?list|postgrey|first (?:time|seen)|unknown sender.*delay/i,
  }),
  rule('mailbox', 'nothing', { enhanced: /^4\.[12]\./ }),
  rule('mailbox-text', 'nothing', {
    text: /mailbox.*(?:full|busy|locked|unavailable)|(?:over|exceeded).{0,12}quota|out of storage/i,
  }),
  // too many at once
  rule('connections', 'fewer', {
    text: /too many (?:concurrent|simultaneous|open|smtp)?\s*(?:connections|sessions)|max(?:imum)?\s.{0,20}connections|concurren(?:t|cy)/i,
  }),
  rule('recipients', 'fewer', { text: /too many recipients/i }),
  // too much in a time
  rule(
    'rate',
    'pause',
    {
      text: /rate[- ]?limit|throttl|too (?:fast|quick)|slow(?:ing)? down|too (?:many|much) (?:messages|mails?|e-?mails?|requests|traffic)|(?:sending|message|mail) rate|unexpected volume|excessive|limit (?:has been )?exceeded|exceeded.{0,30}(?:rate|limit|allowed)/i,
    },
    60,
  ),
  rule(
    'reputation',
    'pause',
    {
      text: /user complaints|reputation|temporarily (?:blocked|deferred|rejected)|\bTSS?\d\d\b|unusual(?:ly)?\b/i,
    },
    300,
  ),
  // the host has enough to do
  rule('load', 'fewer', {
    text: /load (?:is )?too high|(?:system|server|service).{0,30}(?:busy|overload|unavailable|resources)|insufficient.{0,20}resources|try again later.{0,20}busy/i,
  }),
  rule(
    'named-time',
    'pause',
    {
      text: /(?:try|retry|wait|come back|again).{0,40}\d+\s*(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i,
    },
    60,
  ),
  // by number alone
  rule('closing', 'pause', { codes: /^421$/, enhanced: /^4\.7\./ }, 60),
  rule('system', 'fewer', { enhanced: /^4\.(?:3\.2|4\.5)$/ }),
  rule('shutting', 'fewer', { codes: /^421$/ }),
]

/** The line that fits a reply, or null. */
export const paceOf = (reply: Reply, rules: readonly PaceRule[] = PACE_RULES): PaceRule | null => {
  if (reply.code < 400 || reply.code >= 500) return null
  const fits = (pattern: RegExp | null, text: string) => pattern === null || pattern.test(text)
  return (
    rules.find(
      ({ codes, enhanced, text }) =>
        fits(codes, String(reply.code)) && fits(enhanced, reply.enhanced ?? '') && fits(text, reply.text),
    ) ?? null
  )
}
