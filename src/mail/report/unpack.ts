/**
 * NAME      unpack - what a mail brings as a file: plain, in gzip, or in a zip of one file
 * DESCRIPTION
 *   What an attachment is, its first octets say: media types and file names of reports are often wrong, and are the
 *   writer's. It comes out in pieces, and never more of it than MOST_OCTETS: a bomb costs no more than a large
 *   report. Nothing is written to a disk, and no name out of an archive is looked at.
 * NOTES
 *   The sizes of a zip are those of its directory, since a local header may leave them to what follows the file. One
 *   that is encrypted, in parts, of several files, or has sizes of 64 bits is refused.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { createGunzip, createInflateRaw } from 'node:zlib'

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
