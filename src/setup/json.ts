/**
 * NAME      json - a setup that comes over the API
 *   The same sections and fields as in files, but what a file names there stands here itself: `secret` for `secret_file`,
 *   `key` for `key_file`, `auth` for `auth_file`, `headers` for `header_files`, `csv` and `test_csv` for files of lists; an upstream with secrets is an
 *   object of its `url` and them. A member that names a file of the server is refused, in the URL of an upstream too: whoever
 *   may call the API may not read what the daemon can.
 *   A key or webhook without `secret` gets a new one.
 */
import { FILES_OF_URL, OAUTH_FILES, SERVICE_SECRETS } from '../tenant/upstream.js'
import { KIND_NAMES, SECTIONS } from './fields.js'
import {
  Inline,
  InlineUpstream,
  isPlain,
  type Mistake,
  objectsOf,
  type Plain,
  SETUP_NAME,
  type Setup,
  SetupError,
} from './files.js'

const MOST_OBJECTS = 5_000

/** What stands in a member here, by the field that names its file. */
const INLINE: Readonly<Record<string, string>> = {
  secret_file: 'secret',
  key_file: 'key',
  auth_file: 'auth',
  header_files: 'headers',
  file: 'csv',
  test_file: 'test_csv',
}
const FIELD_OF = Object.fromEntries(Object.entries(INLINE).map(([field, member]) => [member, field]))

/** Of an upstream, by the word of its URL that would name a file. */
const UPSTREAM_SECRETS: Readonly<Record<string, string>> = {
  password: 'password_file',
  client_secret: 'client_secret_file',
  refresh_token: 'refresh_token_file',
  ...SERVICE_SECRETS,
}

type Bad = (path: readonly string[], message: string, kind?: Mistake['kind']) => void

const textIn = (value: unknown, path: readonly string[], bad: Bad): Inline => {
  if (typeof value !== 'string') bad(path, 'must be a text', 'type')
  return new Inline(typeof value === 'string' ? value : '')
}

const upstreamIn = (value: unknown, path: readonly string[], bad: Bad): unknown => {
  const { url, ...secrets } = isPlain(value) ? value : { url: value }
  if (typeof url !== 'string') {
    bad(path, 'must be a URL, or an object with a url', 'type')
    return ''
  }
  const words = URL.canParse(url) ? [...new URL(url).searchParams.keys()] : []
  for (const word of words)
    if (FILES_OF_URL.includes(word) || (OAUTH_FILES as readonly string[]).includes(word))
      bad(path, `${word} names a file of the server, which nothing over the API may`, 'forbidden')
  const given = Object.entries(secrets).flatMap(([name, text]) => {
    const word = UPSTREAM_SECRETS[name]
    if (word !== undefined && Object.hasOwn(UPSTREAM_SECRETS, name))
      return [[word, textIn(text, [...path, name], bad).text] as const]
    const isFile = name.endsWith('_file')
    bad(
      [...path, name],
      isFile ? 'names a file of the server' : 'is not known',
      isFile ? 'forbidden' : 'unknown',
    )
    return []
  })
  return given.length === 0 ? url : new InlineUpstream(url, Object.fromEntries(given))
}

const keyIn = (value: unknown, path: readonly string[], bad: Bad): unknown => {
  if (!isPlain(value)) return value
  if ('key_file' in value)
    bad([...path, 'key_file'], 'names a file of the server; give the key itself as `key`', 'forbidden')
  const { key, key_file: _, ...rest } = value
  return { ...rest, key_file: textIn(key, [...path, 'key'], bad) }
}

const memberIn = (
  member: string,
  value: unknown,
  path: readonly string[],
  bad: Bad,
): readonly [string, unknown] => {
  const field = Object.hasOwn(FIELD_OF, member) ? FIELD_OF[member] : undefined
  if (member === 'headers' && isPlain(value)) {
    const headers = Object.entries(value).map(([name, text]) => [name, textIn(text, [...path, name], bad)])
    return ['header_files', Object.fromEntries(headers)]
  }
  if (member === 'upstreams' && Array.isArray(value))
    return [member, value.map((one, i) => upstreamIn(one, [...path, String(i)], bad))]
  if (member === 'dkim' && Array.isArray(value))
    return [member, value.map((one, i) => keyIn(one, [...path, String(i)], bad))]
  return field === undefined || field === 'header_files' ? [member, value] : [field, textIn(value, path, bad)]
}

/** What is written to a file of the server, and what there is instead. */
const WRITTEN: Readonly<Record<string, string>> = {
  out: 'leave it out: a new secret is in the answer',
  ses_out: 'make such a key with POST /v1/api-keys',
}

const isFileField = (member: string): boolean =>
  Object.hasOwn(WRITTEN, member) || Object.hasOwn(INLINE, member)

const objectIn = (value: unknown, path: readonly string[], bad: Bad): unknown => {
  if (!isPlain(value)) return value
  const members = Object.entries(value).flatMap(([member, given]) => {
    if (!isFileField(member)) return [memberIn(member, given, [...path, member], bad)]
    const remedy = WRITTEN[member] ?? `give what is in it as \`${INLINE[member]}\``
    bad([...path, member], `names a file of the server; ${remedy}`, 'forbidden')
    return []
  })
  return Object.fromEntries(members)
}

const NAMES = new Map(KIND_NAMES.map((kind) => [SECTIONS[kind].section, kind]))

/** The path of a member as the caller wrote it. */
const placeOf = (path: readonly (string | number)[]): string =>
  ['body.setup', ...path.map((one) => (Object.hasOwn(INLINE, one) ? INLINE[one] : one))].join('.')

/** Throws SetupError where it is none at all; its mistakes are of the members. */
export const readJsonSetup = (body: Plain): Setup => {
  const mistakes: Mistake[] = []
  const bad: Bad = (path, message, kind = 'format') =>
    void mistakes.push({ where: placeOf(path), message, kind })
  const sections = Object.entries(body).map(([section, members]) => {
    if (!NAMES.has(section) || !isPlain(members)) return [section, members]
    return [
      section,
      Object.fromEntries(
        Object.entries(members).map(([name, one]) => [name, objectIn(one, [section, name], bad)]),
      ),
    ]
  })
  const content = Object.fromEntries(sections)
  const parsed = { file: '', content, line: placeOf }
  const objects = objectsOf(parsed, (where, message) => void mistakes.push({ where, message })).map(
    (one) => ({
      ...one,
      isInline: true as const,
    }),
  )
  if (objects.length > MOST_OBJECTS)
    throw new SetupError([
      { where: 'body.setup', message: `describes more than ${MOST_OBJECTS} things`, kind: 'too_many' },
    ])
  const { setup: name } = body
  if (typeof name !== 'string' || !SETUP_NAME.test(name)) {
    const kind = name === undefined ? 'missing' : 'format'
    mistakes.push({ where: 'body.setup.setup', message: 'must be 1 to 63 of a-z 0-9 . _ -', kind })
  }
  return { name: String(name), objects, mistakes }
}
