/**
 * NAME      mark - a place in the log, signed
 * DESCRIPTION
 *   What clients get as the id of an event on the stream and comes back as
 *   `Last-Event-ID`, `after` or `since`: `m1_` and base64url of the store's mark and
 *   HMAC-SHA-256 cut to 128 bits. It belongs to an account and to nothing else: no
 *   filter, no limit, no endpoint, so every door reads the marks of every other.
 *   What a reader may see his credential says, not his mark.
 * NOTES
 *   Node's base64 reader forgives stray bits and trailing junk, so a mark counts
 *   only when writing it again gives the same text.
 */
import { keyedHash, sameBytes } from '../base/secret.js'

const PREFIX = 'm1_'
const MAC_LENGTH = 16

export class MarkCodec {
  readonly #key: Uint8Array

  constructor(pepper: Uint8Array) {
    this.#key = keyedHash(pepper, 'event-mark-key')
  }

  #mac(mark: string, accountId: string): Buffer {
    return keyedHash(this.#key, 'mark', mark, accountId).subarray(0, MAC_LENGTH)
  }

  /** A mark of the store as the public may have it. */
  write(mark: string, accountId: string): string {
    return PREFIX + Buffer.concat([Buffer.from(mark), this.#mac(mark, accountId)]).toString('base64url')
  }

  /** What stands in a mark, whoever wrote it: for a client, which can not check it. */
  static placeIn(text: string): string {
    return Buffer.from(text.slice(PREFIX.length), 'base64url').subarray(0, -MAC_LENGTH).toString()
  }

  /** The mark of the store, or null unless this very text was written for this account. */
  read(text: string, accountId: string): string | null {
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
    if (bytes.length <= MAC_LENGTH || text !== PREFIX + bytes.toString('base64url')) return null
    const mark = bytes.subarray(0, -MAC_LENGTH).toString()
    return sameBytes(bytes.subarray(-MAC_LENGTH), this.#mac(mark, accountId)) ? mark : null
  }
}
