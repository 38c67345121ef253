/**
 * NAME      binary - rows as COPY takes them in its binary format
 * DESCRIPTION
 *   The count of the fields, then each with its length (PostgreSQL, COPY, "Binary Format"): octets go as they are.
 */
import type { Column } from '../../move.js'

/** As much goes in a message, or one row that is larger. */
const CHUNK = 256 * 1024

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const END = Buffer.from([0xff, 0xff])

const integer = (octets: number, write: (buffer: Buffer, value: number) => unknown) => (value: unknown) => {
  const buffer = Buffer.allocUnsafe(octets)
  write(buffer, Number(value))
  return buffer
}

const text = (value: unknown): Buffer => Buffer.from(String(value))

const FIELDS: Readonly<Record<string, (value: unknown) => Uint8Array>> = {
  int2: integer(2, (buffer, value) => buffer.writeInt16BE(value)),
  int4: integer(4, (buffer, value) => buffer.writeInt32BE(value)),
  int8: integer(8, (buffer, value) => buffer.writeBigInt64BE(BigInt(value))),
  text,
  json: text,
  bytea: (value) => (value instanceof Uint8Array ? value : text(value)),
}

const encoders = (columns: readonly Column[]) =>
  columns.map(({ name, type }) => {
    const encode = FIELDS[type]
    if (encode === undefined) throw new Error(`${name} is of type ${type}, which does not move`)
    return encode
  })

const int16 = (value: number): Buffer => FIELDS.int2?.(value) as Buffer
const int32 = (value: number): Buffer => FIELDS.int4?.(value) as Buffer
const NOTHING = int32(-1)

/** `seen` hears of each row. */
export async function* binary(
  columns: readonly Column[],
  rows: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
  seen: (row: readonly unknown[]) => void,
): AsyncIterable<Uint8Array> {
  const fields = encoders(columns)
  const head = int16(columns.length)
  let parts: Uint8Array[] = [SIGNATURE]
  let octets = 0
  for await (const row of rows) {
    seen(row)
    parts.push(head)
    for (const [i, value] of row.entries()) {
      const encoded = value === null ? null : fields[i]?.(value)
      if (encoded == null) parts.push(NOTHING)
      else {
        parts.push(int32(encoded.byteLength), encoded)
        octets += encoded.byteLength
      }
    }
    octets += 2 + 4 * row.length
    if (octets < CHUNK) continue
    yield Buffer.concat(parts)
    parts = []
    octets = 0
  }
  yield Buffer.concat([...parts, END])
}
