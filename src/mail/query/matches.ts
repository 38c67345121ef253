/**
 * NAME      matches - whether a mail is what a query looks for
 * DESCRIPTION
 *   The one judge, whatever index found the mail: an index may offer too many and
 *   never too few. Who may not see subjects does not find by them either.
 */
import { domainOf, parseAddress, wireAddress } from '../address.js'
import { clausesOf, type Query, type Sought, type Term } from './query.js'
import { fold, hasRuns, lineOf, wordsOf } from './words.js'

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
