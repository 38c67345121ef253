/**
 * NAME      json-items - the objects of a JSON list, one after another
 * DESCRIPTION
 *   Reads a text that comes in pieces, and holds no more of it than one object: an array of objects, an object with such
 *   an array in it (as the pages of an API are), several of these one after another, or one object a line. What
 *   stands beside the array is passed over.
 *   An object that is longer than allowed, or is no JSON, is told as such, and reading goes on behind it. A text that ends
 *   within an object or a list was cut off, which `isWhole` says.
 */

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

const parsed = (text: string): JsonItem['value'] => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Whether the quote at `at` is a character of its string. */
const isEscaped = (text: string, at: number): boolean => {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

export class JsonItems {
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
