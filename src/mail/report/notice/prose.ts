/**
 * NAME      prose - which addresses a notice is about
 * DESCRIPTION
 *   Not one grammar per MTA but the few forms that they share. Every address in
 *   the notice is given the strength of the form it stands in, and only the
 *   strongest form present counts:
 *     listed       a line that is, or begins with, the address
 *     named        "could not be delivered to <a@b>", "Unknown user: a@b"
 *     transcribed  ">>> RCPT TO:<a@b>", "550 <a@b>... User unknown"
 *     headed       "To: a@b" in the notice's own summary of the message
 *   Addresses of helpers and senders ("please contact", "sent by") never count.
 */
import { type FoundAddress, findAddresses, sameAddress, uniqueBy } from '../addresses.js'
import type { Notice } from './notice.js'

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
export const linesAbout = (notice: Notice, address: string): string => {
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
export const mentionsIn = (notice: Notice, ours: readonly string[]): Mention[] => {
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
export const namesIn = (notice: Notice, domain: string): string[] => {
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
export const onlyOne = (notice: Notice, ours: readonly string[]): string | null => {
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
