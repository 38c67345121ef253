/**
 * NAME      addresses - mail addresses in running text
 * DESCRIPTION
 *   Finds each `local@domain` in a line by walking outward from the `@`, so the
 *   cost is linear whatever the text. Quoted local parts and non-ASCII letters
 *   count (RFC 6531), but only of alphabets that put spaces between words: in
 *   Chinese or Japanese text nothing else would end the address. Wrappers such as <>, '' and `SMTP:` are not part of it.
 */
export interface FoundAddress {
  readonly address: string
  readonly start: number
  readonly end: number
}

const LOCAL = /[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\-\u00c0-\u052f]/
const DOMAIN = /[A-Za-z0-9.\-_\u00c0-\u052f]/
const MAX_LOCAL = 128
const MAX_DOMAIN = 255
const MAX_FOUND = 200

const localStart = (line: string, at: number): number => {
  if (line[at - 1] === '"') {
    const open = line.lastIndexOf('"', at - 2)
    return open >= 0 && at - open <= MAX_LOCAL ? open : at
  }
  let start = at
  while (start > 0 && at - start < MAX_LOCAL && LOCAL.test(line[start - 1] ?? '')) start--
  return start
}

const domainEnd = (line: string, at: number): number => {
  let end = at + 1
  if (line[end] === '[') {
    const close = line.indexOf(']', end)
    return close > 0 && close - end < 60 ? close + 1 : at + 1
  }
  while (end < line.length && end - at < MAX_DOMAIN && DOMAIN.test(line[end] ?? '')) end++
  while (end > at + 1 && /[.\-_]/.test(line[end - 1] ?? '')) end--
  return end
}

export const findAddresses = (line: string): FoundAddress[] => {
  const found: FoundAddress[] = []
  let done = 0
  for (let at = line.indexOf('@'); at >= 0 && found.length < MAX_FOUND; at = line.indexOf('@', at + 1)) {
    let start = Math.max(localStart(line, at), done)
    const end = domainEnd(line, at)
    const prefix = /^(?:smtp|rfc-?822|to|mailto|address)=/i.exec(line.slice(start, at))
    if (prefix !== null) start += prefix[0].length
    while (start < at && /['`*|=?]/.test(line[start] ?? '') && line[start] !== '"') start++
    if (line[start] === '/') start = line.lastIndexOf('/', at) + 1
    if (start >= at || end <= at + 1) continue
    done = end
    found.push({ address: line.slice(start, end), start, end })
  }
  return found
}

/** The same mailbox, whatever the case. */
export const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** The first of each mailbox, in order. */
export const uniqueBy = <T>(list: readonly T[], addressOf: (one: T) => string): T[] => {
  const seen = new Map<string, T>()
  for (const one of list) {
    const key = addressOf(one).toLowerCase()
    if (!seen.has(key)) seen.set(key, one)
  }
  return [...seen.values()]
}
