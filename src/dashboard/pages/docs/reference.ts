/**
 * NAME      reference - the OpenAPI document, as the pages need it, and samples of requests in four languages
 *   Fetched from the API at the first look and kept: it is made from the running code. A JSON Schema is read as one line for
 *   each member, those of nested objects below their parent with the whole path as their name (`attachments[].content`). Knows
 *   the keywords that the API's document uses. A sample is made from the document's own example and the address of this gateway,
 *   so that it can be pasted and run. Each uses only what its language brings along; the key comes from POSTERN_KEY.
 */
import { type AskAnswer, jsonOf } from '../../ask.js'
import type { Sample } from '../../parts/page-parts.js'
import { figure } from '../../parts/text.js'
import type { SiteReader } from '../../visit.js'

interface Request {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: unknown
  readonly isJson: boolean
  readonly isPublic: boolean
}

const member = (value: unknown, name: string): string | null => {
  const found = (value as Record<string, unknown> | null | undefined)?.[name]
  return typeof found === 'string' ? found : null
}

/** An id of the document's example where it has one, else the parameter's name in capitals. */
const pathValue = (operation: ReferenceOperation, name: string): string => {
  const answer = operation.answers[0]?.example
  const first = (answer as { data?: readonly unknown[] } | undefined)?.data?.[0]
  const known = name === 'id' ? member(answer, 'id') : member(answer, `${name}_id`)
  return known ?? member(answer, name) ?? member(first, `${name}_id`) ?? name.toUpperCase()
}

const requestOf = (operation: ReferenceOperation, baseUrl: string): Request => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => pathValue(operation, name))
  const body = operation.request?.example
  const repeats = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
  return {
    method: operation.method,
    url: baseUrl + path,
    headers: [
      ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ...(repeats ? [['Idempotency-Key', 'receipt-42'] as const] : []),
    ],
    body,
    isJson: operation.answers.every(({ media }) => media === 'application/json'),
    isPublic: operation.isPublic,
  }
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = ({ method, url, headers, body, isPublic }: Request): string => {
  const plain = body === undefined ? 'GET' : 'POST'
  const lines = [
    `curl ${method === plain ? '' : `-X ${method} `}${shellQuoted(url)}`,
    ...(isPublic ? [] : ['-H "Authorization: Bearer $POSTERN_KEY"']),
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(JSON.stringify(body, null, 2))}`]),
  ]
  return lines.join(' \\\n  ')
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`
/** As text of JavaScript and Python: JSON's escapes hold there, too. */
const literal = (text: string): string => (/[\n\r\t]/.test(text) ? JSON.stringify(text) : quoted(text))

type Spelling = typeof JAVASCRIPT

const written = (value: unknown, how: Spelling, indent: string): string => {
  if (value === null || value === undefined) return how.nothing
  if (typeof value === 'boolean') return value ? how.yes : how.no
  if (typeof value === 'string') return how.text(value)
  if (typeof value !== 'object') return String(value)
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const [open, close] = isList ? how.list : [how.open, how.close]
  const parts = isList
    ? value.map((one) => written(one, how, inner))
    : Object.entries(value).map(([name, one]) => `${how.name(name)}${how.pair}${written(one, how, inner)}`)
  if (parts.length === 0) return isList ? open + close : how.bare
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

const JAVASCRIPT = {
  ...{ open: '{', close: '}', pair: ': ', yes: 'true', no: 'false', nothing: 'null' },
  /** An object without members, and what is around a list. */
  ...{ bare: '{}', list: ['[', ']'] as const },
  text: literal,
  name: (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name)),
}
const PYTHON: Spelling = { ...JAVASCRIPT, yes: 'True', no: 'False', nothing: 'None', name: quoted }
const PHP: Spelling = {
  ...JAVASCRIPT,
  ...{ open: '[', close: ']', bare: 'new stdClass', pair: ' => ', name: quoted },
  text: (text) => (/[\n\r\t]/.test(text) ? JSON.stringify(text).replaceAll('$', '\\$') : quoted(text)),
}

const node = ({ method, url, headers, body, isJson, isPublic }: Request): string => {
  const all = [
    ...(isPublic ? [] : [`    Authorization: \`Bearer \${process.env.POSTERN_KEY}\`,`]),
    ...headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    ...(all.length === 0 ? [] : ['  headers: {', ...all, '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${written(body, JAVASCRIPT, '  ')}),`]),
  ]
  return [
    options.length === 0
      ? `const answer = await fetch(${quoted(url)})`
      : [`const answer = await fetch(${quoted(url)}, {`, ...options, '})'].join('\n'),
    'if (!answer.ok) throw new Error(await answer.text())',
    `console.log(await answer.${isJson ? 'json' : 'text'}())`,
  ].join('\n')
}

const python = ({ method, url, headers, body, isJson, isPublic }: Request): string => {
  const all = [
    ...(isPublic ? [] : [`        'Authorization': f"Bearer {os.environ['POSTERN_KEY']}",`]),
    ...headers.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`),
  ]
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${quoted(url)},`,
    `    method=${quoted(method)},`,
    ...(all.length === 0 ? [] : ['    headers={', ...all, '    },']),
    ...(body === undefined ? [] : [`    data=json.dumps(${written(body, PYTHON, '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as answer:',
    `    print(${isJson ? 'json.load(answer)' : 'answer.read().decode()'})`,
  ].join('\n')
}

const php = ({ method, url, headers, body, isPublic }: Request): string => {
  const all = [
    ...(isPublic ? [] : ["    'Authorization: Bearer ' . getenv('POSTERN_KEY'),"]),
    ...headers.map(([name, value]) => `    ${quoted(`${name}: ${value}`)},`),
  ]
  return [
    '<?php',
    "$request = ['http' => [",
    `  'method' => ${quoted(method)},`,
    "  'ignore_errors' => true,",
    ...(all.length === 0 ? [] : ["  'header' => [", ...all, '  ],']),
    ...(body === undefined ? [] : [`  'content' => json_encode(${written(body, PHP, '  ')}),`]),
    ']];',
    `echo file_get_contents(${quoted(url)}, false, stream_context_create($request));`,
  ].join('\n')
}

export const samplesOf = (operation: ReferenceOperation, baseUrl: string): readonly Sample[] => {
  const request = requestOf(operation, baseUrl)
  return [
    { name: 'curl', text: curl(request) },
    { name: 'Node', text: node(request) },
    { name: 'Python', text: python(request) },
    { name: 'PHP', text: php(request) },
  ]
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

type Schemas = Readonly<Record<string, Schema>>

export interface SchemaField {
  /** From the root: `to`, `data[].id`. */
  readonly name: string
  readonly depth: number
  /** In words: `string or null`, `list of objects`. */
  readonly type: string
  readonly required: boolean
  readonly says: readonly string[]
  readonly oneOf: readonly string[]
}

const DEEPEST = 6

const target = (schema: Schema, schemas: Schemas): Schema => {
  const name = schema.$ref?.split('/').at(-1)
  if (name === undefined) return schema
  const { $ref: _, ...own } = schema
  return { ...schemas[name], ...own }
}

/** The forms that a value may have, null among them. */
const forms = (schema: Schema, schemas: Schemas): readonly Schema[] =>
  // an empty list is as good as absent, and no form of the value
  allForms(schema, schemas).filter(({ maxItems }) => maxItems !== 0)

const allForms = (schema: Schema, schemas: Schemas): readonly Schema[] => {
  const whole = target(schema, schemas)
  // beside a type, anyOf says which members belong together
  if (whole.anyOf === undefined || whole.type !== undefined) return [whole]
  const { anyOf, ...common } = whole
  return anyOf.flatMap((one) => allForms(one, schemas)).map((one) => ({ ...common, ...one }))
}

const PLURAL: Readonly<Record<string, string>> = { any: 'anything' }
const plural = (word: string): string => PLURAL[word] ?? `${word}s`

const wordOf = (form: Schema, schemas: Schemas): string => {
  if (form.type !== 'array') return form.type ?? 'any'
  const inner = forms(form.items ?? {}, schemas).map((one) => plural(wordOf(one, schemas)))
  return `list of ${[...new Set(inner)].join(' or ')}`
}

const range = (least: number | undefined, most: number | undefined, unit: string): string | null => {
  if (most !== undefined && least !== undefined && least === most) return `exactly ${figure(most)}${unit}`
  if (most !== undefined)
    return `${least === undefined ? 'at most' : `${figure(least)} to`} ${figure(most)}${unit}`
  return least === undefined ? null : `at least ${figure(least)}${unit}`
}

const limitsOf = (form: Schema): readonly string[] =>
  [
    // that a text is not empty goes without saying
    form.maxLength === undefined ? null : range(form.minLength, form.maxLength, ' characters'),
    range(form.minItems, form.maxItems, ' entries'),
    // so does that a count is not negative
    form.maximum === undefined && form.minimum === 0 ? null : range(form.minimum, form.maximum, ''),
    form.default === undefined ? null : `${JSON.stringify(form.default)} when left out`,
  ].filter((one) => one !== null)

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, '.')

/** The plainest first: a text, a list of them, nothing. */
const rank = (word: string): number => (word === 'null' ? 2 : word.startsWith('list of') ? 1 : 0)

const lineOf = (
  name: string,
  depth: number,
  required: boolean,
  schema: Schema,
  schemas: Schemas,
): SchemaField => {
  const all = forms(schema, schemas)
  const words = [...new Set(all.map((one) => wordOf(one, schemas)))].sort((a, b) => rank(a) - rank(b))
  const described =
    target(schema, schemas).description ?? all.find(({ description }) => description)?.description
  return {
    name,
    depth,
    type: words.join(' or '),
    required,
    says: [...(described === undefined ? [] : [described]), ...new Set(all.flatMap(limitsOf))].map(sentence),
    oneOf: all.flatMap((one) => [...(one.enum ?? []), ...(one.items?.enum ?? [])]).map(String),
  }
}

const join = (parent: string, name: string): string => (parent === '' ? name : `${parent}.${name}`)

const below = (schema: Schema, schemas: Schemas, parent: string, depth: number): readonly SchemaField[] => {
  if (depth > DEEPEST) return []
  const lines = new Map<string, readonly SchemaField[]>()
  for (const form of forms(schema, schemas)) {
    if (form.type === 'array') {
      for (const line of below(form.items ?? {}, schemas, `${parent}[]`, depth)) lines.set(line.name, [line])
    }
    for (const [name, one] of Object.entries(form.properties ?? {})) {
      const path = join(parent, name)
      const line = lineOf(path, depth, form.required?.includes(name) ?? false, one, schemas)
      lines.set(path, [line, ...below(one, schemas, path, depth + 1)])
    }
    const { additionalProperties: others } = form
    if (typeof others === 'object') {
      const path = join(parent, '*')
      lines.set(path, [
        lineOf(path, depth, false, others, schemas),
        ...below(others, schemas, path, depth + 1),
      ])
    }
  }
  return [...lines.values()].flat()
}

const fieldsOf = (schema: Schema, schemas: Schemas): readonly SchemaField[] => below(schema, schemas, '', 0)

export const fieldOf = (name: string, required: boolean, schema: Schema): SchemaField =>
  lineOf(name, 0, required, schema, {})

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Answer {
  readonly status: number
  readonly media: string
  readonly example: unknown
  readonly fields: () => readonly SchemaField[]
}

export interface ReferenceOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly description: string
  readonly isPublic: boolean
  readonly parameters: readonly Parameter[]
  readonly request: {
    readonly required: boolean
    readonly example: unknown
    readonly fields: () => readonly SchemaField[]
  } | null
  readonly answers: readonly Answer[]
  readonly errors: readonly string[]
  readonly twin: { readonly command?: string; readonly reason?: string }
}

interface ErrorTitle {
  readonly status: number
  readonly title: string
  readonly description: string
}

export interface Reference {
  readonly baseUrl: string
  readonly groups: readonly { readonly name: string; readonly operations: readonly ReferenceOperation[] }[]
  readonly operations: ReadonlyMap<string, ReferenceOperation>
  readonly errors: ReadonlyMap<string, ErrorTitle>
}

interface Content {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, unknown>>
}

interface WrittenOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, Content>> }>>
  readonly 'x-cli': ReferenceOperation['twin']
}

interface Written {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>
  readonly components: {
    readonly schemas: Schemas
    readonly examples: Readonly<
      Record<
        string,
        {
          readonly summary: string
          readonly description: string
          readonly value: { readonly status: number }
        }
      >
    >
  }
}

/** `api-keys` is `API keys`. */
const groupName = (tag: string): string => {
  const words = tag.replace(/\.json$/, '').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/^pi /, 'PI ')
}

const operationOf = (
  method: string,
  path: string,
  written: WrittenOperation,
  schemas: Schemas,
): ReferenceOperation => {
  const responses = Object.entries(written.responses)
  const body = written.requestBody?.content['application/json']
  const answers = responses
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content }]) =>
      Object.entries(content).map(([media, { schema, example }]) => ({
        status: Number(status),
        media,
        example,
        fields: () => fieldsOf(schema, schemas),
      })),
    )
  return {
    id: written.operationId,
    method: method.toUpperCase(),
    path,
    group: groupName(written.tags[0] ?? ''),
    summary: written.summary,
    description: written.description,
    isPublic: written.security?.length === 0,
    parameters: written.parameters,
    request:
      body === undefined
        ? null
        : {
            required: written.requestBody?.required ?? false,
            example: body.example,
            fields: () => fieldsOf(body.schema, schemas),
          },
    answers,
    errors: responses.flatMap(([, { content }]) =>
      Object.keys(content['application/problem+json']?.examples ?? {}),
    ),
    twin: written['x-cli'],
  }
}

const read = (answer: AskAnswer): Reference => {
  const { servers, paths, components } = jsonOf<Written>(answer)
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => operationOf(method, path, one, components.schemas)),
  )
  const names = [...new Set(all.map(({ group }) => group))]
  const errors = Object.entries(components.examples).map(
    ([code, { summary, description, value }]) =>
      [code, { status: value.status, title: summary, description }] as const,
  )
  return {
    baseUrl: servers[0]?.url ?? '',
    groups: names.map((name) => ({ name, operations: all.filter(({ group }) => group === name) })),
    operations: new Map(all.map((one) => [one.id, one])),
    errors: new Map(errors),
  }
}

/** By base URL; a process has one, tests have several. */
const kept = new Map<string, Reference>()

/** null where this reader may not see it. */
export const referenceIfAny = async ({
  baseUrl,
  document,
}: Pick<SiteReader, 'baseUrl' | 'document'>): Promise<Reference | null> => {
  if (document === null) return null
  const found = kept.get(baseUrl)
  if (found !== undefined) return found
  const made = read(await document())
  kept.set(baseUrl, made)
  return made
}

export const referenceFor = async (reader: SiteReader): Promise<Reference> => {
  const found = await referenceIfAny(reader)
  if (found === null) throw new Error('these pages are for who may see the document')
  return found
}
