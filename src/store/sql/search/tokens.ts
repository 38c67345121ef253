/**
 * NAME      tokens - a mail as the index has it
 * DESCRIPTION
 *   Each token is a letter that says what it is of, and a word, an address or the
 *   start of one. The index knows no case, so no two letters differ in it only. Starts are cut at a few lengths only: a longer one is looked for
 *   by the longest cut within it, and the mail itself says whether it was meant.
 *   They are made of what never changes in a mail but its pool, so the same tokens
 *   are known again when they are to be deleted: a change here needs a step of the
 *   schema that empties the index.
 */
import { domainOf } from '../../../mail/address.js'
import { fold, piecesOf, senderOf, wordsOf } from '../../../mail/query.js'
import { readLists } from '../mails.js'

/** Anything that would part a token in two. */
const SEPARATORS = /[\x00-\x2a\x2c\x2f\x3b\x3c\x3e\x3f\x5b-\x5e\x60\x7b-\x7f]/g

const token = (kind: string, text: string): string => kind + text.replace(SEPARATORS, '_')

const WORD_CUTS = [3, 6]
const ADDRESS_CUTS = [3, 6, 10]
const SENDER_CUTS = [3]

/** Those starts of a text that are shorter than it. */
const startsOf = (kind: string, text: string, cuts: readonly number[]): readonly string[] =>
  cuts.filter((cut) => cut < text.length).map((cut) => token(kind, text.slice(0, cut)))

/** Where a text that starts like this is found: under its longest cut, or itself. */
const startSought = (
  whole: string,
  start: string,
  text: string,
  cuts: readonly number[],
): readonly string[] => {
  const cut = cuts.findLast((one) => one <= text.length)
  return [token(whole, text), ...(cut === undefined ? [] : [token(start, text.slice(0, cut))])]
}

export interface Facts {
  readonly sender: string
  readonly subject: string
  /** JSON of its lists. */
  readonly lists: string
  readonly submitted_by: string | null
  readonly addresses: readonly string[]
}

export const TOKENS = {
  word: (piece: string) => token('s', piece),
  wordStart: (word: string) => startSought('s', 't', word, WORD_CUTS),
  addressStart: (address: string) => startSought('a', 'b', address, ADDRESS_CUTS),
  address: (address: string) => token('a', address),
  domain: (domain: string) => token('d', domain),
  senderStart: (address: string) => startSought('f', 'e', address, SENDER_CUTS),
  senderDomain: (domain: string) => token('c', domain),
  tag: (text: string) => token('g', fold(text)),
  key: (id: string) => token('y', id),
  resent: 'x1',
  attachment: 'h1',
  test: 'm1',
  account: (id: string) => `k${id}`,
  workspace: (n: number) => `w${n}`,
  pool: (n: number) => `p${n}`,
} as const

/** What a mail is found by, but for whose it is. */
export const tokensOf = ({ sender, subject, addresses, ...row }: Facts): string => {
  const { tags, attachments, extras, submittedBy } = readLists(row)
  const tokens = new Set<string>()
  for (const word of wordsOf(subject)) {
    for (const piece of piecesOf(word)) tokens.add(TOKENS.word(piece))
    for (const start of startsOf('t', word, WORD_CUTS)) tokens.add(start)
  }
  for (const address of addresses) {
    tokens.add(TOKENS.address(address)).add(TOKENS.domain(domainOf(address)))
    for (const start of startsOf('b', address, ADDRESS_CUTS)) tokens.add(start)
  }
  const from = senderOf(sender)
  tokens.add(token('f', from)).add(TOKENS.senderDomain(domainOf(from)))
  for (const start of startsOf('e', from, SENDER_CUTS)) tokens.add(start)
  for (const { name, value } of tags) tokens.add(TOKENS.tag(name)).add(TOKENS.tag(`${name}:${value}`))
  if (attachments.length > 0) tokens.add(TOKENS.attachment)
  if (extras?.resent_from !== undefined) tokens.add(TOKENS.resent)
  if (submittedBy != null) tokens.add(TOKENS.key(submittedBy))
  return [...tokens].join(' ')
}

export interface Owner {
  readonly account: string
  readonly workspace: number
  readonly pool: number
  readonly test: number
}

/** Whose it is. */
export const ownerTokens = ({ account, workspace, pool, test }: Owner): string =>
  [
    TOKENS.account(account),
    TOKENS.workspace(workspace),
    TOKENS.pool(pool),
    ...(test === 1 ? [TOKENS.test] : []),
  ].join(' ')
