/**
 * NAME      samples - one request in four languages
 * DESCRIPTION
 *   Made from the document's own example and the address where this gateway is reached, so that a sample can be pasted
 *   and run as it stands. Each uses only what its language brings along. The key comes from the environment:
 *   POSTERN_KEY.
 */
import type { Sample } from '../../parts/page-parts.js'
import type { Operation } from './reference.js'

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
const pathValue = (operation: Operation, name: string): string => {
  const answer = operation.answers[0]?.example
  const first = (answer as { data?: readonly unknown[] } | undefined)?.data?.[0]
  const known = name === 'id' ? member(answer, 'id') : member(answer, `${name}_id`)
  return known ?? member(answer, name) ?? member(first, `${name}_id`) ?? name.toUpperCase()
}

const requestOf = (operation: Operation, baseUrl: string): Request => {
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

export const samplesOf = (operation: Operation, baseUrl: string): readonly Sample[] => {
  const request = requestOf(operation, baseUrl)
  return [
    { name: 'curl', text: curl(request) },
    { name: 'Node', text: node(request) },
    { name: 'Python', text: python(request) },
    { name: 'PHP', text: php(request) },
  ]
}
