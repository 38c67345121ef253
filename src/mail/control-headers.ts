/**
 * NAME      control-headers - fields that speak to the gateway, not to the reader
 * DESCRIPTION
 *   Applications that come from another provider steer it by header fields. All
 *   of those are taken out before relay, since they tell strangers how a system
 *   is set up; the ones for tags and metadata become tags here. Those that would
 *   have the mail go at another time, to other people or not at all mean nothing
 *   here, and a mail that counts on one is refused. The tables are data: a new
 *   provider is a new line.
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

type Effect = 'when' | 'whom' | 'whether'

/** What each effect is called, and what has it here. */
const TOLD: Readonly<Record<Effect, string>> = {
  when: 'asks for another time of sending; that is for scheduled_at, or X-Postern-Scheduled-At over SMTP',
  whom: 'asks for other recipients, and mail goes to those of the request only',
  whether: 'asks that the mail may stay unsent, and every mail that is taken is sent',
}

/** Which effect a value asks for, if any. */
type EffectReader = (value: string) => Effect | null

const any =
  (effect: Effect): EffectReader =>
  (value) =>
    value.trim() === '' ? null : effect
const unlessNo =
  (effect: Effect): EffectReader =>
  (value) =>
    /^\s*(?:no|false|off|0|n)?\s*$/i.test(value) ? null : effect

const isGiven = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value) && value !== 'false'

/** Members of a JSON object, some of them one level down (`options.sandbox`). */
const effects =
  (of: Readonly<Record<string, Effect>>): EffectReader =>
  (value) => {
    const found = parseObject(value)
    const at = (path: string): unknown =>
      path
        .split('.')
        .reduce<unknown>(
          (here, name) => (typeof here === 'object' && here !== null ? Reflect.get(here, name) : undefined),
          found,
        )
    return Object.entries(of).find(([path]) => isGiven(at(path)))?.[1] ?? null
  }

/** Fields on which a client may count, and which nobody heeds. */
const UNHEEDED: Readonly<Record<string, EffectReader>> = {
  'x-smtpapi': effects({ to: 'whom', send_at: 'when', send_each_at: 'when' }),
  'x-msys-api': effects({
    cc: 'whom',
    bcc: 'whom',
    archive: 'whom',
    'options.start_time': 'when',
    'options.sandbox': 'whether',
  }),
  'x-mc-sendat': any('when'),
  'x-mc-bccaddress': any('whom'),
  'x-mailgun-deliver-by': any('when'),
  'x-mailgun-delivery-time-optimize-period': any('when'),
  'x-mailgun-time-zone-localize': any('when'),
  'x-mailgun-drop-message': unlessNo('whether'),
  'x-mailjet-deduplicatecampaign': unlessNo('whether'),
  'x-mj-deduplicatecampaign': unlessNo('whether'),
  'x-sib-sandbox': any('whether'),
}

/** What a control field (lower-case name) asks for that is not done here, in words after its name; null for all others. */
export const unheeded = (name: string, value: string): string | null => {
  const effect = Object.hasOwn(UNHEEDED, name) ? UNHEEDED[name]?.(value) : null
  return effect ? TOLD[effect] : null
}

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
