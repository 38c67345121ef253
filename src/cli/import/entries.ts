/**
 * NAME      entries - the rows of a file, one after another, with what each of them says
 * DESCRIPTION
 *   CSV and JSON are read alike. Whose list it is, is found out by the first row; every other row is read as that one's.
 *   A row that can not be read is an entry, too: nothing is passed over in silence.
 */
import { CsvReader, unguarded } from '../../record/csv.js'
import { badInput } from '../exit.js'
import { cellsOfObject, plainName } from './cells.js'
import { type ImportFile, NotUtf8 } from './file.js'
import { JsonItems } from './json-items.js'
import {
  columnsWithoutHeader,
  IS_JSON,
  listNamed,
  type Provider,
  providerOf,
  type Said,
} from './providers.js'

const LONGEST_ROW = 65_536
const LONGEST_CELL = 8192

export interface Entry {
  readonly line: number
  readonly said: Said
}

/** As the command line wants it read. */
export interface Wanted {
  readonly from: string | null
  readonly list: string | null
  /** What stands in which column, from 1. */
  readonly columns: ReadonlyMap<string, number> | null
}

const bad = (line: number, why: string): Entry => ({ line, said: { bad: why } })
const TOO_LONG = 'is longer than 64 KiB'

/** What one pass over a file has found out about it. */
export class Reading {
  readonly #file: ImportFile
  readonly #wanted: Wanted
  provider: Provider | null = null
  list = ''
  format: 'CSV' | 'JSON' = 'CSV'
  #columns: ReadonlyMap<string, number> | null = null

  constructor(file: ImportFile, wanted: Wanted) {
    this.#file = file
    this.#wanted = wanted
    this.list = wanted.list ?? listNamed(file.name)
  }

  async *entries(): AsyncGenerator<Entry> {
    try {
      yield* this.#entries()
    } catch (error) {
      if (!(error instanceof NotUtf8) || !this.#file.readAsLatin1()) throw error
      throw new ReadAgain()
    }
  }

  async *#entries(): AsyncGenerator<Entry> {
    let begun = ''
    let read: ((text: string, isLast: boolean) => Iterable<Entry>) | null = null
    for await (const text of this.#file.text()) {
      begun = read === null ? begun + text : ''
      if (read === null && begun.trim() === '') continue
      const first = read === null
      read ??= this.#readerOf(begun)
      yield* read(first ? begun : text, false)
    }
    if (read !== null) yield* read('', true)
  }

  #readerOf(text: string) {
    this.format = /^\s*[[{]/.test(text) && this.#wanted.columns === null ? 'JSON' : 'CSV'
    return this.format === 'JSON' ? this.#json() : this.#csv()
  }

  #json() {
    const items = new JsonItems(LONGEST_ROW)
    const { name } = this.#file
    const entry = this.#ofObject.bind(this)
    return function* (text: string, isLast: boolean): Generator<Entry> {
      for (const item of items.push(text)) {
        if (item.value === null) yield bad(item.line, 'is no JSON object, or longer than 64 KiB')
        else if (!item.isAlone || !isEmptyPage(item.value)) yield entry(item.line, item.value)
      }
      if (isLast && !items.isWhole) throw badInput(`${name}: ends in the middle; is it whole?`)
    }
  }

  #ofObject(line: number, value: Readonly<Record<string, unknown>>): Entry {
    const cells = cellsOfObject(value)
    const provider = this.provider ?? this.#knownBy(new Set([...cells.keys(), IS_JSON]))
    for (const cell of cells.values())
      if (cell.length > LONGEST_CELL) return bad(line, 'has a member of more than 8 KiB')
    return { line, said: provider.read((name) => cells.get(name) ?? '', this.list) }
  }

  #csv() {
    const reader = new CsvReader(LONGEST_ROW)
    const entry = this.#ofFields.bind(this)
    return function* (text: string, isLast: boolean): Generator<Entry> {
      for (const { line, fields } of reader.push(text, isLast)) {
        const found = fields === null ? bad(line, TOO_LONG) : entry(line, fields)
        if (found !== null) yield found
      }
    }
  }

  /** Null: it is the header. */
  #ofFields(line: number, fields: readonly string[]): Entry | null {
    const isFirst = this.#columns === null
    const columns = this.#columns ?? this.#columnsOf(fields)
    this.#columns = columns
    const provider = this.provider ?? this.#knownBy(new Set(columns.keys()))
    if (isFirst && this.#isHeader(fields)) return null
    for (const field of fields)
      if (field.length > LONGEST_CELL) return bad(line, 'has a cell of more than 8 KiB')
    const cell = (name: string): string => unguarded(fields[columns.get(name) ?? -1] ?? '')
    return { line, said: provider.read(cell, this.list) }
  }

  #isHeader(first: readonly string[]): boolean {
    if (first.some((name) => name.includes('@'))) return false
    return this.#wanted.columns !== null || providerOf(new Set(first.map(plainName)), null) !== null
  }

  #columnsOf(first: readonly string[]): ReadonlyMap<string, number> {
    const { columns } = this.#wanted
    if (columns !== null) return columns
    const names = this.#isHeader(first) ? first.map(plainName) : columnsWithoutHeader(first)
    const found = new Map<string, number>()
    for (const [at, name] of names.entries()) if (!found.has(name)) found.set(name, at)
    return found
  }

  #knownBy(names: ReadonlySet<string>): Provider {
    const { from, columns } = this.#wanted
    const provider = providerOf(names, columns === null ? from : 'csv')
    if (provider !== null) {
      this.provider = columns !== null && from !== null ? { ...provider, name: from } : provider
      return this.provider
    }
    const seen = [...names]
      .filter((name) => name !== IS_JSON)
      .slice(0, 12)
      .join(', ')
    throw badInput(
      `${this.#file.name}: ${from === null ? 'is no list that is known here' : `is not what ${from} exports`}; it has ${seen}. Say which column is which: --columns email=1,reason=2`,
    )
  }
}

const isEmptyPage = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.values(value).some((one) => Array.isArray(one) && one.length === 0) &&
  !Object.keys(value).some((name) => /email|address|recipient/i.test(name))

/** It is to be read once more, in the other encoding. */
export class ReadAgain extends Error {}
