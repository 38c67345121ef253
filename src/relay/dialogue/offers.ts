/**
 * NAME      offers - what an upstream can do, as it said after EHLO
 * DESCRIPTION
 *   Reads the EHLO reply (RFC 5321, 4.1.1.1) that was given on the connection as it now is:
 *   after STARTTLS only the second EHLO counts (RFC 3207, 4.2).
 */
export interface Offers {
  readonly pipelining: boolean
  readonly dsn: boolean
  readonly smtpUtf8: boolean
  readonly eightBitMime: boolean
  readonly requireTls: boolean
  readonly size: boolean
  /** The largest message it takes, in bytes; 0 when it names none. */
  readonly maxSize: number
  /** Mechanisms of AUTH, in upper case. */
  readonly auth: readonly string[]
}

/** From the whole reply to EHLO, all its lines. */
export const parseOffers = (ehlo: string): Offers => {
  const words = new Map<string, string>()
  const auth = new Set<string>()
  for (const line of ehlo.split(/\r?\n/).slice(1)) {
    const [word = '', ...rest] = line
      .replace(/^\d{3}[ -]/, '')
      .trim()
      .split(/[ =]+/)
    words.set(word.toUpperCase(), rest.join(' '))
    // old servers say AUTH= beside it
    if (word.toUpperCase() === 'AUTH') for (const one of rest) auth.add(one.toUpperCase())
  }
  return {
    pipelining: words.has('PIPELINING'),
    dsn: words.has('DSN'),
    smtpUtf8: words.has('SMTPUTF8'),
    eightBitMime: words.has('8BITMIME'),
    requireTls: words.has('REQUIRETLS'),
    size: words.has('SIZE'),
    maxSize: Number(words.get('SIZE')) || 0,
    auth: [...auth].filter((one) => one !== ''),
  }
}
