/**
 * NAME      said - what a server said, without what names one mail
 * DESCRIPTION
 *   Two refusals with one text have one cause. So addresses, codes, digits and ids are cut, and what
 *   is left is compared, and shown to people.
 */
import { normalizeAddress } from '../mail/address.js'

const LONGEST = 200
const LINK = /\bhttps?:\/\/\S+/gi
const BRACKETED = /<[^<>]*>|\([^()]*@[^()]*\)/g
/** A server's name of one word for a mail or for itself: `[alpha]`, `(xkjqwzpt)`. */
const TAGGED = /\[[^\s[\]]*\]|\([^\s()]*\)/g
/** An address, a number, a code, a name of a host, an id; `ref=…`. */
const OF_ONE_MAIL = /\S*(?:[\d@=]|[\p{L}\d]\.[\p{L}\d])\S*/gu
/** Such as `sYtTPuXEQzwK`: capitals in the middle of a long word. */
const MIXED = /\b(?=\w*[a-z])\w+[A-Z]\w{6,}\b/g
const NO_WORD = /[^\p{L}\s]+/gu

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The text in lower case, its words alone; '' when nothing of it is left. */
export const saidAlike = (text: string, address: string): string => {
  const normal = normalizeAddress(address)
  const local = normal.slice(0, normal.lastIndexOf('@'))
  const own = new RegExp(`(?<![\\p{L}\\d])${escaped(local)}(?![\\p{L}\\d])`, 'giu')
  return text
    .slice(0, 2_000)
    .replace(LINK, ' ')
    .replace(BRACKETED, ' ')
    .replace(TAGGED, ' ')
    .replace(OF_ONE_MAIL, ' ')
    .replace(MIXED, ' ')
    .replace(own, ' ')
    .replace(NO_WORD, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .slice(0, LONGEST)
    .replace(/\p{Surrogate}$/u, '')
}
