/**
 * NAME      unpack - the files that a mail brings, of any size: plain, in gzip, or in a zip of one file
 *   For files that somebody sends us, where mime.ts reads words. Anybody may send one of several MiB, so nothing is done
 *   to all of it at once: headers are at most 64 KiB, boundaries are found in steps, quoted-printable, which is undone
 *   letter by letter, is at most 1 MiB of a mail, and others have their turn between two steps. What is large comes in
 *   base64.
 *   What an attachment is, its first octets say: media types and file names of reports are often wrong, and are the
 *   writer's. It comes out in pieces, and never more of it than MOST_OCTETS: a bomb costs no more than a large report.
 *   Nothing is written to a disk, and no name out of an archive is looked at.
 * NOTES
 *   The sizes of a zip are those of its directory, since a local header may leave them to what follows the file. One that
 *   is encrypted, in parts, of several files, or has sizes of 64 bits is refused.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { createGunzip, createInflateRaw } from 'node:zlib'
import {
  boundaryOf,
  decodeTransfer,
  type Headers,
  header,
  readHeaders,
  strayBoundary,
  toBinary,
  typeOf,
} from './mime.js'

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

/** A report of a large domain has a few MiB. */
const MOST_OCTETS = 10 * 1024 * 1024
const PIECE = 64 * 1024

/** It cannot be read as a report; the message says why, in our own words alone. */
export class UnreadableReportError extends Error {
  override readonly name = 'UnreadableReportError'
}

export const refuse = (why: string): never => {
  throw new UnreadableReportError(why)
}

export type Form = 'gzip' | 'zip' | 'xml' | 'json'

const BEGINNING = 1_000
const WIDE = /^(?:\xff\xfe|\xfe\xff)/
const XML = /^(?:\xef\xbb\xbf)?\s*<(?:\?xml\b|(?:[\w.-]+:)?feedback\b|!DOCTYPE\s+feedback\b)/

/** Null: nothing in which a report comes. */
export const formOf = (octets: Uint8Array): Form | null => {
  const text = Buffer.from(octets.buffer, octets.byteOffset, Math.min(octets.length, BEGINNING)).toString(
    'latin1',
  )
  if (text.startsWith('\x1f\x8b')) return 'gzip'
  if (text.startsWith('PK\x03\x04')) return 'zip'
  if (XML.test(text) || (WIDE.test(text) && text.replaceAll('\0', '').slice(2).startsWith('<?xml')))
    return 'xml'
  return /^(?:\xef\xbb\xbf)?\s*\{/.test(text) ? 'json' : null
}

const END = Buffer.from('PK\x05\x06', 'latin1')
const END_SIZE = 22
const DIRECTORY = 0x02014b50
const DIRECTORY_SIZE = 46
const LOCAL = 0x04034b50
const LOCAL_SIZE = 30
/** What a size of 64 bits leaves in the place of one of 32. */
const ELSEWHERE = 0xffffffff

interface Entry {
  readonly isStored: boolean
  readonly octets: Buffer
}

/** The only file of a zip. */
const entryOf = (zip: Buffer): Entry => {
  const end = zip.lastIndexOf(END)
  if (end < 0 || end + END_SIZE > zip.length) return refuse('a zip without its end')
  const [disk, first, here, all] = [4, 6, 8, 10].map((at) => zip.readUInt16LE(end + at))
  if (disk !== 0 || first !== 0 || here !== 1 || all !== 1) return refuse('a zip that is not of one file')
  const at = zip.readUInt32LE(end + 16)
  if (at + DIRECTORY_SIZE > end || zip.readUInt32LE(at) !== DIRECTORY)
    return refuse('a zip with a broken directory')
  const method = zip.readUInt16LE(at + 10)
  if ((zip.readUInt16LE(at + 8) & 0x41) !== 0) return refuse('a zip that is encrypted')
  if (method !== 0 && method !== 8) return refuse('a zip packed in an unknown way')
  const [size, whole, local] = [20, 24, 42].map((field) => zip.readUInt32LE(at + field)) as [
    number,
    number,
    number,
  ]
  if ([size, whole, local].includes(ELSEWHERE)) return refuse('a zip with sizes of 64 bits')
  if (local + LOCAL_SIZE > at || zip.readUInt32LE(local) !== LOCAL)
    return refuse('a zip with a broken directory')
  const begins = local + LOCAL_SIZE + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
  if (begins + size > at) return refuse('a zip with a broken directory')
  return { isStored: method === 0, octets: zip.subarray(begins, begins + size) }
}

async function* inflated(octets: Buffer, form: 'gzip' | 'zip'): AsyncGenerator<Buffer> {
  const stream = form === 'gzip' ? createGunzip({ chunkSize: PIECE }) : createInflateRaw({ chunkSize: PIECE })
  let size = 0
  stream.end(octets)
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > MOST_OCTETS) refuse('larger than 10 MiB when it is unpacked')
      // others have their turn between two pieces
      await turn()
      yield piece
    }
  } catch (error) {
    if (/^(?:Z_|ERR_)/.test((error as NodeJS.ErrnoException).code ?? '')) refuse(`a ${form} that is broken`)
    throw error
  }
}

async function* pieces(octets: Buffer): AsyncGenerator<Buffer> {
  if (octets.length > MOST_OCTETS) refuse('larger than 10 MiB')
  for (let at = 0; at < octets.length; at += PIECE) {
    await turn()
    yield octets.subarray(at, at + PIECE)
  }
}

/** The octets of the file, in pieces. */
export const unpacked = (octets: Buffer, form: Form): AsyncGenerator<Buffer> => {
  if (form === 'gzip') return inflated(octets, form)
  if (form !== 'zip') return pieces(octets)
  const entry = entryOf(octets)
  return entry.isStored ? pieces(entry.octets) : inflated(entry.octets, form)
}
