/**
 * NAME      codes - SMTP and enhanced codes in running text
 * DESCRIPTION
 *   Finds `550 5.1.1`, `550-#5.1.1`, `(#5.1.1)` or a lone `550` in what an MTA
 *   wrote. Version numbers and IP addresses look alike and must not be taken:
 *   a code stands free of digits, dots and letters on both sides.
 */
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
  /(?:^|said:|error:|server:|respon\w{0,8}:|returned:?|replied:|was:|code:?|with|[<>"'(:;\n]|\.\.\.)\s{0,3}['"(]?([45]\d\d)(?=[ \-:;.,)'"]|$)(?![.\d]*\.\d)/im

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
