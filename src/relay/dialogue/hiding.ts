/**
 * NAME      hiding - what others say of a login, without the secrets in it
 * DESCRIPTION
 *   Some servers repeat what was said to them, or a piece of it: as it was, in base64, or as a form has it.
 *   What they say is shown to people and kept with events, so it is put on one line, and secrets are cut out.
 */
const NOT_ON_A_LINE = /[\s\p{Cc}]+/gu
const ENCODED = /[A-Za-z0-9+/_-]{8,}={0,2}/g

/** Each with its spaces as they are on one line; no word of it is the empty one. */
const exactly = (secrets: readonly string[]): RegExp | null => {
  const all = secrets.flatMap((one) => [
    one,
    encodeURIComponent(one),
    `${new URLSearchParams({ '': one })}`.slice(1),
  ])
  const words = all.map((one) => one.replace(NOT_ON_A_LINE, ' ').trim()).filter((one) => one !== '')
  if (words.length === 0) return null
  const escaped = words.map((one) => one.replace(/[^\w\s]/gu, '\\$&'))
  return new RegExp(escaped.join('|'), 'gi')
}

export const hiding = (secrets: readonly string[]): ((text: string) => string) => {
  const bytes = secrets.map((one) => Buffer.from(one))
  const encoded = bytes.flatMap((one) => [one.toString('base64'), one.toString('base64url')]).join(' ')
  const exact = exactly(secrets)
  return (text) => {
    const shown = text.replace(ENCODED, (word) => (encoded.includes(word) ? '…' : word))
    return (exact === null ? shown : shown.replace(exact, '…')).replace(NOT_ON_A_LINE, ' ').trim()
  }
}
