/**
 * NAME      query - what somebody looks for among mails: as a text, as a value, and whether a mail is that
 *   One form for the text that is searched and for what is searched for: letters without case, accents and vowel points,
 *   words parted by anything that is no letter or number. Scripts that write no blanks (Chinese, Japanese, Thai and the
 *   like) have no words that we could know: there every part of a run is found.
 *   It is the one judge, whatever index found the mail: an index may offer too many and never too few. A reader who may
 *   not see subjects does not find by them either.
 *   `name:value` or `name=value`: no name has either sign (draft tags are checked for that), so the first one ends it.
 *   In the text of a search field terms stand side by side, and all must hold: `name:value`, or a value alone; `-` or NOT
 *   before one negates it, and double quotes keep blanks and colons together. OR joins the terms beside it and binds
 *   closer than blanks do: `a b OR c` is a, and b or c. There are no brackets. What is not understood is refused, a name
 *   that is none with the nearest one that is, so that no typing mistake finds everything.
 */
import { domainOf, parseAddress, wireAddress } from './address.js'
import { STATUSES, type Status } from './status.js'

/** The fields that a text names, as `name:value`. */
const NAMED_FIELDS = [
  'to',
  'from',
  'subject',
  'tag',
  'status',
  'reason',
  'domain',
  'pool',
  'key',
  'message-id',
  'is',
  'has',
  'id',
] as const
/** `text` has no name: words of the subject, an address or its start, a domain, a Message-ID. */
type Field = 'text' | (typeof NAMED_FIELDS)[number]

export interface Term {
  readonly field: Field
  readonly value: string
  readonly negated: boolean
  /** Its last word may go on: it was written last, without quotes. */
  readonly open: boolean
}

export const termText = ({ field, value }: Term): string => `${field}:${value}`

export interface Query {
  /** All of them hold. */
  readonly terms: readonly Term[]
  /** Of each of these at least one holds, too. Orders that were stored before there was OR have none. */
  readonly either?: readonly (readonly Term[])[]
  /** Created at this time or later, epoch milliseconds. */
  readonly from: number | null
  /** Created before this time. */
  readonly before: number | null
}

/** What must hold, each a choice of terms. */
export const clausesOf = ({ terms, either = [] }: Query): readonly (readonly Term[])[] => [
  ...terms.map((term) => [term]),
  ...either,
]

export const termsIn = (query: Query): readonly Term[] => clausesOf(query).flat()

/** What of a mail a query asks about. */
export interface Sought {
  readonly id: string
  readonly subject: string
  /** As in the header, with or without a name. */
  readonly from: string
  readonly messageId: string
  readonly tags: readonly { readonly name: string; readonly value: string }[]
  readonly mode: 'live' | 'test'
  readonly status: Status
  readonly poolId: string
  readonly poolName: string
  readonly isResent: boolean
  /** Whether the key or credential that submitted it is called so. */
  readonly isOfKey: (named: string) => boolean
  readonly hasAttachment: boolean
  /** A recipient has reported it as abuse. */
  readonly isComplained: boolean
  readonly recipients: readonly {
    /** In lower case, the domain in A-labels. */
    readonly address: string
    readonly reason: string | null
    readonly isHeld: boolean
    readonly isDeferred: boolean
  }[]
}

const OF_RECIPIENTS: readonly Field[] = ['text', 'to', 'domain', 'reason', 'is']

/** False where it can be judged without knowing the recipients. */
export const needsRecipients = (query: Query): boolean =>
  termsIn(query).some(({ field }) => OF_RECIPIENTS.includes(field))

/** False where it can be judged without knowing who complained. */
export const needsComplaints = (query: Query): boolean =>
  termsIn(query).some(({ field, value }) => field === 'is' && value === 'complained')

/** Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic; vowel signs of Indic scripts stay, they are letters. */
const POINTS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const UNPARTED =
  '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー'
const RUN = new RegExp(`[${UNPARTED}]`, 'u')
const RUNS = new RegExp(`[${UNPARTED}]+|[^${UNPARTED}]+`, 'gu')
const PLAIN = /^[\x00-\x7f]*$/

/** Of a text, no more words are known than these; no honest subject has more. */
const MOST = 64

export const fold = (text: string): string =>
  PLAIN.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFKD')
        .replace(POINTS, '')
        .toLowerCase()
        .normalize('NFC')
        .replaceAll('ß', 'ss')
        .replaceAll('ς', 'σ')

export const wordsOf = (text: string): readonly string[] => (fold(text).match(WORD) ?? []).slice(0, MOST)

/** True where some of it is written without blanks between words. */
export const hasRuns = (word: string): boolean => !PLAIN.test(word) && RUN.test(word)

/** A word as an index has it: itself, or of a run each sign and each two signs that follow one another. */
export const piecesOf = (word: string): readonly string[] => {
  if (!hasRuns(word)) return [word]
  return (word.match(RUNS) ?? []).flatMap((part) => {
    if (!RUN.test(part)) return [part]
    const signs = [...part]
    return signs.flatMap((sign, i) => (i + 1 < signs.length ? [sign, `${sign}${signs[i + 1]}`] : [sign]))
  })
}

/** What must be in an index where this word is; the fewest pieces that say all. */
export const soughtOf = (word: string): readonly string[] => {
  if (!hasRuns(word)) return [word]
  return (word.match(RUNS) ?? []).flatMap((part, i, all) => {
    const signs = [...part]
    // at the edges of a run in letters, a word of the text may go on: 第3回 in 第32回 is none, abc注 in xabc注 may be
    if (!RUN.test(part)) return i > 0 && i + 1 < all.length ? [part] : []
    return signs.length === 1 ? signs : signs.slice(1).map((sign, n) => `${signs[n]}${sign}`)
  })
}

/** Words that follow one another, with a blank before each and after the last. */
const lineOf = (words: readonly string[]): string => ` ${words.join(' ')} `

/** Of addresses, starts shorter than this are not looked for. */
const SHORTEST_START = 3

/** As recipients are stored: lower case, the domain in A-labels. */
export const sortedAddress = (value: string): string =>
  value.includes('@') ? wireAddress(value).toLowerCase() : value.toLowerCase()

/** The domain that a value is, in A-labels; null for an address, or its start. */
export const domainSought = (value: string): string | null => {
  const name = value.startsWith('@') ? value.slice(1) : value
  return name.includes('@') ? null : domainOf(`a@${name}`)
}

/** The address of a From field. */
export const senderOf = (from: string): string => sortedAddress(parseAddress(from)?.address ?? from)

const hasWords = (subject: string, { value, open }: Term): boolean => {
  const words = wordsOf(value)
  if (words.length === 0) return false
  const line = lineOf(wordsOf(subject))
  const sought = lineOf(words)
  if (words.some(hasRuns)) return line.includes(sought.trim())
  if (line.includes(sought)) return true
  return open && (words.at(-1)?.length ?? 0) >= SHORTEST_START && line.includes(sought.slice(0, -1))
}

const startsAddress = (address: string, value: string): boolean =>
  value.length >= SHORTEST_START && address.startsWith(value)

const isMailbox = (address: string, value: string): boolean =>
  startsAddress(address, sortedAddress(value)) || domainOf(address) === domainSought(value)

const hasTag = ({ tags }: Sought, value: string): boolean => {
  const sought = fold(value)
  return tags.some((tag) => fold(tag.name) === sought || fold(`${tag.name}:${tag.value}`) === sought)
}

const isState = (mail: Sought, value: string): boolean => {
  switch (value) {
    case 'held':
      return mail.recipients.some(({ isHeld }) => isHeld)
    case 'deferred':
      return mail.recipients.some(({ isDeferred }) => isDeferred)
    case 'complained':
      return mail.isComplained
    case 'resent':
      return mail.isResent
    default:
      return mail.mode === value
  }
}

const holds = (term: Term, mail: Sought, subjects: boolean): boolean => {
  const { field, value } = term
  switch (field) {
    case 'text':
      return (
        (subjects && hasWords(mail.subject, term)) ||
        mail.recipients.some(({ address }) => isMailbox(address, value)) ||
        mail.messageId === `<${value}>`
      )
    case 'subject':
      return subjects && hasWords(mail.subject, term)
    case 'to':
      return mail.recipients.some(({ address }) => isMailbox(address, value))
    case 'from':
      return isMailbox(senderOf(mail.from), value)
    case 'domain':
      return mail.recipients.some(({ address }) => domainOf(address) === domainSought(value))
    case 'reason':
      return mail.recipients.some(({ reason }) => reason === value.toLowerCase())
    case 'tag':
      return hasTag(mail, value)
    case 'status':
      return mail.status === value
    case 'pool':
      return mail.poolId === value || mail.poolName === value
    case 'key':
      return mail.isOfKey(value)
    case 'message-id':
      return mail.messageId === value
    case 'id':
      return mail.id === value
    case 'is':
      return isState(mail, value)
    case 'has':
      return mail.hasAttachment
  }
}

/** Whether all terms hold. The times of the query are the caller's to compare. */
export const matches = (query: Query, mail: Sought, subjects: boolean): boolean =>
  clausesOf(query).every((clause) => clause.some((term) => holds(term, mail, subjects) !== term.negated))

interface WrittenTag {
  readonly name: string
  /** null where only a name was written. */
  readonly value: string | null
}

export const readTag = (text: string): WrittenTag => {
  const at = text.search(/[:=]/)
  return at === -1 ? { name: text, value: null } : { name: text.slice(0, at), value: text.slice(at + 1) }
}

/** As it is shown, and searched for. */
export const tagText = ({ name, value }: WrittenTag): string => (value === null ? name : `${name}:${value}`)

const MOST_TERMS = 16
const MOST_CHARACTERS = 256

export interface QueryMistake {
  readonly message: string
  readonly kind: 'length' | 'too_many' | 'unsupported' | 'format'
}

type Parsed = { readonly query: Query } | { readonly mistake: QueryMistake }

interface QueryTimes {
  /** The first moment of a day such as 2026-11-20, where the caller is; null when there is no such day. */
  readonly day: (text: string) => number | null
  /** A point in time with its zone. */
  readonly time: (text: string) => number | null
}

const NAMES = [...NAMED_FIELDS, 'before', 'after'] as const
/** Other words that people write for a name. */
const SAME: Readonly<Record<string, (typeof NAMES)[number]>> = {
  recipient: 'to',
  rcpt: 'to',
  sender: 'from',
  messageid: 'message-id',
  message_id: 'message-id',
  since: 'after',
  until: 'before',
}
const IS = ['held', 'deferred', 'complained', 'resent', 'test', 'live']
const HAS = ['attachment']
const ID = /^em_[0-9a-z]{26}$/
const DAY = /^\d{4}-\d\d-\d\d$/

/** One term as it was written: minus, name with its colon, value in quotes or bare. */
const TERM = /(-?)(?:([A-Za-z][A-Za-z_-]*):)?(?:"([^"]*)("?)|(\S*))/y

interface Written {
  readonly negated: boolean
  readonly name: string | null
  readonly value: string
  readonly isQuoted: boolean
  readonly isLast: boolean
}

class Mistake extends Error {
  constructor(readonly mistake: QueryMistake) {
    super(mistake.message)
  }
}
const refuse = (kind: QueryMistake['kind'], message: string): never => {
  throw new Mistake({ kind, message })
}

const split = (text: string): readonly Written[] => {
  const found: Written[] = []
  let at = 0
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at++
    if (at >= text.length) return found
    TERM.lastIndex = at
    const [whole, minus, name, quoted, end, bare] = TERM.exec(text) as RegExpExecArray
    if (quoted !== undefined && end !== '"') refuse('format', 'must close its quotes')
    at += whole.length
    found.push({
      negated: minus === '-',
      name: name?.toLowerCase() ?? null,
      value: quoted ?? bare ?? '',
      isQuoted: quoted !== undefined,
      isLast: at >= text.length,
    })
  }
}

/** How many letters must change to make one of the other. */
const distance = (a: string, b: string): number => {
  let row = [...b].map((_, i) => i + 1)
  for (const [i, letter] of [...a].entries()) {
    const next: number[] = []
    for (const [j, other] of [...b].entries()) {
      const above = j === 0 ? i : (row[j - 1] ?? 0)
      next.push(Math.min((next[j - 1] ?? i + 1) + 1, (row[j] ?? 0) + 1, above + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? a.length
}

const nearest = (word: string, words: readonly string[]): string =>
  [...words].sort((a, b) => distance(word, a) - distance(word, b))[0] ?? ''

const oneOf = (name: string, value: string, words: readonly string[]): string => {
  if (words.includes(value)) return value
  return refuse(
    'unsupported',
    `has no ${name}:${value}; did you mean ${name}:${nearest(value, words)}? There are ${words.join(', ')}`,
  )
}

const fieldOf = (name: string, value: string): Field | 'before' | 'after' => {
  const known = SAME[name] ?? NAMES.find((one) => one === name)
  if (known !== undefined) return known
  return refuse(
    'unsupported',
    `has no ${name}:; did you mean ${nearest(name, NAMES)}:? To look for the text itself, write "${name}:${value}" in quotes`,
  )
}

/** In capitals and without quotes these join terms; otherwise they are words. */
const OPERATORS = ['OR', 'AND', 'NOT']
const isOperator = ({ name, value, isQuoted, negated }: Written): boolean =>
  name === null && !isQuoted && !negated && OPERATORS.includes(value)

/** `(to:`, `!status:`: a term that we know, behind something that we do not. */
const BEFORE_NAME = /^([(!]+)([A-Za-z][A-Za-z_-]*):/
const isName = (word = ''): boolean => [...NAMES, ...Object.keys(SAME)].includes(word.toLowerCase())

/** A bracket that would part terms; `(a)` alone is text. */
const hasBracket = ({ name, value, isQuoted, negated }: Written, isJoined: boolean): boolean =>
  !isQuoted &&
  (name === null
    ? (value.startsWith('(') && (isJoined || negated || isName(BEFORE_NAME.exec(value)?.[2]))) ||
      (isJoined && value.endsWith(')'))
    : value.startsWith('('))

/** What others write for our operators. */
const OTHERS: Readonly<Record<string, string>> = { '&&': 'a blank', '||': 'OR' }
const refuseOthers = ({ name, value, isQuoted }: Written): void => {
  if (isQuoted || name !== null) return
  const instead = OTHERS[value]
  if (instead !== undefined) refuse('unsupported', `has no ${value}; write ${instead}, or ${inQuotes(value)}`)
  const [, mark = '', word] = BEFORE_NAME.exec(value) ?? []
  if (mark.startsWith('!') && isName(word))
    refuse('unsupported', `has no !; write -${value.slice(mark.length)}`)
}

const inQuotes = (word: string): string => `to look for the word itself, write "${word}" in quotes`

/** The terms, those that OR joins side by side. */
const joined = (written: readonly Written[]): readonly (readonly Written[])[] => {
  const isJoined = written.some(isOperator)
  const clauses: Written[][] = []
  /** What still waits for the term behind it. */
  let join: string | null = null
  let isNegated = false
  for (const one of written) {
    refuseOthers(one)
    if (hasBracket(one, isJoined)) refuse('unsupported', `has no brackets, such as in ${one.value}`)
    if (isOperator(one)) {
      const misses = one.value !== 'NOT' && (clauses.length === 0 || join !== null || isNegated)
      if (misses) refuse('format', `must have a term before ${one.value}; ${inQuotes(one.value)}`)
      if (one.value === 'NOT') isNegated = !isNegated
      else join = one.value
      continue
    }
    const term = { ...one, negated: one.negated !== isNegated }
    if (join === 'OR') clauses.at(-1)?.push(term)
    else clauses.push([term])
    join = null
    isNegated = false
  }
  const open = isNegated ? 'NOT' : join
  if (open !== null) refuse('format', `must have a term after ${open}; ${inQuotes(open)}`)
  return clauses
}

const termOf = ({ negated, name, value, isQuoted, isLast }: Written): Term | Written => {
  // what only looks like a name: a time of day, a URL
  const isText = name === null || value.startsWith('//')
  const text = isText && name !== null ? `${name}:${value}` : value
  const open = isLast && !isQuoted
  if (isText) {
    const field = ID.test(text) ? 'id' : text.startsWith('<') && text.endsWith('>') ? 'message-id' : 'text'
    return { field, value: text, negated, open }
  }
  const field = fieldOf(name ?? '', value)
  if (value === '') refuse('format', `must say something after ${name}:`)
  const lower = value.toLowerCase()
  switch (field) {
    case 'before':
    case 'after':
      return { negated, name: field, value, isQuoted, isLast }
    case 'status':
      return { field, value: oneOf('status', lower, STATUSES), negated, open }
    case 'is':
      return { field, value: oneOf('is', lower, IS), negated, open }
    case 'has':
      return { field, value: oneOf('has', lower.replace(/s$/, ''), HAS), negated, open }
    case 'message-id':
      return { field, value: `<${value.replace(/^<|>$/g, '')}>`, negated, open }
    case 'tag':
      return { field, value: tagText(readTag(value)), negated, open }
    default:
      return { field, value, negated, open }
  }
}

const timeOf = (name: string, value: string, { day, time }: QueryTimes): number =>
  (DAY.test(value) ? day(value) : time(value)) ??
  refuse('format', `must have a day (2026-11-20) or a time with its zone after ${name}:`)

const read = (text: string, times: QueryTimes): Query => {
  if ([...text].length > MOST_CHARACTERS) refuse('length', `must have at most ${MOST_CHARACTERS} characters`)
  const written = split(text).filter(({ name, value }) => name !== null || value !== '')
  if (written.length > MOST_TERMS) refuse('too_many', `must have at most ${MOST_TERMS} terms`)
  const terms: Term[] = []
  const either: Term[][] = []
  let from: number | null = null
  let before: number | null = null
  for (const clause of joined(written)) {
    const read = clause.map(termOf)
    const [term] = read
    if (term === undefined) continue
    if (read.length > 1) {
      either.push(
        read.map((one) => ('field' in one ? one : refuse('unsupported', `has no OR beside ${one.name}:`))),
      )
      continue
    }
    if ('field' in term) {
      terms.push(term)
      continue
    }
    const at = timeOf(term.name ?? '', term.value, times)
    // not before a time is from it on
    if ((term.name === 'after') !== term.negated) from = Math.max(from ?? at, at)
    else before = Math.min(before ?? at, at)
  }
  return { terms, ...(either.length > 0 && { either }), from, before }
}

export const parseQuery = (text: string, times: QueryTimes): Parsed => {
  try {
    return { query: read(text, times) }
  } catch (error) {
    if (error instanceof Mistake) return { mistake: error.mistake }
    throw error
  }
}
