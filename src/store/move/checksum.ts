/**
 * NAME      checksum - whether the rows of a table are the same on two sides
 * DESCRIPTION
 *   Of each row the beginning of an MD5, summed modulo 2^52: rows may come in any order. Fields are joined by U+001F,
 *   one without a value is U+0001, octets are their own MD5 in hex. It finds what was lost or changed by mistake, and
 *   is no proof against anybody.
 */
import { createHash } from 'node:crypto'

export interface Sum {
  readonly rows: number
  readonly sum: number
}

/** Of tables; each over these columns. */
export type Sums = Readonly<Record<string, Sum & { readonly columns: readonly string[] }>>

const MODULUS = 2 ** 52
export const SEPARATOR = '\u001f'
export const NONE = '\u0001'

const md5 = (of: string | Uint8Array): string => createHash('md5').update(of).digest('hex')

const textOf = (value: unknown): string =>
  value === null ? NONE : value instanceof Uint8Array ? md5(value) : String(value)

export const createSum = () => {
  let rows = 0
  let sum = 0
  return {
    add(row: readonly unknown[]): void {
      rows += 1
      sum = (sum + Number.parseInt(md5(row.map(textOf).join(SEPARATOR)).slice(0, 13), 16)) % MODULUS
    },
    total: (): Sum => ({ rows, sum }),
  }
}

export const isSame = (a: Sum | undefined, b: Sum | undefined): boolean =>
  a !== undefined && a.rows === b?.rows && a.sum === b.sum
