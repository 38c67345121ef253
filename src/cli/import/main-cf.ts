/**
 * NAME      main-cf - the parameters of a Postfix, and the tables that they name
 * DESCRIPTION
 *   Reads main.cf, or what `postconf -n` prints: `name = value`, a line that begins with white space goes on with the one
 *   before. `$name`, `${name}`, `${name?text}`, `${name:text}` and `$$` are expanded as postconf(5) says; the lengths of
 *   all this are bounded, since a file of strangers may name itself.
 *   Of tables the text is read that postmap(1) would read (hash:, btree:, lmdb:, texthash: and their like), inline: and
 *   static:. A table is looked for beside main.cf first, since the files may have been copied from another machine, and
 *   then under its own name. Other kinds are named as not read: they are programs and databases.
 */
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { badInput } from '../exit.js'
import type { Carried } from './carried.js'
import { ImportFile, textOf } from './file.js'

const LONGEST_VALUE = 65_536
const DEEPEST = 20
const MOST_LINES = 100_000

/** Lines as Postfix joins them, without comments. */
export const logicalLines = (text: string, name: string): readonly string[] => {
  const lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue
    if (/^\s/.test(line) && lines.length > 0) lines.push(`${lines.pop()} ${line.trim()}`)
    else lines.push(line.trim())
    if (lines.length > MOST_LINES) throw badInput(`${name}: has more than ${MOST_LINES} lines`)
    if ((lines.at(-1)?.length ?? 0) > LONGEST_VALUE) throw badInput(`${name}: a line is longer than 64 KiB`)
  }
  return lines
}

/** The text up to the brace that ends what begins at `at`; -1 for its end where there is none. */
const braced = (text: string, at: number): number => {
  let open = 0
  for (let i = at; i < text.length; i++) {
    if (text[i] === '{') open++
    else if (text[i] === '}' && --open === 0) return i
  }
  return -1
}

const unbraced = (text: string): string => {
  const trimmed = text.trim()
  return trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1).trim() : text
}

/** `{x}:{y}` of `${name?{x}:{y}}`. */
const branches = (text: string): readonly [string, string] => {
  const end = text.startsWith('{') ? braced(text, 0) : -1
  if (end < 0) return [text, '']
  const rest = text.slice(end + 1)
  return [text.slice(1, end), rest.startsWith(':') ? unbraced(rest.slice(1)) : '']
}

export class Parameters {
  readonly #values = new Map<string, string>()
  /** What could not be expanded. */
  readonly unknown = new Set<string>()

  static read(text: string, name: string): Parameters {
    const found = new Parameters()
    for (const line of logicalLines(text, name)) {
      const [, parameter, value] = /^([A-Za-z0-9_.-]+)\s*=\s*(.*)$/s.exec(line) ?? []
      if (parameter !== undefined) found.set(parameter, value ?? '')
    }
    return found
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** '' where it is not set. */
  get(name: string): string {
    return this.#expand(this.#values.get(name) ?? '', 0).trim()
  }

  isYes(name: string): boolean {
    return this.get(name).toLowerCase() === 'yes'
  }

  #valueOf(name: string, depth: number): string | null {
    const value = this.#values.get(name)
    if (value !== undefined) return this.#expand(value, depth + 1)
    if (name === 'mydomain' && this.#values.has('myhostname'))
      return this.#expand('$myhostname', depth + 1).replace(/^[^.]*\./, '')
    if (name === 'myorigin') return this.#valueOf('myhostname', depth + 1)
    return null
  }

  #known(name: string, depth: number): string {
    const value = this.#valueOf(name, depth)
    if (value === null) this.unknown.add(name)
    return value ?? ''
  }

  #expand(text: string, depth: number): string {
    if (!text.includes('$')) return text
    if (depth > DEEPEST) throw badInput('main.cf: its parameters name each other without an end')
    let done = ''
    for (let at = 0; at < text.length; ) {
      const [all, piece] = this.#piece(text, at, depth)
      done += piece
      at += all
      if (done.length > LONGEST_VALUE) throw badInput('main.cf: a parameter expands to more than 64 KiB')
    }
    return done
  }

  /** How long the piece at `at` is, and what it comes to be. */
  #piece(text: string, at: number, depth: number): readonly [number, string] {
    if (text[at] !== '$') {
      const next = text.indexOf('$', at)
      const end = next < 0 ? text.length : next
      return [end - at, text.slice(at, end)]
    }
    if (text[at + 1] === '$') return [2, '$']
    const [, bare] = /^([A-Za-z0-9_]+)/.exec(text.slice(at + 1, at + 200)) ?? []
    if (bare !== undefined) return [bare.length + 1, this.#known(bare, depth)]
    const end =
      text[at + 1] === '{' ? braced(text, at + 1) : text[at + 1] === '(' ? text.indexOf(')', at) : -1
    if (end < 0) return [1, '$']
    return [end + 1 - at, this.#inBraces(text.slice(at + 2, end), depth)]
  }

  #inBraces(inner: string, depth: number): string {
    const [, name, sign, rest = ''] = /^\s*([A-Za-z0-9_]+)\s*(?:([?:])(.*))?$/s.exec(inner) ?? []
    if (name === undefined) {
      this.unknown.add(`{${inner.slice(0, 60)}}`)
      return ''
    }
    if (sign === undefined) return this.#known(name, depth)
    const value = this.#valueOf(name, depth) ?? ''
    if (sign === ':') return value === '' ? this.#expand(unbraced(rest), depth + 1) : ''
    const [yes, no] = branches(rest.trim())
    return this.#expand(value === '' ? no : yes, depth + 1)
  }
}

export interface Table {
  readonly entries: ReadonlyMap<string, string>
  /** What every key has that is not among them. */
  readonly everything: string | null
  /** All that it names could be read. */
  readonly isWhole: boolean
}

const AS_TEXT = ['hash', 'btree', 'lmdb', 'cdb', 'dbm', 'sdbm', 'texthash']

/** Words parted by commas or white space, of which none is within braces. */
export const listWords = (text: string): readonly string[] => {
  const words: string[] = []
  let [word, open] = ['', 0]
  for (const char of `${text} `) {
    if (open === 0 && /[\s,]/.test(char)) {
      if (word !== '') words.push(word)
      word = ''
      continue
    }
    if (char === '{') open++
    if (char === '}') open--
    word += char
  }
  return word === '' ? words : [...words, word.trim()]
}

/** A line of a table: the key ends at white space, or at the quote that ends it. */
const entryOf = (line: string): readonly [string, string] => {
  const [, quoted, bare = '', value = ''] = /^(?:"([^"]*)"|(\S+))\s*(.*)$/s.exec(line) ?? []
  return [(quoted ?? bare).toLowerCase(), value.trim()]
}

const inlineEntries = (text: string): readonly (readonly [string, string])[] =>
  listWords(text).flatMap((word) => {
    const [, key, value] = /^([^=]+?)\s*=\s*(.*)$/s.exec(unbraced(word)) ?? []
    return key === undefined ? [] : [[key.toLowerCase(), unbraced(value ?? '').trim()] as const]
  })

export class Tables {
  readonly #folder: string | null
  readonly #carried: Carried
  readonly read: string[] = []

  /** `folder` is that of main.cf; null where it came by standard input. */
  constructor(folder: string | null, carried: Carried) {
    this.#folder = folder
    this.#carried = carried
  }

  async of(parameter: string, value: string): Promise<Table> {
    const entries = new Map<string, string>()
    let [everything, isWhole]: [string | null, boolean] = [null, true]
    for (const word of listWords(value)) {
      const [, type = '', name = ''] = /^([a-z]+):(.*)$/s.exec(word) ?? []
      const found = await this.#entriesOf(parameter, type, name, word)
      if (found === null) isWhole = false
      // the first table that has a key counts
      else if (typeof found === 'string') everything ??= found
      else for (const [key, one] of found) if (!entries.has(key)) entries.set(key, one)
    }
    return { entries, everything, isWhole }
  }

  async #entriesOf(parameter: string, type: string, name: string, word: string) {
    if (type === 'static') return unbraced(name)
    if (type === 'inline') return inlineEntries(name.trim().replace(/^\{|\}$/g, ''))
    if (AS_TEXT.includes(type)) return this.#textTable(parameter, name)
    this.#carried.note(
      `${parameter}: ${word.slice(0, 80)} is not read: tables of this kind are no text; write what it says by hand`,
      true,
    )
    return null
  }

  async #textTable(parameter: string, name: string) {
    const own = this.#folder === null ? null : resolve(this.#folder, basename(name))
    const path = own !== null && existsSync(own) ? own : resolve(this.#folder ?? '.', name)
    if (!existsSync(path)) {
      const place =
        this.#folder === null ? 'there' : `there or beside main.cf (${join(this.#folder, basename(name))})`
      const isCompiled = existsSync(`${path}.db`) ? '; only its compiled form is' : ''
      this.#carried.note(`${parameter}: ${name} is not ${place}${isCompiled}`, true)
      return null
    }
    const file = await ImportFile.open(path)
    try {
      const lines = logicalLines(await textOf(file), path)
      if (!this.read.includes(path)) this.read.push(path)
      return lines.map(entryOf)
    } finally {
      await file.close()
    }
  }
}
