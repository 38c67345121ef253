/**
 * NAME      event-id - the names of events, made when they are read
 * DESCRIPTION
 *   The id of a stored event holds its place and 64 bits of a hash; that of the
 *   first event of a recipient holds the recipient's id and 50 bits of a hash. So an
 *   event is found by its id without an index, and no id is stored but of events
 *   that came from elsewhere (another store, Postern 0.1). Only this file knows.
 */
import { hash } from 'node:crypto'
import { fromBase32, toBase32 } from '../../../base/id.js'
import { type Asking, first } from '../query.js'

const LENGTH = 26
const RECIPIENT = 16

const hashOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** `of`: the id of its mail, or of the account when it has none. */
export const storedId = (ord: number, of: string): string => {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32BE(Math.floor(ord / 2 ** 32), 0)
  bytes.writeUInt32BE(ord % 2 ** 32, 4)
  hashOf(`event ${ord} ${of}`).copy(bytes, 8, 0, 8)
  return `evt_${toBase32(bytes)}`
}

export const firstId = (recipientId: string): string =>
  `evt_${recipientId}${toBase32(hashOf(`first event ${recipientId}`)).slice(1, 1 + LENGTH - RECIPIENT)}`

/** What an id may name: whoever finds it there makes its id and compares. */
export const namedBy = (id: string): { readonly ord: number; readonly recipientId: string } | null => {
  const text = id.slice(4)
  const bytes = id.startsWith('evt_') && text.length === LENGTH ? fromBase32(text) : null
  if (bytes === null) return null
  const ord = Number(Buffer.from(bytes).readBigUInt64BE())
  return { ord: Number.isSafeInteger(ord) ? ord : -1, recipientId: text.slice(0, RECIPIENT) }
}

/** Where the first event of a recipient stands. */
export function* placeOfFirst(
  recipientId: string,
): Asking<{ readonly ord: number; readonly n: number } | null> {
  const row = yield* first('SELECT email_ord, first FROM recipients WHERE id = ? AND first > 0', recipientId)
  return row === null ? null : { ord: row.email_ord as number, n: row.first as number }
}
