/**
 * NAME      attachments - the octets of each part of a mail, of any size
 * DESCRIPTION
 *   For files that somebody sends us, where mime.ts reads words. Anybody may send one of several MiB, so nothing is
 *   done to all of it at once: headers are at most 64 KiB, boundaries are found in steps, quoted-printable, which is
 *   undone letter by letter, is at most 1 MiB of a mail, and others have their turn between two steps. What is large
 *   comes in base64.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { boundaryOf, type Headers, header, readHeaders, strayBoundary, toBinary, typeOf } from './mime.js'
import { decodeTransfer } from './text.js'

const MOST_HEADER = 64 * 1024
const MOST_PARTS = 60
const MOST_DEPTH = 5
/** Lines of one multipart that begin as its boundary does. */
const MOST_LINES = 1_000
const MOST_QUOTED = 1024 * 1024
const STEP = 256 * 1024
const QUOTED_STEP = 16 * 1024

interface Piece {
  readonly headers: Headers
  readonly body: Buffer
  readonly depth: number
}

/** None where the header has no end. */
const pieceOf = (octets: Buffer, depth: number): readonly Piece[] => {
  const { headers, bodyAt } = readHeaders(octets.toString('latin1', 0, MOST_HEADER))
  return bodyAt >= MOST_HEADER ? [] : [{ headers, body: octets.subarray(bodyAt), depth }]
}

/** Where it is next; -1: nowhere. */
const find = async (octets: Buffer, what: Buffer, from: number): Promise<number> => {
  for (let at = from; at < octets.length; at += STEP) {
    const found = octets.subarray(at, at + STEP + what.length - 1).indexOf(what)
    if (found >= 0) return at + found
    await turn()
  }
  return -1
}

const NEWLINE = 10

const split = async (body: Buffer, boundary: string): Promise<readonly Buffer[]> => {
  const mark = Buffer.from(`\n--${boundary}`, 'latin1')
  const parts: Buffer[] = []
  const isFirst = body.subarray(0, mark.length - 1).equals(mark.subarray(1))
  let before = isFirst ? -1 : await find(body, mark, 0)
  if (before < 0 && !isFirst) return parts
  let start = -1
  for (let lines = 0; lines < MOST_LINES && parts.length < MOST_PARTS; lines++) {
    const behind = before + mark.length
    const lineEnd = body.indexOf(NEWLINE, behind)
    const end = lineEnd < 0 ? body.length : lineEnd
    const tail = end - behind > STEP ? 'no boundary' : body.toString('latin1', behind, end).trimEnd()
    if (tail === '' || tail === '--') {
      if (start >= 0) parts.push(body.subarray(start, Math.max(start, before)))
      start = end + 1
      if (tail === '--') return parts
    }
    before = await find(body, mark, end)
    if (before < 0) return start < 0 ? parts : [...parts, body.subarray(start)]
  }
  return parts
}

const childrenOf = async ({ headers, body, depth }: Piece): Promise<readonly Buffer[]> => {
  const named = boundaryOf(headers)
  const parts = named === '' ? [] : await split(body, named)
  if (parts.length > 0 || depth > 0) return parts
  const stray = strayBoundary(toBinary(body.subarray(0, QUOTED_STEP)))
  return stray === '' ? [] : split(body, stray)
}

const unquoted = async (body: Buffer): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.subarray(at, at + QUOTED_STEP).lastIndexOf(NEWLINE)
    const next = lineEnd < 0 ? at + QUOTED_STEP : at + lineEnd + 1
    const text = decodeTransfer(toBinary(body.subarray(at, next)), 'quoted-printable')
    pieces.push(Buffer.from(text, 'latin1'))
    at = next
    await turn()
  }
  return Buffer.concat(pieces)
}

/** Those of each part that is no multipart, in their order; a returned mail is one of them. */
export async function* attachmentsIn(raw: Uint8Array): AsyncGenerator<Buffer> {
  const left = [...pieceOf(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), 0)]
  let quoted = 0
  for (let seen = 0; seen < MOST_PARTS; seen++) {
    const one = left.shift()
    if (one === undefined) return
    await turn()
    const isMultipart = typeOf(one.headers).startsWith('multipart/')
    if (isMultipart && one.depth < MOST_DEPTH) {
      const children = await childrenOf(one)
      left.unshift(...children.flatMap((octets) => pieceOf(octets, one.depth + 1)))
    }
    if (isMultipart) continue
    const encoding = header(one.headers, 'content-transfer-encoding').trim().toLowerCase()
    if (encoding === 'base64') yield Buffer.from(one.body.toString('latin1'), 'base64')
    else if (encoding === 'quoted-printable') {
      const body = one.body.subarray(0, MOST_QUOTED - quoted)
      quoted += body.length
      yield await unquoted(body)
    } else yield one.body
  }
}
