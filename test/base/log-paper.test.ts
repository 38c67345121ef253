/**
 * src/LOG.md against the source: each line that is logged has its row, with its level and
 * the fields that stand there, and no row is about a line that nobody logs.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { logPaper } from '../parts/log-paper.js'
import { ROOT } from '../parts/postern.js'

const LEVELS = /^(trace|debug|info|warn|error|fatal)$/

interface Line {
  readonly where: string
  readonly name: string
  readonly level: string
  readonly fields: readonly string[]
  /** More come from where the source alone does not show them. */
  readonly open: boolean
}

const textOf = (node: ts.Expression | undefined): string | null =>
  node !== undefined && ts.isStringLiteralLike(node) ? node.text : null

/** The names in `{ a, b: 1, ...more }`. */
const fieldsOf = (
  node: ts.Expression | undefined,
): Pick<Line, 'fields' | 'open'> & { event: string | null } => {
  const fields: string[] = []
  if (node === undefined) return { fields, open: false, event: null }
  if (!ts.isObjectLiteralExpression(node)) return { fields, open: true, event: null }
  let event: string | null = null
  for (const one of node.properties) {
    if (one.name === undefined) continue
    fields.push(one.name.getText())
    if (ts.isPropertyAssignment(one) && one.name.getText() === 'event') event = textOf(one.initializer)
  }
  return { fields, open: node.properties.some(ts.isSpreadAssignment), event }
}

/** `log.info(fields, 'name')`, `log('info', 'name', fields)`, and the shorter ones of upstreams and throttles. */
const lineOf = (call: ts.CallExpression, where: string): Line | null => {
  const callee = call.expression.getText().replaceAll('?', '')
  const [first, second, third] = call.arguments
  const method = /(?:^|[.#])log\.(\w+)$/.exec(callee)?.[1] ?? ''
  if (LEVELS.test(method)) {
    const bare = textOf(first)
    if (bare !== null) return { where, name: bare, level: method, fields: [], open: false }
    const { fields, open, event } = fieldsOf(first)
    const name = textOf(second) ?? event
    return name === null ? null : { where, name, level: method, fields, open }
  }
  if (/(?:^|[.#])log$/.test(callee)) {
    const level = textOf(first) ?? ''
    const name = textOf(second)
    if (LEVELS.test(level) && name !== null) return { where, name, level, ...fieldsOf(third) }
    if (level !== '' && !LEVELS.test(level)) return { where, name: level, level: 'info', ...fieldsOf(second) }
  }
  const isUpstream = where === 'relay/upstream.ts' && /(?:^|[.#])warn$/.test(callee)
  const name = textOf(first)
  return isUpstream && name !== null ? { where, name, level: 'warn', ...fieldsOf(second), open: true } : null
}

/** Writes a line, of whatever name. */
const logs = ({ expression }: ts.CallExpression): boolean =>
  /(?:^|[.#])log(?:\.(?:trace|debug|info|warn|error|fatal)|\[\w+\])$/.test(
    expression.getText().replaceAll('?', ''),
  )

/** Places that write lines whose name the source does not show there. */
const unread: string[] = []

const linesOf = (file: string): Line[] => {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Line[] = []
  const visit = (node: ts.Node): void => {
    const line = ts.isCallExpression(node) ? lineOf(node, file) : null
    if (line !== null) found.push(line)
    else if (ts.isCallExpression(node) && logs(node)) unread.push(`${file}: ${node.getText()}`)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
const lines = files.filter((file) => /\.tsx?$/.test(file)).flatMap(linesOf)
const paper = logPaper()

t.test('each line that is logged has its row', async (t) => {
  t.ok(lines.length > 40, `${lines.length} places log`)
  for (const { where, name, level, fields, open } of lines) {
    const row = paper.get(name)
    t.equal(row?.level, level, `${where}: the level of "${name}" in src/LOG.md`)
    const known = [...(row?.fields ?? []), ...(row?.optional ?? [])]
    t.same(
      fields.filter((field) => !known.includes(field)),
      [],
      `${where}: "${name}" has no field that src/LOG.md leaves out`,
    )
    if (!open) {
      const missing = row?.fields.filter((field) => !fields.includes(field))
      t.same(missing, [], `${where}: "${name}" has all that src/LOG.md promises`)
    }
  }
})

/** They pass on what others wrote, from another thread, whose own calls are read above. */
const FORWARD = [
  'demo/fill.ts: log[level](fields, fact)',
  'followers/followers.ts: log[level](fields, text)',
  'relay/relay.ts: log[level](fields, fact)',
]

t.test('no line goes past this test', async (t) => {
  t.same(unread.toSorted(), FORWARD)
})

t.test('no row is about a line that nobody logs', async (t) => {
  const logged = new Set(lines.map(({ name }) => name))
  t.same(
    [...paper.keys()].filter((name) => !logged.has(name)),
    [],
  )
})
