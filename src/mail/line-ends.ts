/**
 * NAME      line-ends - how the lines of a message end
 * DESCRIPTION
 *   RFC 5322 knows CRLF alone. A bare CR or LF is a line end to some and content to
 *   others, which is how one message smuggles in another; nobody takes a NUL.
 */
import { asBuffer } from './header.js'

interface LineEnds {
  readonly hasBareCr: boolean
  readonly hasBareLf: boolean
  readonly hasNul: boolean
}

const NO_WORDS = new Int32Array(0)
const LF = 0x0a
const CR = 0x0d

/** One pass over the octets, four at a time where none of them is as low as CR. */
export const scanLineEnds = (raw: Buffer): LineEnds => {
  let hasBareCr = false
  let hasBareLf = false
  let hasNul = false
  const { length, byteOffset } = raw
  const lead = -byteOffset & 3
  const words = length < 8 ? NO_WORDS : new Int32Array(raw.buffer, byteOffset + lead, (length - lead) >> 2)
  for (let i = 0; i < length; i++) {
    if (((i - lead) & 3) === 0) {
      let word = words[(i - lead) >> 2] ?? 0
      // the highest bit of an octet below 14 turns on, and now and then that of one above such a one
      while (((word - 0x0e0e0e0e) & ~word & 0x80808080) === 0) {
        i += 4
        word = words[(i - lead) >> 2] ?? 0
      }
    }
    const octet = raw[i]
    if (octet === LF) hasBareLf ||= raw[i - 1] !== CR
    else if (octet === CR) hasBareCr ||= raw[i + 1] !== LF
    else if (octet === 0) hasNul = true
  }
  return { hasBareCr, hasBareLf, hasNul }
}

/** Lone CR and LF become CRLF, NUL is dropped. */
export const normalizeLineEnds = (message: Uint8Array): Buffer =>
  Buffer.from(
    asBuffer(message)
      .toString('latin1')
      .replaceAll('\0', '')
      .replace(/\r\n|\r|\n/g, '\r\n'),
    'latin1',
  )
