/**
 * NAME      postal - the tables `domains` and `credentials` of a Postal, as `mysql --batch` prints them
 * DESCRIPTION
 *   Its DKIM keys are taken along as files: a domain goes on to sign with the key and the selector that are in DNS now.
 *   Of credentials those for SMTP are carried. Postal looks at the password alone and takes any user name; here the name
 *   counts, too, and is that of the credential there. Keys of its API have another form than ours.
 */

import { isPrivateRange, parseRange } from '../../base/network.js'
import { loadDkimKey } from '../../mail/dkim.js'
import { normalDomain } from '../../tenant/domain/domain.js'
import { badInput } from '../exit.js'
import type { Carried } from './carried.js'

const MOST_ROWS = 10_000
/** What Postal puts before the identifier of a domain, unless its postal.yml says another word. */
const IDENTIFIER = 'postal'

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '', '\\': '\\' }

type Row = ReadonlyMap<string, string>

/** Rows by the names of their columns; NULL is no value. */
const rowsIn = (text: string, name: string): readonly Row[] => {
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '')
  const columns = head.split('\t')
  if (lines.length > MOST_ROWS) throw badInput(`${name}: has more than ${MOST_ROWS} rows`)
  return lines.map(
    (line) =>
      new Map(
        line.split('\t').flatMap((cell, i) => {
          const column = columns[i]
          if (column === undefined || cell === 'NULL' || cell === '\\N') return []
          return [[column, cell.replace(/\\([ntr0\\])/g, (_, char: string) => ESCAPES[char] ?? '')]]
        }),
      ),
  )
}

export const isPostalDomains = (head: string): boolean =>
  head.includes('\t') && /(^|\t)dkim_private_key(\t|$)/.test(head) && /(^|\t)name(\t|$)/.test(head)

export const isPostalCredentials = (head: string): boolean =>
  head.includes('\t') && ['key', 'type', 'name'].every((one) => head.split('\t').includes(one))

const whyNoKey = (pem: string): string | null => {
  try {
    loadDkimKey(pem)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

export const carryPostalDomains = (text: string, name: string, carried: Carried): void => {
  for (const row of rowsIn(text, name)) {
    const domain = normalDomain(row.get('name') ?? '')
    const identifier = row.get('dkim_identifier_string')
    const pem = row.get('dkim_private_key')
    if (domain === null) carried.note(`${(row.get('name') ?? '').slice(0, 80)} is no domain`, true)
    else if (carried.hasDomain(domain)) carried.note(`${domain} stands there again: its first key is taken`)
    else if (pem === undefined || identifier === undefined)
      carried.note(`${domain} has no DKIM key there: postern domain add ${domain} makes one`, true)
    else {
      const why = whyNoKey(pem)
      if (why === null) carried.domain(domain, `${IDENTIFIER}-${identifier}`.toLowerCase(), pem)
      else carried.note(`${domain}: its DKIM key is not taken: ${why}`, true)
    }
  }
}

export const carryPostalCredentials = (text: string, name: string, carried: Carried): void => {
  let keys = 0
  for (const row of rowsIn(text, name)) {
    const [type, label = '', key = ''] = [row.get('type'), row.get('name'), row.get('key')]
    const range = parseRange(key)
    if (row.get('hold') === '1') carried.note(`${label} is held there and is not taken`)
    else if (type === 'SMTP-IP' && range !== null && isPrivateRange(range)) carried.networks.push(key)
    else if (type === 'SMTP-IP')
      carried.note(`${label}: ${key} is not taken: only private ranges send without a login here`, true)
    else if (type === 'API') keys++
    else if (type !== 'SMTP' || key === '') carried.note(`${label} is no credential for SMTP`, true)
    else {
      const username = carried.credential(label, key)
      carried.note(`${label}: its client logs in as ${username} now, with the password that it has`)
    }
  }
  if (keys > 0)
    carried.note(
      `${keys} keys of its HTTP API are not taken, since ours have another form: postern key create`,
      true,
    )
}
