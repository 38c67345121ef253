/**
 * NAME      reply - what an SMTP server said, and codes in running text
 *   A reply as a value: basic code (RFC 5321), enhanced code (RFC 3463) when the server gave one, and its text on one
 *   line. A 5xx from an upstream is a value too, never an error.
 *   Finds `550 5.1.1`, `550-#5.1.1`, `(#5.1.1)` or a lone `550` in what an MTA wrote. Version numbers and IP addresses
 *   look alike and must not be taken: a code stands free of digits, dots and letters on both sides.
 */
export interface Reply {
  readonly code: number
  /** `5.1.1`, or null when the server sent none. */
  readonly enhanced: string | null
  readonly text: string
}

const LINE = /^(\d{3})[ -]?(.*)$/
const ENHANCED = /^#?([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/

/** Reads one or more reply lines; null when the first does not start with three digits. */
export const parseReply = (response: string): Reply | null => {
  const lines = response.split(/\r?\n/).filter((line) => line !== '')
  const code = Number(LINE.exec(lines[0] ?? '')?.[1] ?? Number.NaN)
  if (Number.isNaN(code)) return null
  let enhanced: string | null = null
  const texts = lines.map((line) => {
    const text = (LINE.exec(line)?.[2] ?? line).trim()
    const found = ENHANCED.exec(text)
    if (found === null) return text
    enhanced ??= found[1] ?? null
    return text.slice(found[0].length)
  })
  return { code, enhanced, text: texts.join(' ').replace(/\s+/g, ' ').trim() }
}

/** Postgrey, milter-greylist, SQLgrey, Exim's ACLs and many others say the word; Rspamd says only this. */
const GREY = /\bgr[ae]y[ -]?list|postgrey/i
const RSPAMD = /^try again later$/i

/** True when a server puts off whoever it sees for the first time, and takes the mail some minutes later. */
export const isGreylisting = ({ code, enhanced, text }: Reply): boolean =>
  code >= 400 && code < 500 && (GREY.test(text) || (enhanced === '4.7.1' && RSPAMD.test(text.trim())))

export interface Codes {
  readonly code: number | null
  readonly enhanced: string | null
}

const MAX_TEXT = 8_000
/** A basic code with the enhanced one behind it: the surest form. */
const PAIR =
  /(?<![\w.])([245]\d\d)[ \-:]{1,3}(?:[245]\d\d[ \-:]{1,3})?[ (<'"]{0,2}#?([245]\.\d\.\d{1,3})(?![\d.]*\d)/
const LONE = /(?<![\w.\-/[@])#?([45]\.\d\.\d{1,3})(?!\.?\d|[\w@/])/
const BASIC =
  /(?:^|said:|error:|server:|respon\w{0,8}:|returned:?|replied:|was:|code:?|with|[<>"'(:;\n]|\.\.\.)\s{0,8}['"(]?([45]\d\d)(?=[ \-:;.,)'"]|$)(?![.\d]*\.\d)/im

/** Basic and enhanced code of a server's words; null for what they do not have. */
export const codesIn = (text: string): Codes => {
  const part = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text
  const pair = PAIR.exec(part)
  if (pair !== null && pair[1]?.[0] !== '2') return { code: Number(pair[1]), enhanced: pair[2] ?? null }
  const enhanced = LONE.exec(part)?.[1] ?? null
  const basic = BASIC.exec(part)?.[1]
  return { code: basic === undefined ? null : Number(basic), enhanced }
}

/** Says nothing beyond its class: `5.0.0`. */
export const isVague = (status: string | null): boolean => status === null || status.endsWith('.0.0')
