/**
 * NAME      query - what somebody looks for among mails, as a value, and whether a mail is that
 * DESCRIPTION
 *   One form for the text that is searched and for what is searched for: letters without case, accents and
 *   vowel points, words parted by anything that is no letter or number. Scripts that write no blanks
 *   (Chinese, Japanese, Thai and the like) have no words that we could know: there every part of a run is
 *   found.
 *   The one judge, whatever index found the mail: an index may offer too many and never too few. Who may not
 *   see subjects does not find by them either.
 *   `name:value` or `name=value`: no name has either sign (draft tags are checked for that), so the first
 *   one ends it.
 */

import { domainOf, parseAddress, wireAddress } from './address.js'
import type { Status } from './status.js'

/** The fields that a text names, as `name:value`. */
export const NAMED_FIELDS = [
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
export type Field = 'text' | (typeof NAMED_FIELDS)[number]

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
