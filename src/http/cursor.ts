/**
 * NAME      cursor - where a list was left, signed
 * DESCRIPTION
 *   A cursor is `v1_` and base64url of payload and HMAC-SHA-256 cut to 128 bits.
 *   The payload holds direction, limit, a hash of the filters and the store's mark
 *   of the place; it refers to no row, so deleting one changes nothing. Whom and what
 *   it was made for (endpoint, account, bound workspace and mode) is not in the
 *   payload but under the HMAC: in other hands it does not verify.
 *   Node's base64 reader forgives stray bits and trailing junk, so a cursor counts
 *   only when writing it again gives the same text.
 */
import { createHash } from 'node:crypto'
import { Fault } from '../base/fault.js'
import { keyedHash, sameBytes } from '../base/secret.js'

export interface Position {
  readonly direction: 'older' | 'newer'
  /** A mark of the store, or null: the very end of the list that the direction leads away from. */
  readonly anchor: string | null
}

export interface Cursor extends Position {
  readonly limit: number
  /** Of the filters in force, by filterHash. */
  readonly filters: Uint8Array
}

const PREFIX = 'v1_'
const HASH_LENGTH = 8
const HEAD_LENGTH = 2 + HASH_LENGTH
const MAC_LENGTH = 16
const NEWER = 1
/** In cursors of 0.1.0 alone, whose anchor is an id: it starts with the row itself, which the store spells so. */
const INCLUSIVE = 2
const ITSELF = '='

export type Filters = Readonly<Record<string, string | number | null>>

/** Filters in any order, absent ones left out: the same hash for the same meaning. */
export const filterHash = (filters: Filters): Uint8Array => {
  const set = Object.entries(filters).filter(([, value]) => value !== null)
  set.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(set)).digest().subarray(0, HASH_LENGTH)
}

export class CursorCodec {
  readonly #key: Uint8Array

  constructor(pepper: Uint8Array) {
    this.#key = keyedHash(pepper, 'http-cursor-key')
  }

  #mac(payload: Uint8Array, bound: readonly string[]): Buffer {
    const text = Buffer.from(payload).toString('latin1')
    return keyedHash(this.#key, 'cursor', text, ...bound).subarray(0, MAC_LENGTH)
  }

  write(cursor: Cursor, bound: readonly string[]): string {
    const payload = Buffer.concat([
      Uint8Array.of(cursor.direction === 'newer' ? NEWER : 0, cursor.limit),
      cursor.filters,
      Buffer.from(cursor.anchor ?? '', 'latin1'),
    ])
    return PREFIX + Buffer.concat([payload, this.#mac(payload, bound)]).toString('base64url')
  }

  /** Throws validation.cursor_invalid unless this very text was written for `bound`. */
  read(text: string, bound: readonly string[]): Cursor {
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
    const payload = bytes.subarray(0, -MAC_LENGTH)
    if (
      text !== PREFIX + bytes.toString('base64url') ||
      payload.length < HEAD_LENGTH ||
      !sameBytes(bytes.subarray(-MAC_LENGTH), this.#mac(payload, bound))
    ) {
      throw new Fault('validation.cursor_invalid')
    }
    const flags = payload[0] ?? 0
    const mark = payload.subarray(HEAD_LENGTH).toString('latin1')
    return {
      direction: flags & NEWER ? 'newer' : 'older',
      limit: payload[1] ?? 0,
      filters: payload.subarray(2, HEAD_LENGTH),
      anchor: mark === '' ? null : `${flags & INCLUSIVE ? ITSELF : ''}${mark}`,
    }
  }
}
