/**
 * NAME      entries - the rows of a file, one after another, with what each of them says
 *   CSV and JSON are read alike. Whose list it is, is found out by the first row; every other row is read as that one's.
 *   A row that can not be read is an entry, too: nothing is passed over in silence.
 *   JSON is an array of objects, an object with such an array in it (as the pages of an API are), several of these one after
 *   another, or one object a line. What stands beside the array is passed over. Of the text no more is held than one object.
 */
import { orElse } from '../../base/fault.js'
import { CsvReader, unguarded } from '../../record/csv.js'
import { badInput } from '../exit.js'
import { type ImportFile, NotUtf8 } from './file.js'
import {
  cellsOfObject,
  columnsWithoutHeader,
  IS_JSON,
  type ListProvider,
  listNamed,
  plainName,
  providerOf,
  type SaidRow,
} from './providers.js'

interface JsonItem {
  /** The line on which it begins, from 1. */
  readonly line: number
  /** Null: it can not be read. */
  readonly value: Readonly<Record<string, unknown>> | null
  /** It may be the page that holds a list, and the list is empty. */
  readonly isAlone: boolean
}

/** A list stands not deeper in its page. */
const DEEPEST = 3

const [LF, QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [10, 34, 92, 123, 125, 91, 93]

const parsed = (text: string): JsonItem['value'] => orElse(() => JSON.parse(text), null)

/** Whether the quote at `at` is a character of its string. */
const isEscaped = (text: string, at: number): boolean => {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

class JsonItems {
  readonly #longest: number
  #rest = ''
  /** How far `#rest` was read. */
  #at = 0
  #line = 1
  /** What is open, the innermost last. */
  readonly #open: number[] = []
  #isInString = false
  /** Of the object that is read: where it begins in `#rest`, how much was open around it, on which line; -1: none. */
  #from = -1
  #depth = 0
  #itemLine = 1
  #isLong = false
  /** An array has just begun in what may be a page. */
  #isListNext = false

  constructor(longest: number) {
    this.#longest = longest
  }

  /** Between two objects, and in no list. */
  get isWhole(): boolean {
    return this.#open.length === 0 && !this.#isInString
  }

  *push(text: string): Generator<JsonItem> {
    this.#rest += text
    for (; this.#at < this.#rest.length; this.#at++) {
      const item = this.#isInString ? this.#string() : this.#mark(this.#rest.charCodeAt(this.#at))
      if (item !== null) yield item
    }
    this.#forget()
  }

  /** Of what was read only the object that has begun is kept, unless it is too long. */
  #forget(): void {
    if (this.#from >= 0 && this.#at - this.#from > this.#longest) this.#isLong = true
    // the last characters tell whether a quote is escaped
    const kept = this.#from >= 0 && !this.#isLong ? this.#from : Math.max(0, this.#at - 64)
    this.#rest = this.#rest.slice(kept)
    this.#at -= kept
    if (this.#from >= 0) this.#from = this.#isLong ? 0 : this.#from - kept
  }

  /** To the end of a string, or of what is there. */
  #string(): null {
    let quote = this.#rest.indexOf('"', this.#at)
    while (quote >= 0 && isEscaped(this.#rest, quote)) quote = this.#rest.indexOf('"', quote + 1)
    this.#isInString = quote < 0
    this.#at = quote < 0 ? this.#rest.length - 1 : quote
    return null
  }

  #mark(c: number): JsonItem | null {
    if (c <= 32) {
      if (c === LF) this.#line++
      return null
    }
    if (c === OPEN) this.#begin()
    else if (c === OPEN_LIST) this.#open.push(c)
    else if (c === CLOSE || c === CLOSE_LIST) return this.#end(c)
    else if (c === QUOTE) this.#isInString = true
    this.#isListNext = c === OPEN_LIST && this.#from >= 0 && this.#depth === 0 && this.#open.length <= DEEPEST
    return null
  }

  /** An object in no object is one of the list; so is the first of an array in what was thought to be one. */
  #begin(): void {
    const isItem = this.#from < 0 && (this.#open.length === 0 || this.#open.at(-1) === OPEN_LIST)
    if (isItem || this.#isListNext) {
      this.#from = this.#at
      this.#depth = this.#open.length
      this.#itemLine = this.#line
      this.#isLong = false
    }
    this.#open.push(OPEN)
  }

  #end(c: number): JsonItem | null {
    this.#isListNext = false
    const open = this.#open.pop()
    if (open !== (c === CLOSE ? OPEN : OPEN_LIST)) this.#open.length = 0
    if (this.#from < 0 || this.#open.length > this.#depth) return null
    const text = this.#isLong ? '' : this.#rest.slice(this.#from, this.#at + 1)
    this.#from = -1
    const value = text.length > this.#longest ? null : parsed(text)
    return { line: this.#itemLine, value, isAlone: this.#depth === 0 }
  }
}

const LONGEST_ROW = 65_536
const LONGEST_CELL = 8192

export interface ImportEntry {
  readonly line: number
  readonly said: SaidRow
}

/** As the command line wants it read. */
export interface WantedList {
  readonly from: string | null
  readonly list: string | null
  /** What stands in which column, from 1. */
  readonly columns: ReadonlyMap<string, number> | null
}

const bad = (line: number, why: string): ImportEntry => ({ line, said: { bad: why } })
const TOO_LONG = 'is longer than 64 KiB'

/** What one pass over a file has found out about it. */
export class Reading {
  readonly #file: ImportFile
  readonly #wanted: WantedList
  provider: ListProvider | null = null
  list = ''
  format: 'CSV' | 'JSON' = 'CSV'
  #columns: ReadonlyMap<string, number> | null = null

  constructor(file: ImportFile, wanted: WantedList) {
    this.#file = file
    this.#wanted = wanted
    this.list = wanted.list ?? listNamed(file.name)
  }

  async *entries(): AsyncGenerator<ImportEntry> {
    try {
      yield* this.#entries()
    } catch (error) {
      if (!(error instanceof NotUtf8) || !this.#file.readAsLatin1()) throw error
      throw new ReadAgain()
    }
  }

  async *#entries(): AsyncGenerator<ImportEntry> {
    let begun = ''
    let read: ((text: string, isLast: boolean) => Iterable<ImportEntry>) | null = null
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
    return function* (text: string, isLast: boolean): Generator<ImportEntry> {
      for (const item of items.push(text)) {
        if (item.value === null) yield bad(item.line, 'is no JSON object, or longer than 64 KiB')
        else if (!item.isAlone || !isEmptyPage(item.value)) yield entry(item.line, item.value)
      }
      if (isLast && !items.isWhole) throw badInput(`${name}: ends in the middle; is it whole?`)
    }
  }

  #ofObject(line: number, value: Readonly<Record<string, unknown>>): ImportEntry {
    const cells = cellsOfObject(value)
    const provider = this.provider ?? this.#knownBy(new Set([...cells.keys(), IS_JSON]))
    for (const cell of cells.values())
      if (cell.length > LONGEST_CELL) return bad(line, 'has a member of more than 8 KiB')
    return { line, said: provider.read((name) => cells.get(name) ?? '', this.list) }
  }

  #csv() {
    const reader = new CsvReader(LONGEST_ROW)
    const entry = this.#ofFields.bind(this)
    return function* (text: string, isLast: boolean): Generator<ImportEntry> {
      for (const { line, fields } of reader.push(text, isLast)) {
        const found = fields === null ? bad(line, TOO_LONG) : entry(line, fields)
        if (found !== null) yield found
      }
    }
  }

  /** Null: it is the header. */
  #ofFields(line: number, fields: readonly string[]): ImportEntry | null {
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

  #knownBy(names: ReadonlySet<string>): ListProvider {
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
