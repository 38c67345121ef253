/**
 * NAME      control-headers - fields that speak to the gateway, not to the reader
 * DESCRIPTION
 *   Applications that come from another provider steer it by header fields. All
 *   of those are taken out before relay, since they tell strangers how a system
 *   is set up; the ones for tags and metadata become tags here. The tables are
 *   data: a new provider is a new line.
 *   `X-Postern-*` is ours: what a client sends under that name never leaves.
 */

export interface HeaderTag {
  readonly name: string
  readonly value: string
}

/** A reader of one field: its decoded value to tags. */
type TagReader = (value: string) => HeaderTag[]

const MAX_TAGS = 50
const MAX_LENGTH = 256

/** The alphabet of tag names is ours (API.md §2.1); other providers allow more. */
const tag = (name: string, value: unknown): HeaderTag[] => {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
  const clean = text.replace(/[\x00-\x1f\x7f]+/g, ' ').trim()
  const key = name.trim().replace(/[^A-Za-z0-9_-]+/g, '_')
  return key === '' || clean === ''
    ? []
    : [{ name: key.slice(0, MAX_LENGTH), value: clean.slice(0, MAX_LENGTH) }]
}

const parseObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {} // a client's mistake in another provider's language is no reason to refuse its mail
  }
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value])

const one =
  (name = 'tag'): TagReader =>
  (value) =>
    tag(name, value)
const commaList: TagReader = (value) => value.split(',').flatMap((item) => tag('tag', item))
/** `a=b, c=d`; a word without `=` is a plain tag. */
const pairs: TagReader = (value) =>
  value.split(',').flatMap((item) => {
    const at = item.indexOf('=')
    return at < 0 ? tag('tag', item) : tag(item.slice(0, at), item.slice(at + 1))
  })
/** A JSON object of metadata. */
const object: TagReader = (value) =>
  Object.entries(parseObject(value)).flatMap(([name, item]) => tag(name, item))
/** A JSON object of which some members are metadata, and some are plain tags. */
const members =
  (metadata: readonly string[], tags: readonly string[]): TagReader =>
  (value) => {
    const found = parseObject(value)
    return [
      ...tags.flatMap((key) => list(found[key]).flatMap((item) => tag('tag', item))),
      ...metadata.flatMap((key) =>
        typeof found[key] === 'object' && found[key] !== null
          ? Object.entries(found[key]).flatMap(([name, item]) => tag(name, item))
          : [],
      ),
    ]
  }

/** Fields that become tags, by exact name. */
const TAG_FIELDS: Readonly<Record<string, TagReader>> = {
  'x-postern-tag': pairs,
  'x-pm-tag': one(),
  'x-ses-message-tags': pairs,
  'x-mailgun-tag': one(),
  'x-mailgun-variables': object,
  'x-mc-tags': commaList,
  'x-mc-metadata': object,
  'x-smtpapi': members(['unique_args'], ['category']),
  'x-msys-api': members(['metadata'], ['tags', 'campaign_id']),
  'x-postal-tag': one(),
  'x-mj-customid': one('custom_id'),
  'x-mailjet-campaign': one('campaign'),
  'x-mailin-tag': one(),
  'x-mailin-custom': one('custom'),
  'x-mt-category': one(),
  'x-mt-custom-variables': object,
}

/** Fields whose name goes on with the name of the tag. */
const TAG_PREFIXES: readonly string[] = ['x-pm-metadata-']

/** Everything under these names is taken out. */
const STRIPPED_PREFIXES: readonly string[] = [
  'x-postern-',
  'x-pm-',
  'x-ses-',
  'x-mailgun-',
  'x-mc-',
  'x-msys-',
  'x-mj-',
  'x-mailjet-',
  'x-mailin-',
  'x-sib-',
  'x-mt-',
  'x-postal-',
  'x-mailersend-',
  'x-sparkpost-',
]

const STRIPPED: ReadonlySet<string> = new Set([
  'idempotency-key',
  'resend-idempotency-key',
  'x-smtpapi',
  'x-xsmailingid',
  'x-xsmessageid',
])

export const IDEMPOTENCY_FIELDS: readonly string[] = ['idempotency-key', 'resend-idempotency-key']
export const SCHEDULE_FIELD = 'x-postern-scheduled-at'
/** `true` sends to suppressed addresses too, this once. */
export const IGNORE_SUPPRESSIONS_FIELD = 'x-postern-ignore-suppressions'

/** True for a field (lower-case name) that is for the gateway alone. */
export const isControlHeader = (name: string): boolean =>
  STRIPPED.has(name) || (name.startsWith('x-') && STRIPPED_PREFIXES.some((prefix) => name.startsWith(prefix)))

/** The tags in one control field; none for a field that is no control. */
export const readTags = (name: string, value: string): HeaderTag[] => {
  const prefix = TAG_PREFIXES.find((start) => name.startsWith(start) && name.length > start.length)
  if (prefix !== undefined) return tag(name.slice(prefix.length), value)
  const read = Object.hasOwn(TAG_FIELDS, name) ? TAG_FIELDS[name] : undefined
  return read === undefined ? [] : read(value).slice(0, MAX_TAGS)
}
