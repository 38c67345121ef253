/**
 * NAME      yaml - the settings file as plain data, and where each part of it stands
 * DESCRIPTION
 *   What YAML allows and settings do not need is refused with its place, so that
 *   nothing is silently read otherwise than it was meant: unknown tags, keys that
 *   are no words, a key written twice, several documents, aliases without an
 *   anchor and those that swell. Anchors and `<<` may be used.
 *   A mistake in the form hides the others only where the file cannot be read
 *   beyond it.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml'
import type { ConfigProblem } from '../problem.js'

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

export const readYaml = (file: FileText | null): ReadYaml => {
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
