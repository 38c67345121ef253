/**
 * NAME      file - a file of strangers, as text in pieces
 *   UTF-8, UTF-16 with its mark, or Latin-1 where it is no UTF-8; also compressed by gzip. It is read as often as one
 *   likes, each time from its beginning, and never held as a whole; each time its SHA-256 is made anew, so that a file
 *   that changes meanwhile is noticed. Standard input is copied to a file without a name first.
 *   What is no regular file is refused before it is read: a FIFO would wait, a device would not end.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { badInput, Refusal } from '../exit.js'
import { STDIN } from '../terminal.js'

/** Unpacked. */
const MOST_OCTETS = 2 * 1024 ** 3
/** What is more times larger than its gzip was made to fill a disk or a memory. */
const MOST_RATIO = 200
/** Small files may be as repetitive as they like. */
const RATIO_FROM = 1024 ** 2

type Encoding = 'utf-8' | 'windows-1252' | 'utf-16le' | 'utf-16be'

const tooLarge = (name: string): Refusal => badInput(`${name}: is more than 2 GiB; split it`)

export class ImportFile {
  /** As messages name it. */
  readonly name: string
  /** Of what was read last, in hex. */
  sha256 = ''
  readonly #handle: FileHandle
  #encoding: Encoding = 'utf-8'
  isGzip = false

  private constructor(name: string, handle: FileHandle) {
    this.name = name
    this.#handle = handle
  }

  /** As the system says it where it can not be opened. */
  static async open(path: string): Promise<ImportFile> {
    // without waiting for whoever would write to a FIFO
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const file = new ImportFile(basename(path), handle)
    try {
      const stat = await handle.stat()
      if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR', path })
      if (!stat.isFile()) throw badInput(`${path}: is no regular file; a pipe is read with -`)
      if (stat.size > MOST_OCTETS) throw tooLarge(path)
      await file.#look()
    } catch (error) {
      await handle.close()
      throw error
    }
    return file
  }

  /** Of `-`. */
  static async copy(stdin: AsyncIterable<Uint8Array | string>): Promise<ImportFile> {
    const folder = await mkdtemp(join(tmpdir(), 'postern-import-'))
    const handle = await open(join(folder, 'stdin'), 'wx+', 0o600)
    await rm(folder, { recursive: true })
    const file = new ImportFile('standard input', handle)
    try {
      let octets = 0
      for await (const chunk of stdin) {
        const piece = Buffer.from(chunk as Uint8Array)
        octets += piece.length
        if (octets > MOST_OCTETS) throw tooLarge(file.name)
        await handle.writeFile(piece)
      }
      await file.#look()
    } catch (error) {
      await handle.close()
      throw error
    }
    return file
  }

  get encoding(): string {
    return { 'utf-8': 'UTF-8', 'windows-1252': 'Latin-1', 'utf-16le': 'UTF-16', 'utf-16be': 'UTF-16' }[
      this.#encoding
    ]
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** From the beginning. Throws where it can not be read as text. */
  async *text(): AsyncGenerator<string> {
    const decoder = new TextDecoder(this.#encoding, { fatal: this.#encoding !== 'windows-1252' })
    try {
      for await (const octets of this.#unpacked())
        yield this.#checked(decoder.decode(octets, { stream: true }))
      yield this.#checked(decoder.decode())
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
      throw new NotUtf8(`${this.name}: is no text in ${this.encoding}`)
    }
  }

  /** After NotUtf8; false where nothing else is to be tried. */
  readAsLatin1(): boolean {
    const was = this.#encoding
    this.#encoding = 'windows-1252'
    return was === 'utf-8'
  }

  #checked(text: string): string {
    if (text.includes('\0')) throw badInput(`${this.name}: is no text, it holds NUL`)
    return text
  }

  /** What its first octets say of it. */
  async #look(): Promise<void> {
    const { buffer: head, bytesRead } = await this.#handle.read(Buffer.alloc(4), 0, 4, 0)
    const magic = head.toString('latin1', 0, bytesRead)
    this.isGzip = magic.startsWith('\x1f\x8b')
    if (magic.startsWith('\xff\xfe')) this.#encoding = 'utf-16le'
    if (magic.startsWith('\xfe\xff')) this.#encoding = 'utf-16be'
    if (magic.startsWith('PK\x03\x04'))
      throw badInput(`${this.name}: is a zip archive or a workbook; unpack it, or save it as CSV, first`)
  }

  async *#octets(): AsyncGenerator<Buffer> {
    const hash = createHash('sha256')
    let size = 0
    for (;;) {
      const { buffer, bytesRead } = await this.#handle.read(Buffer.allocUnsafe(1 << 17), 0, 1 << 17, size)
      if (bytesRead === 0) break
      size += bytesRead
      if (size > MOST_OCTETS) throw tooLarge(this.name)
      hash.update(buffer.subarray(0, bytesRead))
      yield buffer.subarray(0, bytesRead)
    }
    this.sha256 = hash.digest('hex')
  }

  async *#unpacked(): AsyncGenerator<Uint8Array> {
    if (!this.isGzip) return yield* this.#octets()
    const gunzip = createGunzip()
    pipeline(Readable.from(this.#octets()), gunzip, () => {})
    let octets = 0
    try {
      for await (const piece of gunzip) {
        octets += piece.length
        if (octets > MOST_OCTETS) throw tooLarge(this.name)
        if (octets > RATIO_FROM && octets > MOST_RATIO * gunzip.bytesWritten)
          throw badInput(`${this.name}: unpacks to more than ${MOST_RATIO} times its size; it is not read`)
        yield piece
      }
    } catch (error) {
      if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error
      throw badInput(`${this.name}: its gzip is damaged or cut off`)
    }
  }
}

/** It is to be read as Latin-1. */
export class NotUtf8 extends Refusal {
  constructor(message: string) {
    super(65, message)
  }
}

/** Of settings and tables of them; no one writes more by hand. */
const MOST_TEXT = 16 * 1024 ** 2

/** The whole text of a small file. */
export const textOf = async (file: ImportFile): Promise<string> => {
  try {
    let whole = ''
    for await (const text of file.text()) {
      whole += text
      if (whole.length > MOST_TEXT) throw badInput(`${file.name}: is more than 16 MiB of settings`)
    }
    return whole.replace(/^\ufeff/, '')
  } catch (error) {
    if (error instanceof NotUtf8 && file.readAsLatin1()) return textOf(file)
    throw error
  }
}

export const openFile = (path: string, stdin: AsyncIterable<Uint8Array | string>): Promise<ImportFile> =>
  path === STDIN ? ImportFile.copy(stdin) : ImportFile.open(path)
