/**
 * NAME      notice - what a notice in words for people says, and about whom
 *   Joins the readable top-level parts and cuts off whatever is a copy of the original, so that no grammar
 *   reads the returned mail as if the MTA had written it. Lines quoted with `>` are dropped (people quote;
 *   MTAs do not), but `>>>` and `<<<` of a transcript stay.
 *   Not one grammar per MTA but the few forms that they share. Every address in
 *   the notice is given the strength of the form it stands in, and only the
 *   strongest form present counts:
 *     listed       a line that is, or begins with, the address
 *     named        "could not be delivered to <a@b>", "Unknown user: a@b"
 *     transcribed  ">>> RCPT TO:<a@b>", "550 <a@b>... User unknown"
 *     headed       "To: a@b" in the notice's own summary of the message
 *   Addresses of helpers and senders ("please contact", "sent by") never count.
 *   Text grammars are for notices of MTAs only; a person who quotes or forwards a bounce must not be taken
 *   for one. So evidence is added up from the header and the opening words. No single sign decides:
 *   Auto-Submitted stands on some bounces and on every vacation notice, and people answer with `<>`.
 *   The words of a mail, found once: its notice, the addresses that it mentions, and whether it tells of a
 *   failure, a delay or a success. The words about one recipient complete the vague fields of a status part.
 */
import {
  type FoundAddress,
  findAddresses,
  type Headers,
  header,
  isReturned,
  type Mail,
  readableOf,
  readHeaders,
  sameAddress,
  uniqueBy,
  words,
} from './mime.js'
import {
  ANSWERED_SUBJECT,
  AUTOREPLY_SUBJECT,
  BOUNCE_SUBJECT,
  DELAY,
  DELAY_SUBJECT,
  ENTRY,
  FAILURE,
  FINAL_REPLY,
  FORWARDED_SUBJECT,
  GAVE_UP,
  LIST_HEADING,
  MYSELF,
  OPENING,
  ORIGINAL_BELOW,
  OTHER_SUBJECT,
  PERSONAL,
  REASON,
  ROBOT,
  RULER,
  SUCCESS,
  TO_OWNER,
  WARNING_ONLY,
  YOUR_MAIL,
} from './phrases.js'
import type { Action } from './report.js'

const MAX_CHARS = 64_000
const MAX_LINES = 800
const MAX_LINE = 1_000

export interface BounceNotice {
  readonly lines: readonly string[]
  /** The same in lower case, to look addresses up in. */
  readonly lower: readonly string[]
  /** The lines as one text. */
  readonly text: string
  /** The text on one line, for phrases that may be wrapped anywhere. */
  readonly flat: string
  /** What was cut off a single-part notice: the returned message, or its header. */
  readonly returned: string
}

const HEADERISH = /^(?:[A-Za-z][A-Za-z0-9-]{0,60}:|[ \t])/
const HEADER_START =
  /^>?(?:Received|Return-Path|DKIM-Signature|X-Google-[\w-]+|X-Received|Delivered-To|X-Originating-IP|X-Apparently-To|Message-ID|Mime-Version|X-Envelope-From)[ \t]*:/i

/** A mail header begins here: a telling field with another one under it. */
const startsHeader = (lines: readonly string[], at: number): boolean => {
  if (!HEADER_START.test(lines[at] ?? '')) return false
  const next = lines[at + 1] ?? ''
  return next === '' ? false : HEADERISH.test(next)
}

const cutAt = (lines: readonly string[]): number => {
  let named = false
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    // A heading may read like such a marker ("Returned mail"), but above it nobody is named yet.
    if (named && line.length < 200 && ORIGINAL_BELOW.test(line.replace(RULER, ''))) return at
    if (startsHeader(lines, at)) return at
    named ||= line.includes('@')
  }
  return lines.length
}

const quoted = (line: string): boolean =>
  /^\s*>(?!>>|[>\s]{0,20}(?:[45]\d\d|rcpt to:|[^\s@]{1,100}@))/i.test(line)

/** What Sendmail makes of any 550, under the words of the server that said it. */
const OWN_GUESS = /^(550 )5\.1\.1 (.{1,500}\.\.\.) User unknown$/
/** What a server says to DATA when nobody is left: it tells nothing more of whom. */
const NOBODY_LEFT = /^(<<< )50[0-5][ -].{0,80}\b(?:recipients?|rcpt)\b.*/i

/** The far server's words stand, and the guess goes. */
const withoutGuesses = (lines: readonly string[]): string[] =>
  lines.map((line, at) =>
    lines[at - 1]?.startsWith('<<<') ? line.replace(OWN_GUESS, '$1$2') : line.replace(NOBODY_LEFT, '$1'),
  )

const split = (text: string): string[] =>
  text
    .slice(0, MAX_CHARS)
    .split('\n', MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE).trimEnd())

/** The human text before the first returned part; attachments after it are copies too. */
const readable = (mail: Mail): string => {
  const texts: string[] = []
  for (const part of mail.parts) {
    if (isReturned(part, mail.headers)) break
    const text = readableOf(part)
    if (text.trim() !== '') texts.push(text)
  }
  return texts.join('\n\n')
}

const noticeOfText = (text: string): BounceNotice => {
  const lines = split(text)
  const cut = cutAt(lines)
  const kept = withoutGuesses(lines.slice(0, cut).filter((line) => !quoted(line)))
  return {
    lines: kept,
    lower: kept.map((line) => line.toLowerCase()),
    text: kept.join('\n'),
    flat: kept.join(' ').replace(/\s+/g, ' '),
    returned: lines.slice(cut).join('\n'),
  }
}

export const noticeOf = (mail: Mail): BounceNotice => noticeOfText(readable(mail))

export interface Mention {
  readonly address: string
  /** The lines that belong to this address: its own and those up to the next. */
  readonly text: string
}

const FORMS = ['listed', 'named', 'transcribed', 'headed'] as const
type Form = (typeof FORMS)[number] | 'none'

interface Sight {
  readonly address: string
  readonly form: Form
  /** Said to be a sender's or a helper's. */
  readonly denied: boolean
  readonly line: number
  readonly indent: number
}

const WRAP = /[\s<>"'`()[\]*•·\-–—|（）「」『』【】：，。]/
const NOT_THEIRS =
  /(?:contact|write to|e-?mail(?:ing)?(?: us)?(?: at)?|assistance|helpdesk|questions?|fragen|reply to|administrator|support|visit|report (?:this )?to|forward[^@]{0,30} to|complain\w*|notify|please (?:send|reply|call|use|e-?mail)[^@]{0,60}|sent by|(?:^|\W)(?:from|by|sender|reply-to|return-path|envelope-from)\b[^@\w]{0,6}(?:address)?|mail from:?|generated from|expanded from|original address|on behalf of|message-?id|references|in-reply-to|queue-?id|\bid)\s*[:?]?\s*[<"'(]*$/i
const LABEL =
  /(?:undeliver\w*|deliver(?:ed|ing|y|ies)?|delevery|send|sent|reach(?:ed)?|return\w*|unknown|invalid|unable|cannot|couldn't|fail\w*|errors?|reject\w*|bounce\w*|wrong|exceeds|quota|full|mailbox|addressed to|recipients?|rcpt|addresse?e?s?|users?|accounts?|gateway|postponed|delayed|unrouteable|no such|concerning|destinat\w*|empf\S{0,3}nger|adresse|an|for|to)\b[^@]{0,60}$/i
/** Labels of scripts without word boundaries. */
const LABEL_ABROAD = /(?:地址|收件人|收信人|宛先|宛て|受信者|アドレス|адрес|получател)[^@]{0,20}$/i
const VERDICT =
  /^[>"')\]\s:,.]*(?:is|was|has|had|does|did|could|can|cannot|couldn't|doesn't|isn't|not|no longer|unknown|mailbox|exceed|refus|reject|fail|bounce|over quota|invalid)\b/i
const HEADED = /^\s*(?:to|cc|original-rcpt-to|recipient|sent to|an|à|para|宛先)\s*:/i
const REPLY = /^\s*(?:<<<\s*)?[245]\d\d[ -]/
/** Whom to write to instead, and how addresses look here: advice, not a report. */
const ADVICE =
  /\b(?:if|in case|should you|such as|e\.g\.|for example|for instance|try|use|using|instead(?: of)?|written as|wenn|falls|statt|beispielsweise|benutzen sie|verwenden sie|si vous|par exemple|plutôt|si (?:usted|el)|por ejemplo|ad esempio|usare)\b[^:]{0,120}$/i
/** Exim's alias, where it does not show what became of it: on the line under one without an address. */
const GENERATED = /^\s+\(?generated (?:from|by) <?$/i
/** Header fields that name whoever wrote. */
const FIELD_OF_OTHERS = /^[\s>]*(?:from|sender|reply-to|return-path|x-sender|original sender)\s*:/i
const LEADS_TO_OTHERS = /(?:sent by|from|contact|sender(?: was)?|on behalf of)\s*:?\s*$/i

const bare = (text: string): boolean => {
  for (const char of text) if (!WRAP.test(char)) return false
  return true
}

/** Text after an address that may follow when the line is an entry of a list. */
const entryTail = (after: string): boolean =>
  bare(after) ||
  /^[>"')\]]*\s*(?:[:;,]|\.\.\.|\.$|[([<]|on \w{3},|\t| {2,}|-|=|\|)/.test(after) ||
  VERDICT.test(after) ||
  /^[>"')\]]*\s+(?:invalid|error|user|unknown|no such|message|account|\d{3}\b)/i.test(after)

const isDenied = (before: string, previous: string): boolean =>
  NOT_THEIRS.test(before) ||
  FIELD_OF_OTHERS.test(before) ||
  (bare(before) && LEADS_TO_OTHERS.test(previous)) ||
  /^(?:\s*>>>)?\s*mail from/i.test(before)

/** The sentence so far that an address stands in; an entry of a list stands in none. */
const sentenceBefore = (before: string, after: string, above: string): string =>
  bare(before) && !/^\s+[a-z]/.test(after) ? '' : (`${above} ${before}`.split(/[.!?:;]\s+/).pop() ?? '')

const formOf = (line: string, found: FoundAddress, previous: string, above: string): Form => {
  const before = line.slice(0, found.start)
  const after = line.slice(found.end)
  if (GENERATED.test(before) && !previous.includes('@')) return 'listed'
  if (isDenied(before, previous) || ADVICE.test(sentenceBefore(before, after, above))) return 'none'
  if (/rcpt to:?\s*<?$/i.test(before)) return 'transcribed'
  if (REPLY.test(before)) return /^[>\s]*(?:\.\.\.|:|\()/.test(after) || bare(after) ? 'transcribed' : 'none'
  const lead = before.replace(/^[\s>]*(?:\d{1,3}[.)]|o\b)?\s*/, '')
  if (bare(lead) && entryTail(after)) return 'listed'
  // `name@host <name@host>`: the same address twice is an entry too.
  if (/^[\s<"']*\S{1,200}@\S{1,200}\s*<$/.test(lead) && bare(after)) return 'listed'
  if (HEADED.test(before)) return 'headed'
  const context = before.length < 40 ? `${previous} ${before}` : before
  return LABEL.test(context) || LABEL_ABROAD.test(before) || VERDICT.test(after) ? 'named' : 'none'
}

const MAX_SIGHTS = 300
/** Between two addresses of one enumeration. */
const AND = /^[>"')\]]*\s*(?:[,;]|and|or|und|et|y|e)[\s<"'(]*$/i

const sightsIn = (lines: readonly string[]): Sight[] => {
  const sights: Sight[] = []
  let previous = ''
  lines.forEach((line, at) => {
    if (sights.length < MAX_SIGHTS && line.includes('@')) {
      let before: { end: number; form: Form } | undefined
      for (const found of findAddresses(line)) {
        if (!/[.\]]/.test(found.address.slice(found.address.lastIndexOf('@')))) continue
        const alike = before !== undefined && AND.test(line.slice(before.end, found.start))
        const form =
          alike && before?.form === 'named' ? 'named' : formOf(line, found, previous, lines[at - 1] ?? '')
        before = { end: found.end, form }
        sights.push({
          address: found.address,
          form,
          denied: form === 'none' && isDenied(line.slice(0, found.start), previous),
          line: at,
          // an alias belongs to the entry that it stands under
          indent: (GENERATED.test(line.slice(0, found.start)) ? previous : line).search(/\S/),
        })
      }
    }
    if (line.trim() !== '') previous = line
  })
  return sights
}

/** A listed address deeper than the first one is a wrapped reason, not an entry. */
const level = (sights: readonly Sight[]): Sight[] => {
  const indent = sights[0]?.indent ?? 0
  return sights.filter((one) => one.indent <= indent + 1)
}

const pick = (sights: readonly Sight[]): { chosen: Sight[]; form: Form } => {
  for (const form of FORMS) {
    const chosen = sights.filter((one) => one.form === form)
    if (chosen.length > 0) return { chosen: form === 'listed' ? level(chosen) : chosen, form }
  }
  return { chosen: [], form: 'none' }
}

/** Whom to ask for help; a recipient only if nobody else is named in the same way. */
const HELPERS =
  /^(?:postmaster|mailer-daemon|abuse|support|help(?:desk)?|it|sysadmin|admin(?:istrator)?|hostmaster|webmaster|noc|info|service)@/i

const withoutHelpers = (sights: readonly Sight[]): readonly Sight[] => {
  const others = sights.filter((one) => !HELPERS.test(one.address))
  return others.length > 0 ? others : sights
}

const MAX_ABOUT = 16

/** Lines of a transcript that name an address, each with the one under it. */
const linesAbout = (notice: BounceNotice, address: string): string => {
  const wanted = address.toLowerCase()
  const kept: string[] = []
  for (let at = 0; at < notice.lines.length && kept.length < MAX_ABOUT; at++) {
    if (notice.lower[at]?.includes(wanted)) kept.push(notice.lines[at] ?? '', notice.lines[at + 1] ?? '')
  }
  return kept.join('\n')
}

const MAX_SEGMENT = 60

/** An entry among several ends at the first empty line after its own words; what follows is about all. */
const ownLines = (lines: readonly string[], entry: Sight): string[] => {
  const empty = lines.findIndex((line, at) => at > 0 && line.trim() === '')
  if (empty > 1 || (empty === 1 && !bare((lines[0] ?? '').replace(entry.address, ''))))
    return lines.slice(0, empty)
  return [...lines]
}

/** Entries that are nothing but addresses, one under the other, share the words under the last of them. */
const shared = (texts: readonly string[], entries: readonly Sight[]): string[] => {
  let words = ''
  const backward = texts.toReversed().map((text, at) => {
    const [first = '', ...more] = text.split('\n')
    const isBare = bare(first.replace(entries[texts.length - 1 - at]?.address ?? '', ''))
    const own = more.join('\n').trim()
    words = isBare ? own || words : ''
    return own === '' && words !== '' ? `${text}\n${words}` : text
  })
  return backward.toReversed()
}

/**
 * The addresses of a notice, each with its own lines. `ours` is the address the
 * report was sent to: the sender of the original, a recipient only if nobody
 * else is named.
 */
const mentionsIn = (notice: BounceNotice, ours: readonly string[]): Mention[] => {
  const all = sightsIn(notice.lines).filter((one) => one.form !== 'none')
  const others = all.filter((one) => !ours.some((own) => sameAddress(own, one.address)))
  const { chosen, form } = pick(others.length > 0 ? others : all)
  const entries = uniqueBy(withoutHelpers(chosen), (one) => one.address).slice(0, 100)
  const several = entries.some(({ line }) => line !== entries[0]?.line)
  const texts = entries.map((one) => {
    const below = entries.find(({ line }) => line > one.line)?.line
    const next = form === 'headed' || below === undefined ? notice.lines.length : below
    const end = Math.min(Math.max(next, one.line + 1), one.line + MAX_SEGMENT)
    const start = form === 'transcribed' ? Math.max(0, one.line - 1) : one.line
    const lines = notice.lines.slice(start, end)
    return (several ? ownLines(lines, one) : lines).join('\n')
  })
  const words = shared(texts, entries)
  return entries.map(({ address }, at) => ({ address, text: words[at] ?? '' }))
}

const LIST_AHEAD = /(?:following|recipients?|address(?:es)?|users?)\b[^@]{0,120}(?:@[\w.-]{1,80})?\s*:$/i
const NAME_ONLY = /^\s+<?([A-Za-z0-9][\w.+-]{1,63})>?(?:\s{2,}|\s*[(:]|\t|$)/

/** Old systems list mailboxes without a domain (AOL screen names): the reporter's own is meant. */
export const namesIn = (notice: BounceNotice, domain: string): string[] => {
  const head = notice.lines.findIndex((line) => LIST_AHEAD.test(line))
  if (head < 0 || domain === '') return []
  const names: string[] = []
  for (const line of notice.lines.slice(head + 1, head + 50)) {
    const name = NAME_ONLY.exec(line)?.[1]
    if (name !== undefined) names.push(`${name}@${domain}`)
    else if (line.trim() !== '' || names.length > 0) break
  }
  return names
}

/** Where no known form of words stands about it: the one address of the notice that is nobody else's. */
export const onlyOne = (notice: BounceNotice, ours: readonly string[]): string | null => {
  const sights = sightsIn(notice.lines).filter(
    ({ address, denied }) => !denied && !ours.some((own) => sameAddress(own, address)),
  )
  const [one, another] = uniqueBy(withoutHelpers(sights), ({ address }) => address)
  return one === undefined || another !== undefined || HELPERS.test(one.address) ? null : one.address
}

/** To: of the returned message, or of the summary that some notices put below their "Original message" line. */
export const headedIn = (text: string): string | null => {
  for (const line of text.split('\n', 200)) {
    if (!/^\s*to\s*:/i.test(line)) continue
    const [one, another] = uniqueBy(findAddresses(line), ({ address }) => address)
    return one === undefined || another !== undefined ? null : one.address
  }
  return null
}

const ENOUGH = 4

const nullSender = (headers: Headers): boolean => {
  const path = headers.get('return-path')?.[0]
  return path !== undefined && /^<?\s*(?:mailer-daemon.{0,200})?>?$/i.test(path)
}

export const isForwarded = (headers: Headers): boolean => FORWARDED_SUBJECT.test(words(headers, 'subject'))

export const isRobot = (headers: Headers): boolean => {
  const from = words(headers, 'from').trim()
  if (/^(?:.{0,60}<\s*@?>)?$/.test(from)) return headers.has('from')
  return ROBOT.test(from.replace(/@[^\s>]+/g, '@'))
}

/** Fields that only bounces have. */
const TELLING = [
  'x-ms-exchange-message-is-ndr',
  'x-mlserver',
  'x-mx-bounce',
  'x-bounced-address',
  'x-mailer-daemon-recipients',
]

/** Signs that only machines give; without one of them no words are enough. */
const marks = (headers: Headers): number => {
  let weight = 0
  if (isRobot(headers)) weight += /mailer[-_]?daemon/i.test(words(headers, 'from')) ? 3 : 2
  if (nullSender(headers)) weight += 1
  if (headers.has('x-failed-recipients')) weight += 2
  if (TELLING.some((name) => headers.has(name))) weight += 2
  if (
    /^multipart\/report\b(?!.{0,300}(?:disposition|feedback|tlsrpt))/i.test(header(headers, 'content-type'))
  )
    weight += 2
  if (/smtp32|m-filter/i.test(header(headers, 'x-mailer'))) weight += 2
  return weight
}

/** Written by a machine, going by the sender alone: enough to believe a status part. */
export const isMachine = (headers: Headers): boolean => isRobot(headers) || nullSender(headers)

/** A copy of our mail is enclosed, and not a bounce that a person passes on. */
const encloses = ({ headers, parts }: Mail): boolean => {
  const copy = parts.find((part) => isReturned(part, headers))
  return copy !== undefined && !isRobot(readHeaders(copy.body).headers)
}

/** The subject that our own mail had, if a copy shows it. */
const returnedSubject = ({ headers, parts }: Mail, { returned }: BounceNotice): string => {
  const copy = parts.find((part) => isReturned(part, headers))
  if (copy !== undefined) return words(readHeaders(copy.body).headers, 'subject')
  return /(?:^|\n)subject:[ \t]{0,9}([^\n]{3,400})/i.exec(returned.slice(0, 8_000))?.[1] ?? ''
}

/** What of a robot's subject is ours: it repeats it behind a colon, "Undeliverable: Password reset", or answers it. */
const ourSubject = (mail: Mail, notice: BounceNotice): string => {
  if (!isRobot(mail.headers)) return ''
  const subject = words(mail.headers, 'subject')
  const colon = /^[^:]{1,200}:\s/.exec(subject)?.[0]
  if (colon !== undefined && BOUNCE_SUBJECT.test(colon.trim().replace(/\s*:$/, '')))
    return subject.slice(colon.length)
  const ours = returnedSubject(mail, notice).trim()
  return ours.length > 2 ? ours : ''
}

/** Signed with the name that stands in From, or ending in a question: somebody shows a notice and wants to know. */
const isSigned = (headers: Headers, { lines }: BounceNotice): boolean => {
  const name = /^["'\s]*(\p{L}{3,40})(?=[^<]{0,60}<)/u.exec(words(headers, 'from'))?.[1]
  const last = lines.findLast((line) => line.trim() !== '')?.trim() ?? ''
  if (/[?？]$/.test(last)) return true
  return (
    name !== undefined &&
    last
      .replace(/[.!\s]+$/, '')
      .toLowerCase()
      .endsWith(name.toLowerCase())
  )
}

const MAX_STARK = 1_500

/**
 * Nothing but a notice, whoever signs and whatever it answers: it opens with the failure of your mail,
 * and the sentence ends in the address, on a line of its own.
 */
export const isStark = ({ lines, flat }: BounceNotice): boolean => {
  if (flat.length > MAX_STARK || !YOUR_MAIL.test(flat) || PERSONAL.test(flat) || MYSELF.test(flat))
    return false
  const said = lines.filter((line) => line.trim() !== '').slice(0, 5)
  const at = said.findIndex((line) => /^\s*<?[^\s<>@]{1,100}@[^\s<>@]{1,200}>?:?$/.test(line))
  const last = (said[at - 1] ?? '').split(/[.!?]\s/).pop() ?? ''
  return at > 0 && OPENING.test(said[0] ?? '') && OPENING.test(last)
}

/** How strongly header and words say that an MTA reports. */
export const isNotice = (mail: Mail, notice: BounceNotice): boolean => {
  const { headers } = mail
  const marked = marks(headers)
  const enclosed = encloses(mail)
  const signed = marked < 2 && isSigned(headers, notice)
  const stark = !signed && isStark(notice)
  const answers = stark && ANSWERED_SUBJECT.test(words(headers, 'subject'))
  if (isForwarded(headers) && !isRobot(headers) && !answers) return false
  const ours = ourSubject(mail, notice)
  if (OTHER_SUBJECT.test(words(headers, 'subject').replace(ours, ''))) return false
  const bare = !enclosed && notice.returned === '' && !headers.has('x-failed-recipients')
  // postmasters also write to those who own a mailbox here
  if (bare && TO_OWNER.test(notice.flat.slice(0, 4_000).replace(ours, ''))) return false
  // an empty return path is no proof: a person tells of a bounce in his own words, and has no copy of our mail to show
  if (marked < 2 && bare && PERSONAL.test(notice.flat.slice(0, 4_000))) return false
  // where nothing in the header tells, a reply for good beside words about your mail does
  const replied =
    !signed &&
    YOUR_MAIL.test(notice.flat) &&
    !PERSONAL.test(notice.flat) &&
    !MYSELF.test(notice.flat) &&
    (FINAL_REPLY.test(notice.text) || REASON.test(notice.flat))
  // a program's list speaks for itself in every language
  const entry = marked > 1 && ENTRY.test(notice.text) ? 1 : 0
  const first = notice.lines.find((line) => line.trim() !== '') ?? ''
  const subject = BOUNCE_SUBJECT.test(words(headers, 'subject')) ? 2 : 0
  const opening = OPENING.test(notice.flat.slice(0, 4_000)) ? 2 : 0
  return (
    marked +
      subject +
      opening +
      entry +
      (enclosed ? 1 : 0) +
      (stark ? 3 : 0) +
      (replied && OPENING.test(first) ? 1 : 0) >=
    (marked > 0 ? ENOUGH : ENOUGH + 1)
  )
}

const AUTO_FIELDS = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-autogenerated', 'x-apple-action']

/** An answer by its subject, whoever signs: a vacation notice of the postmaster is one too. */
export const isAway = (headers: Headers): boolean => {
  const subject = words(headers, 'subject')
  return AUTOREPLY_SUBJECT.test(subject) && !BOUNCE_SUBJECT.test(subject)
}

/** A vacation notice or another answer of a machine (RFC 3834); what is merely generated is not one. */
export const isAutoReply = (headers: Headers): boolean => {
  const submitted = header(headers, 'auto-submitted').toLowerCase()
  return (
    AUTOREPLY_SUBJECT.test(words(headers, 'subject')) ||
    /^auto-(?:replied|notified)/.test(submitted) ||
    (submitted.startsWith('auto-generated') && nullSender(headers)) ||
    (headers.has('x-auto-response-suppress') && nullSender(headers)) ||
    /auto[_-]?reply/i.test(header(headers, 'precedence')) ||
    AUTO_FIELDS.some((name) => headers.has(name))
  )
}

/** Whom the report was sent to: the sender of the original. Not a hint to whose mail it was. */
export const addressees = (headers: Headers): string[] =>
  ['to', 'delivered-to', 'x-original-to'].flatMap((name) =>
    findAddresses(words(headers, name)).map((found) => found.address),
  )

export interface SaidByNotice {
  readonly notice: BounceNotice
  readonly mentions: readonly Mention[]
  readonly action: Action
  /** False when the words tell of no failure and it is merely assumed. */
  readonly clear: boolean
}

interface About {
  /** The lines that are this recipient's own. */
  readonly own: string
  /** All that is said about this recipient. */
  readonly context: string
}

/**
 * A report cut short may have nothing but its words: good news must not be read as bad. What calls itself
 * a warning is one under any heading; but a subject alone does not outweigh a reply for good.
 */
const actionIn = ({ flat, text }: BounceNotice, subject: string): Action => {
  if (SUCCESS.test(flat) && !FAILURE.test(flat)) return 'delivered'
  const late = DELAY.test(flat) || (DELAY_SUBJECT.test(subject) && !FINAL_REPLY.test(text))
  // no words that we know, and every reply is for now: nobody has said that it is the end
  const failing = [flat, subject].some(
    (words) => FAILURE.test(words) || OPENING.test(words) || GAVE_UP.test(words),
  )
  if (!late && !failing && ENTRY.test(text) && !FINAL_REPLY.test(text) && !BOUNCE_SUBJECT.test(subject))
    return 'delayed'
  const told = WARNING_ONLY.test(flat) || /^warning\b/i.test(subject) ? flat.replace(LIST_HEADING, '') : flat
  return late && !GAVE_UP.test(told) ? 'delayed' : 'failed'
}

export const saidIn = (mail: Mail): SaidByNotice => {
  const notice = noticeOf(mail)
  // what our own mail was called tells nothing: "Undeliverable: Your order is delayed"
  const subject = words(mail.headers, 'subject').replace(returnedSubject(mail, notice).trim(), '')
  const action = actionIn(notice, subject)
  return {
    notice,
    mentions: mentionsIn(notice, addressees(mail.headers)),
    action,
    clear:
      action !== 'failed' || [notice.flat, subject].some((text) => FAILURE.test(text) || GAVE_UP.test(text)),
  }
}

/** The words about one address; all of them when the report knows only one. */
export const saidAbout = (said: SaidByNotice, address: string | null, alone: boolean): About => {
  const mention = said.mentions.find((one) => address !== null && sameAddress(one.address, address))
  const own = mention?.text ?? ''
  if (alone) return { own, context: own === '' ? said.notice.text : `${own}\n\n${said.notice.text}` }
  if (address === null) return { own, context: '' }
  return { own, context: `${own}\n\n${linesAbout(said.notice, address)}` }
}
