/**
 * NAME      trace - has this message been here before?
 * DESCRIPTION
 *   Reads the Received headers (RFC 5321, 6.3): more than 50, or two that we
 *   added ourselves, and the message is going in circles.
 */
const LIMIT = 50
const HEADER_END = Buffer.from('\r\n\r\n')
/** Nearly every message has fewer, and is done with. */
const TWICE = /^received:.*?^received:/ims
const RECEIVED = /^received:[ \t]*((?:[^\r\n]|\r?\n[ \t])*)/gim

/** `token` is what our own Received header contains and no other does. */
export const isLooping = (raw: Uint8Array, token: string): boolean => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const end = bytes.indexOf(HEADER_END)
  const header = bytes.toString('latin1', 0, end === -1 ? Math.min(bytes.length, 256 * 1024) : end)
  if (!TWICE.test(header)) return false
  let all = 0
  let ours = 0
  for (const [, value = ''] of header.matchAll(RECEIVED)) {
    all++
    if (value.includes(token)) ours++
  }
  return all > LIMIT || ours > 1
}
