/**
 * NAME      files - a setup as it is written: YAML files, read together
 *   What is read is plain: YAML 1.2 core, one document a file, no tags, no merge keys, few aliases. A name that stands
 *   twice, in one file or in two, is a mistake with both places. All mistakes of all files are told at once, each with
 *   file and line; nothing is read halfway.
 *   A folder is its `*.yaml` files in the order of their octets, without folders below it. Paths within a file are
 *   relative to that file.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { type FieldErrorKind, SYSTEM_WORDS } from '../base/fault.js'
import { nearest } from '../base/text.js'
import type { ManagedKind } from '../store/port/tenants.js'
import { type FieldType, KIND_NAMES, SECTIONS } from './fields.js'

export const MOST_FILES = 1000
export const MOST_OCTETS = 4 * 1024 * 1024
const MOST_ALIASES = 100
const MOST_TOLD = 100

export interface Mistake {
  /** `file:line`, or the path of a member. */
  readonly where: string
  readonly message: string
  /** Of a member. */
  readonly kind?: FieldErrorKind
}

/** What a door hands in where a file would name one; no YAML makes one. */
export class Inline {
  constructor(readonly text: string) {}
}

/** The URL of an upstream whose secrets are at hand, by the words that would name their files. */
export class InlineUpstream {
  constructor(
    readonly url: string,
    readonly secrets: Readonly<Record<string, string>>,
  ) {}
}

/** What is wrong with a setup, all of it. */
export class SetupError extends Error {
  override name = 'SetupError'
  constructor(readonly mistakes: readonly Mistake[]) {
    const told = mistakes.slice(0, MOST_TOLD).map(({ where, message }) => `${where}: ${message}`)
    const more = mistakes.length - told.length
    super([...told, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'))
  }
}

/** A thing as the files describe it. */
export interface Declared {
  readonly kind: ManagedKind
  /** What stands before the slash of its name; empty where nothing does. */
  readonly workspace: string
  readonly name: string
  /** Of the types that fields.ts says. */
  readonly given: Readonly<Record<string, unknown>>
  /** Paths are relative to it. */
  readonly folder: string
  /** It came over the API: a secret that it lacks is made, and told in the answer. */
  readonly isInline?: true
  /** One of its fields is wrong, and left out. */
  readonly isWrong: boolean
  /** Where it, or one of its fields, stands. */
  at(field?: string): string
}

export interface Setup {
  readonly name: string
  readonly objects: readonly Declared[]
  /** Of single things and fields; the others can be looked at. */
  readonly mistakes: readonly Mistake[]
}

export const keyText = ({ workspace, name }: Pick<Declared, 'workspace' | 'name'>): string =>
  workspace === '' ? name : `${workspace}/${name}`

/** `pool/eu`, as plans and options name it. */
export const refText = (one: Pick<Declared, 'kind' | 'workspace' | 'name'>): string =>
  `${one.kind}/${keyText(one)}`

const readText = (file: string): string => {
  const handle = openSync(file, 'r')
  try {
    // a pipe or a device has no size: what is read is counted
    const octets = Buffer.alloc(MOST_OCTETS + 1)
    let read = 0
    for (let n = -1; n !== 0 && read < octets.length; read += Math.max(0, n))
      n = readSync(handle, octets, read, octets.length - read, null)
    if (read > MOST_OCTETS) throw new Error(`is larger than ${MOST_OCTETS / 1024 / 1024} MiB`)
    return new TextDecoder('utf-8', { fatal: true }).decode(octets.subarray(0, read))
  } finally {
    closeSync(handle)
  }
}

export const saidOf = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8'
  return SYSTEM_WORDS[code] ?? message.split('\n')[0] ?? code
}

const compareOctets = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The files of these paths, each once. */
const filesOf = (paths: readonly string[], wrong: (where: string, message: string) => void): string[] => {
  const files = paths.flatMap((path) => {
    try {
      if (!statSync(path).isDirectory()) return [path]
      const names = readdirSync(path, { withFileTypes: true })
        // links to files count, as Kubernetes makes them; a pipe would be waited for
        .filter(({ name }) => name.endsWith('.yaml') && statSync(join(path, name)).isFile())
        .map(({ name }) => name)
      if (names.length === 0) wrong(path, 'has no *.yaml file')
      return names.sort(compareOctets).map((name) => join(path, name))
    } catch (error) {
      wrong(path, saidOf(error))
      return []
    }
  })
  if (files.length > MOST_FILES) wrong(paths[0] ?? '', `more than ${MOST_FILES} files`)
  return [...new Set(files)].slice(0, MOST_FILES)
}

export type Plain = Readonly<Record<string, unknown>>
export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Parsed {
  readonly file: string
  readonly content: Plain
  line(path: readonly (string | number)[]): string
}

/** What YAML takes and a setup must not have. */
const oddities = (
  document: ReturnType<typeof parseDocument>,
  line: (offset: number) => number,
  wrong: (offset: number, message: string) => void,
): void => {
  visit(document, {
    Map(_, map) {
      const first = new Map<string, number>()
      for (const { key } of map.items) {
        const at = isNode(key) ? (key.range?.[0] ?? 0) : 0
        if (!isScalar(key)) {
          wrong(at, 'a name is one word')
          continue
        }
        const name = String(key.value)
        const before = first.get(name)
        if (before !== undefined) wrong(at, `${name} stands here again; first on line ${line(before)}`)
        else first.set(name, at)
        if (name === '<<') wrong(at, 'merge keys are not read: write what is meant')
        else if (name === '__proto__') wrong(at, '__proto__ is no name')
      }
    },
    Node(_, node) {
      if (!isAlias(node) && 'tag' in node && node.tag !== undefined)
        wrong(node.range?.[0] ?? 0, `${node.tag} is a tag; write the plain value`)
    },
    Alias(_, alias) {
      if (alias.resolve(document) === undefined)
        wrong(alias.range?.[0] ?? 0, `*${alias.source} names no anchor`)
    },
  })
}

/** What the document means; null after `bomb`, where aliases of aliases would fill the memory. */
const plainOf = (document: ReturnType<typeof parseDocument>, bomb: () => void): unknown => {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES }) ?? {}
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    bomb()
    return null
  }
}

const parse = (
  file: string,
  text: string,
  wrong: (where: string, message: string) => void,
): Parsed | null => {
  const lines = new LineCounter()
  const place = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  let failed = false
  const bad = (offset: number, message: string): void => {
    failed = true
    wrong(place(offset), message)
  }
  const document = parseDocument(text, {
    ...{ lineCounter: lines, prettyErrors: false, merge: false, uniqueKeys: false },
    ...({ version: '1.2', schema: 'core' } as const),
  })
  for (const { code, pos, message } of document.errors) {
    const said = code === 'MULTIPLE_DOCS' ? 'a second document begins; keep one' : message.split('\n')[0]
    bad(pos[0], `is not YAML: ${said}`)
  }
  if (failed) return null
  oddities(document, (offset) => lines.linePos(offset).line, bad)
  if (failed) return null
  const content = plainOf(document, () => bad(0, `its aliases stand for more than ${MOST_ALIASES} values`))
  if (failed) return null
  if (!isPlain(content)) {
    bad(0, 'expected `setup: NAME` and what it describes')
    return null
  }
  const line = (path: readonly (string | number)[]): string => {
    let node: unknown = document.contents
    let best = 0
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(document)
      const next = isMap(node)
        ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
        : isSeq(node)
          ? node.items[Number(part)]
          : undefined
      const found = isPair(next) ? next.key : next
      if (!isNode(found)) break
      best = found.range?.[0] ?? best
      node = isPair(next) ? next.value : next
    }
    return place(best)
  }
  return { file, content, line }
}

const readFile = (file: string, wrong: (where: string, message: string) => void): Parsed | null => {
  try {
    return parse(file, readText(file), wrong)
  } catch (error) {
    const isDeep = error instanceof RangeError
    wrong(file, isDeep ? 'is nested too deeply' : saidOf(error))
    return null
  }
}

/** What a value of this type must be, in words; null when it is one. */
const wrongType = (type: FieldType, value: unknown): string | null => {
  const isText = (one: unknown): boolean => typeof one === 'string'
  if (Array.isArray(type)) return type.includes(value as string) ? null : `must be one of ${type.join(', ')}`
  const isFile = (one: unknown): boolean => isText(one) || one instanceof Inline
  if (type === 'text') return isText(value) ? null : 'must be a text'
  if (type === 'file') return isFile(value) ? null : 'must be a text'
  if (type === 'nullable') return value === null || isText(value) ? null : 'must be a text, or null'
  if (type === 'number') return typeof value === 'number' ? null : 'must be a number'
  if (type === 'boolean') return typeof value === 'boolean' ? null : 'must be true or false'
  if (type === 'texts') {
    const isOne = (one: unknown): boolean => isText(one) || one instanceof InlineUpstream
    return Array.isArray(value) && value.every(isOne) ? null : 'must be a list of texts'
  }
  if (type === 'dkim') {
    const isKey = (one: unknown): boolean =>
      isPlain(one) &&
      Object.keys(one).sort().join() === 'key_file,selector' &&
      isText(one.selector) &&
      isFile(one.key_file)
    return Array.isArray(value) && value.length > 0 && value.every(isKey)
      ? null
      : 'must be a list of keys such as { selector: s1, key_file: s1.pem }'
  }
  const isOne = type === 'files' ? isFile : isText
  return isPlain(value) && Object.values(value).every(isOne) ? null : 'must be a map of texts'
}

export const FILL_IN = 'FILL-IN'

const holdsFillIn = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes(FILL_IN)
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsFillIn)

const hint = (word: string, known: readonly string[]): string => {
  const meant = nearest(word, known)
  return meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`
}

/** A slash parts a workspace from a name. */
const readKey = (kind: ManagedKind, text: string): { workspace: string; name: string } | string => {
  const { within } = SECTIONS[kind]
  const at = text.indexOf('/')
  const [workspace, name] =
    at < 0 || within === 'never' ? ['', text] : [text.slice(0, at), text.slice(at + 1)]
  if (within === 'always' && workspace === '') return 'must be WORKSPACE/NAME, such as shop/web'
  if (name === '' || name.length > 254 || /[\p{Cc}\p{Cs}]/u.test(name)) return 'is no name'
  return { workspace, name }
}

type Wrong = (where: string, message: string) => void

/** One of each, where a field that is for one thing has a list. */
const eachOf = (one: Declared): readonly Declared[] => {
  const field = Object.keys(one.given).find(
    (name) => SECTIONS[one.kind].fields[name]?.isEach === true && Array.isArray(one.given[name]),
  )
  if (field === undefined) return [one]
  return (one.given[field] as readonly string[]).map((value) => ({
    ...one,
    name: `${one.name}/${value}`,
    given: { ...one.given, [field]: value },
  }))
}

/** Those that are right. */
const fieldsOf = (
  kind: ManagedKind,
  value: unknown,
  bad: (field: string | undefined, message: string) => void,
): Plain => {
  const { fields } = SECTIONS[kind]
  if (value === null) return {}
  if (!isPlain(value)) {
    bad(undefined, `expected fields such as { ${Object.keys(fields)[0]}: … }`)
    return {}
  }
  const wrongWith = (field: string, given: unknown): string | null => {
    const known = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (known === undefined) return `is not known; ${hint(field, Object.keys(fields))}`
    if (holdsFillIn(given)) return `${FILL_IN} stands for a secret: name its file`
    if (known.isEach !== true || !Array.isArray(given)) return wrongType(known.type, given)
    if (given.length === 0) return 'must not be empty'
    return given.map((one) => wrongType(known.type, one)).find((said) => said !== null) ?? null
  }
  return Object.fromEntries(
    Object.entries(value).filter(([field, given]) => {
      const said = wrongWith(field, given)
      if (said !== null) bad(field, `${field}: ${said}`)
      return said === null
    }),
  )
}

export const objectsOf = ({ file, content, line }: Parsed, wrong: Wrong): readonly Declared[] => {
  const sections = KIND_NAMES.map((kind) => SECTIONS[kind].section)
  const objects: Declared[] = []
  for (const [section, members] of Object.entries(content)) {
    if (section === 'setup') continue
    const kind = KIND_NAMES.find((one) => SECTIONS[one].section === section)
    if (kind === undefined) {
      wrong(line([section]), `${section} is not known; ${hint(section, ['setup', ...sections])}`)
      continue
    }
    if (members === null) continue
    if (!isPlain(members)) {
      wrong(line([section]), `${section}: expected names, each with its fields`)
      continue
    }
    for (const [text, value] of Object.entries(members)) {
      const at = (field?: string): string =>
        line(field === undefined ? [section, text] : [section, text, field])
      let isWrong = false
      const given = fieldsOf(kind, value, (field, message) => {
        isWrong = true
        wrong(at(field), `${kind}/${text}: ${message}`)
      })
      const key = readKey(kind, text)
      if (typeof key === 'string') wrong(at(), `${section}: ${JSON.stringify(text)} ${key}`)
      else objects.push(...eachOf({ kind, ...key, given, folder: dirname(file), isWrong, at }))
    }
  }
  return objects
}

export const SETUP_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/

/** The one name that all files have, or that is given. */
const nameOf = (files: readonly Parsed[], given: string | null, wrong: Wrong): string => {
  const told = files.flatMap(({ content, line }) =>
    content.setup === undefined ? [] : [{ name: content.setup, where: line(['setup']) }],
  )
  const name = given ?? told[0]?.name
  if (name === undefined) {
    wrong(files[0]?.file ?? 'setup', 'has no name: write `setup: NAME`, or give --name')
    return ''
  }
  if (typeof name !== 'string' || !SETUP_NAME.test(name)) {
    const where = given === null ? (told[0]?.where ?? '') : '--name'
    wrong(where, 'setup: must be 1 to 63 of a-z 0-9 . _ -')
    return ''
  }
  for (const one of told)
    if (one.name !== name) {
      const by = given === null ? `but ${name} at ${told[0]?.where}` : `but --name is ${name}`
      wrong(one.where, `setup: is ${String(one.name)} here, ${by}: one setup at a time`)
    }
  return name
}

/**
 * Reads what these paths say. Throws SetupError where a file cannot be read: what others say of its things would look
 * wrong without reason.
 */
export const readSetup = (paths: readonly string[], given: string | null): Setup => {
  const mistakes: Mistake[] = []
  const wrong: Wrong = (where, message) => void mistakes.push({ where, message })
  const files = filesOf(paths, wrong).flatMap((file) => readFile(file, wrong) ?? [])
  if (mistakes.length > 0) throw new SetupError(mistakes)
  const objects = files.flatMap((file) => objectsOf(file, wrong))
  const name = files.length === 0 ? '' : nameOf(files, given, wrong)
  const first = new Map<string, Declared>()
  for (const one of objects) {
    const before = first.get(refText(one))
    if (before === undefined) first.set(refText(one), one)
    else wrong(one.at(), `${refText(one)} stands here again; first at ${before.at()}`)
  }
  return { name, objects, mistakes }
}
