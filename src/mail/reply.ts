/**
 * NAME      reply - what an SMTP server said
 * DESCRIPTION
 *   A reply as a value: basic code (RFC 5321), enhanced code (RFC 3463) when the
 *   server gave one, and its text on one line. A 5xx from an upstream is a value
 *   too, never an error.
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
