/**
 * NAME      settings-file - the settings file as plain data, and where each setting was written
 *   What YAML allows and settings do not need is refused with its place, so that nothing is silently read otherwise
 *   than it was meant: unknown tags, keys that are no words, a key written twice, several documents, aliases without an
 *   anchor and those that swell. Anchors and `<<` may be used. A mistake in the form hides the others only where the
 *   file cannot be read beyond it.
 *   Reads the YAML file, lays the environment and then the flags over it, and remembers for every key where it came
 *   from, so that a mistake can be pointed at: file:line:column, the variable, or the flag. `POSTERN_HTTP__PORT=0` and
 *   `--http.port 0` set `http.port`; list items are numbered (`POSTERN_SUBMISSION__0__PORT`), and a whole list or group
 *   may be given as YAML (`[1m, 5m]`).
 */
import { resolve } from 'node:path'
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parse,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml'
import { type ConfigProblem, shownValue } from './problem.js'
import { isVariable, variableOf } from './variables.js'

export type Path = readonly (string | number)[]

export interface FileText {
  readonly name: string
  readonly text: string
}

interface ReadYaml {
  /** undefined when it can not be read. */
  readonly content: unknown
  readonly problems: readonly ConfigProblem[]
  /** `file:line:column` of an offset. */
  place(offset: number): string
  /** Where a value or its key stands, or the nearest group around it; null for what is not there. */
  locate(path: Path, what: 'key' | 'value'): number | null
}

type Wrong = (offset: number, expected: string, remedy?: string) => ConfigProblem

const FORM: Readonly<Record<string, readonly [expected: string, remedy: string | null]>> = {
  DUPLICATE_KEY: ['stands here for the second time', 'keep one of the two'],
  TAB_AS_INDENT: ['is not valid YAML: a tab can not indent', 'use spaces'],
  MULTIPLE_DOCS: ['is the start of a second document', 'keep one, without ---'],
  TAG_RESOLVE_FAILED: ['is a tag, and settings have none', 'write the plain value'],
}

/** After these the rest of the file still means what it says. */
const HARMLESS = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED'])

const formProblem = (error: YAMLError, wrong: Wrong): ConfigProblem => {
  const [expected, remedy] = FORM[error.code] ?? [`is not valid YAML: ${error.message.split('\n')[0]}`, null]
  return wrong(error.pos[0], expected, remedy ?? undefined)
}

/** Things that YAML takes and a table of settings can not hold. */
const oddities = (document: Document, wrong: Wrong): readonly ConfigProblem[] => {
  const found: ConfigProblem[] = []
  visit(document, {
    Pair(_, { key }) {
      const at = isNode(key) ? (key.range?.[0] ?? 0) : 0
      if (!isScalar(key)) found.push(wrong(at, 'is not a setting: a key is one word'))
      else if (key.value === '__proto__') found.push(wrong(at, '__proto__ is not a setting'))
    },
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return
      found.push(
        wrong(alias.range?.[0] ?? 0, `*${alias.source} names no anchor`, `write &${alias.source} before it`),
      )
    },
  })
  return found
}

const locateIn = (document: Document, path: Path, what: 'key' | 'value'): number | null => {
  let node: unknown = document.contents
  let best: number | null = null
  for (const [depth, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.findLast(({ key }) => String(isScalar(key) ? key.value : key) === String(part))
      if (pair === undefined) break
      const target = depth === path.length - 1 && what === 'key' ? pair.key : (pair.value ?? pair.key)
      node = pair.value
      best = (isNode(target) ? target.range?.[0] : null) ?? best
    } else if (isSeq(node)) {
      node = node.items[Number(part)]
      best = (isNode(node) ? node.range?.[0] : null) ?? best
    } else break
  }
  return best
}

const readYaml = (file: FileText | null): ReadYaml => {
  const lines = new LineCounter()
  const document = parseDocument(file?.text ?? '', { lineCounter: lines, prettyErrors: false, merge: true })
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${file?.name ?? ''}:${line}:${col}`
  }
  const wrong: Wrong = (offset, expected, remedy) => ({
    where: place(offset),
    key: '',
    value: null,
    expected,
    remedy: remedy ?? null,
  })
  const broken: readonly YAMLError[] = [...document.errors, ...document.warnings]
  const odd = document.errors.some(({ code }) => !HARMLESS.has(code)) ? [] : oddities(document, wrong)
  const problems = [...broken.map((error) => formProblem(error, wrong)), ...odd]
  let content: unknown
  if (odd.length === 0 && broken.every(({ code }) => HARMLESS.has(code))) {
    try {
      content = document.toJS({ maxAliasCount: 50 })
    } catch (error) {
      problems.push(wrong(0, `can not be read: ${error instanceof Error ? error.message : error}`))
    }
  }
  return { content, problems, place, locate: (path, what) => locateIn(document, path, what) }
}

type Tree = Record<string, unknown>

export interface Sourced {
  readonly tree: Tree
  readonly problems: readonly ConfigProblem[]
  /** Where the value at this path (or, for an unknown key, the key) stands; null for a default. */
  whereIs(path: Path, what: 'key' | 'value'): string | null
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Written {
  readonly path: Path
  readonly by: string
  readonly value: string
}

const bare = (name: string): string => name.replace(/[._]/g, '').toLowerCase()

/** `POSTERN_HTTP_PORT` looks like a setting and is none: it would silently not be set. */
const mistyped = (env: Readonly<Record<string, string | undefined>>, known: readonly string[]) =>
  Object.entries(env).flatMap(([name, value]): ConfigProblem[] => {
    const rest = name.replace(/^POSTERN_/, '')
    if (rest === name || value === undefined || value === '' || rest.includes('__')) return []
    const meant = known.find((key) => key.includes('.') && bare(key) === bare(rest))
    if (meant === undefined) return []
    const remedy = `did you mean ${variableOf(meant)}?`
    return [{ where: name, key: '', value: null, expected: 'is not a setting', remedy }]
  })

const namesIn = (tree: Tree, within = ''): readonly string[] =>
  Object.entries(tree).flatMap(([name, value]) =>
    isTree(value) ? namesIn(value, `${within}${name}.`) : [`${within}${name}`],
  )

/** The variables that are settings. Others that begin with POSTERN_ are somebody else's, unless they hold `__`. */
const fromEnvironment = (env: Readonly<Record<string, string | undefined>>, known: readonly string[]) =>
  Object.entries(env).flatMap(([by, value]): Written[] => {
    if (!isVariable(by) || value === undefined || value === '') return []
    const parts = by.slice('POSTERN_'.length).toLowerCase().split('__')
    if (parts.length === 1 && !known.includes(parts[0] ?? '')) return []
    return [{ path: parts.map(index), by, value }]
  })

const fromFlags = (flags: Readonly<Record<string, string | undefined>>): Written[] =>
  Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [{ path: name.split('.').map(index), by: `--${name}`, value }],
  )

const index = (part: string): string | number => (/^\d+$/.test(part) ? Number(part) : part)

/** Text stays text (joi converts it); only what looks like a list or group is read as YAML. */
const readValue = (text: string): unknown => (/^\s*[[{]/.test(text) ? parse(text) : text)

/** Files that the service manager hands in, see systemd.exec(5): `$CREDENTIALS_DIRECTORY/tls.key`. */
export const CREDENTIALS = '$CREDENTIALS_DIRECTORY/'

const PATHS = [
  'data_dir',
  'pepper_file',
  'tls.cert_file',
  'tls.key_file',
  'bounce.rules_file',
  'management.token_file',
]
const PATHS_IN_LISTS =
  /^(?:identity\.oidc\.\d+\.(?:client_secret|ca)|tls\.certificates\.\d+\.(?:cert|key))_file$/

const isPath = (key: string): boolean => PATHS.includes(key) || PATHS_IN_LISTS.test(key)

/** Relative paths outside the file mean the current folder; inside it, the folder of the file (load.ts). */
const settingOf = ({ path, value }: Written): unknown =>
  isPath(path.join('.')) && !value.startsWith(CREDENTIALS) ? resolve(value) : readValue(value)

const put = (tree: Tree, path: Path, value: unknown, defaults: Tree): void => {
  let at: Tree | unknown[] = tree
  let model: unknown = defaults
  for (const [depth, part] of path.entries()) {
    const key = part as keyof typeof at
    if (depth === path.length - 1) {
      ;(at as Tree)[key] = value
      return
    }
    model = isTree(model) || Array.isArray(model) ? (model as Tree)[key] : undefined
    const next = (at as Tree)[key]
    if (!isTree(next) && !Array.isArray(next)) {
      // one item of a list that is not in the file changes that item of the default list
      ;(at as Tree)[key] = Array.isArray(model) ? structuredClone(model) : {}
    }
    at = (at as Tree)[key] as Tree | unknown[]
  }
}

export const readSources = (
  file: FileText | null,
  env: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>>,
  defaults: Tree,
): Sourced => {
  const { content: read, problems, place, locate } = readYaml(file)
  const found: ConfigProblem[] = [...problems]
  const content = read ?? {}
  if (!isTree(content))
    found.push({
      where: place(0),
      key: '',
      value: shownValue('', content),
      expected: 'expected settings such as "hostname: mail.example.com"',
      remedy: null,
    })
  const tree: Tree = isTree(content) ? content : {}
  found.push(...mistyped(env, namesIn(defaults)))
  const written = [...fromEnvironment(env, Object.keys(defaults)), ...fromFlags(flags)]
  for (const one of written) {
    try {
      put(tree, one.path, settingOf(one), defaults)
    } catch (error) {
      const expected = `is not valid YAML: ${error instanceof Error ? error.message.split('\n')[0] : error}`
      found.push({ where: one.by, key: one.path.join('.'), value: null, expected, remedy: null })
    }
  }
  return {
    tree,
    problems: found,
    whereIs(path, what) {
      const text = path.join('.')
      const within = (inner: string, outer: string) => `${inner}.`.startsWith(`${outer}.`)
      const over =
        written.findLast(({ path: by }) => within(text, by.join('.'))) ??
        (what === 'key' ? written.findLast(({ path: by }) => within(by.join('.'), text)) : undefined)
      if (over !== undefined) return over.by
      const offset = file === null ? null : locate(path, what)
      return offset === null ? null : place(offset)
    },
  }
}
