/**
 * NAME      control-headers - fields that speak to the gateway, not to the reader
 *   Applications that come from another provider steer it by header fields. All
 *   of those are taken out before relay, since they tell strangers how a system
 *   is set up; the ones for tags and metadata become tags here, and those for a
 *   time of sending are kept to. Those that would have the mail go to other people,
 *   with another text or not at all mean nothing here, and a mail that counts on one is
 *   refused. The tables are data: a new provider is a new line, and CONTROL-HEADERS.md
 *   beside this file is made of them.
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

/** The alphabet of tag names is ours; other providers allow more. */
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
export const TAG_FIELDS: Readonly<Record<string, TagReader>> = {
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
export const TAG_PREFIXES: readonly string[] = ['x-pm-metadata-']

/** Everything under these names is taken out. */
export const STRIPPED_PREFIXES: readonly string[] = [
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

export const STRIPPED: ReadonlySet<string> = new Set([
  'idempotency-key',
  'resend-idempotency-key',
  'x-smtpapi',
  'x-xsmailingid',
  'x-xsmessageid',
])

type Effect = 'when' | 'whom' | 'whether' | 'what'

/** What each effect is called, and what has it here. */
export const TOLD: Readonly<Record<Effect, string>> = {
  when: 'asks for another time of sending; that is for scheduled_at, or X-Postern-Scheduled-At over SMTP',
  whom: 'asks for other recipients, and mail goes to those of the request only',
  whether: 'asks that the mail may stay unsent, and every mail that is taken is sent',
  what: 'asks for another text, of a template or for each recipient, and mail goes out as it was written',
}

/** With which value a field asks: any, any that does not say no, or by members of a JSON object, some of them further down. */
type Asks =
  | { readonly any: Effect }
  | { readonly unlessNo: Effect }
  | { readonly members: Readonly<Record<string, Effect>> }

/** Fields on which a client may count, and which nobody heeds. */
export const UNHEEDED: Readonly<Record<string, Asks>> = {
  'x-smtpapi': {
    members: {
      to: 'whom',
      sub: 'what',
      substitution: 'what',
      substitutions: 'what',
      section: 'what',
      sections: 'what',
      send_each_at: 'when',
      asm_group_id: 'whether',
      'filters.bcc.settings.enable': 'whom',
      'filters.bypass_list_management.settings.enable': 'whether',
      'filters.spamcheck.settings.enable': 'whether',
      'filters.template.settings.enable': 'what',
      'filters.templates.settings.enable': 'what',
      'filters.footer.settings.enable': 'what',
      'filters.subscriptiontrack.settings.enable': 'what',
      'mail_settings.sandbox_mode.enable': 'whether',
    },
  },
  'x-msys-api': {
    members: {
      cc: 'whom',
      bcc: 'whom',
      archive: 'whom',
      substitution_data: 'what',
      'options.start_time': 'when',
      'options.sandbox': 'whether',
      'options.skip_suppression': 'whether',
    },
  },
  'x-mc-bccaddress': { any: 'whom' },
  'x-mc-mergevars': { any: 'what' },
  'x-mc-template': { any: 'what' },
  'x-mailgun-deliver-within': { any: 'whether' },
  'x-mailgun-delivery-time-optimize-period': { any: 'when' },
  'x-mailgun-time-zone-localize': { any: 'when' },
  'x-mailgun-drop-message': { unlessNo: 'whether' },
  'x-mailgun-recipient-variables': { any: 'what' },
  'x-mailgun-template-name': { any: 'what' },
  'x-ses-list-management-options': { any: 'whether' },
  'x-mailjet-deduplicatecampaign': { unlessNo: 'whether' },
  'x-mj-deduplicatecampaign': { unlessNo: 'whether' },
  'x-mj-templateid': { any: 'what' },
  'x-mj-templatelanguage': { unlessNo: 'what' },
  'x-mj-vars': { any: 'what' },
  'x-mailin-template': { any: 'what' },
  'x-sib-sandbox': { any: 'whether' },
}

const NO = /^\s*(?:no|false|off|0|n)?\s*$/i

/** True for what is there and is not empty, and does not say no. */
const isGiven = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return !NO.test(String(value ?? ''))
}

/** A member of a JSON object, by names with dots between. */
const memberOf = (text: string, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (here, name) =>
        typeof here === 'object' && here !== null && Object.hasOwn(here, name)
          ? Reflect.get(here, name)
          : undefined,
      parseObject(text),
    )

/** What a control field (lower-case name) asks for that is not done here, in words after its name; null for all others. */
export const unheeded = (name: string, value: string): string | null => {
  const asks = Object.hasOwn(UNHEEDED, name) ? UNHEEDED[name] : undefined
  if (asks === undefined) return null
  if ('any' in asks) return value.trim() === '' ? null : TOLD[asks.any]
  if ('unlessNo' in asks) return NO.test(value) ? null : TOLD[asks.unlessNo]
  const found = Object.entries(asks.members).find(([path]) => isGiven(memberOf(value, path)))
  return found === undefined ? null : `(${found[0]}) ${TOLD[found[1]]}`
}

const DATE =
  /^(?:[a-z]{3},\s*)?\d{1,2}\s+[a-z]{3}\s+\d{4}\s+\d\d:\d\d(?::\d\d)?\s*(?:[+-]\d{4}|GMT|UTC?|Z|[ECMP][SD]T)(?:\s*\(.*\))?$/i

const isoOf = (time: number): string | null =>
  Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : null

/** Seconds since 1970, or null. */
const fromSeconds = (text: string): string | null =>
  /^\d{9,11}$/.test(text) ? isoOf(Number(text) * 1000) : null

/** As RFC 5322 writes it, with a zone: without one it means another moment to everybody. */
const fromDate = (text: string): string | null => (DATE.test(text) ? isoOf(Date.parse(text)) : null)

/** `2026-12-24 08:00:00`, which is in UTC. */
const fromUtc = (text: string): string | null =>
  /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?$/.test(text) ? `${text}Z` : null

/** Fields by which others are told when to send, and how each writes it; `path` within a JSON object. */
export const SCHEDULES: Readonly<
  Record<
    string,
    { readonly path?: string; readonly read: (text: string) => string | null; readonly form: string }
  >
> = {
  'x-mailgun-deliver-by': {
    read: (text) => fromDate(text) ?? fromSeconds(text),
    form: 'a date with its zone, as in Date, or seconds since 1970',
  },
  'x-mc-sendat': { read: fromUtc, form: '`YYYY-MM-DD HH:MM:SS` in UTC' },
  'x-smtpapi': { path: 'send_at', read: fromSeconds, form: 'seconds since 1970' },
}

/** When a control field asks to send, as scheduled_at takes it: in ISO 8601, or as it stands where nobody can read it. */
export const scheduleIn = (name: string, value: string): string | null => {
  if (name === SCHEDULE_FIELD) return value.trim() || null
  const schedule = Object.hasOwn(SCHEDULES, name) ? SCHEDULES[name] : undefined
  if (schedule === undefined) return null
  const given = schedule.path === undefined ? value : memberOf(value, schedule.path)
  const text = isGiven(given) ? String(given).trim() : ''
  return text === '' ? null : (schedule.read(text) ?? text)
}

export const IDEMPOTENCY_FIELDS: readonly string[] = ['idempotency-key', 'resend-idempotency-key']
export const SCHEDULE_FIELD = 'x-postern-scheduled-at'
/** The mailing list that a link in the header unsubscribes from. */
export const UNSUBSCRIBE_FIELD = 'x-postern-unsubscribe'
export const IGNORE_SUPPRESSIONS_FIELD = 'x-postern-ignore-suppressions'

/** Fields of our own that become no tags, and what each does, for the page. */
export const OWN_FIELDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    IDEMPOTENCY_FIELDS.map((name) => [
      name,
      'kept to: who says the same key again within 24 hours sends no second mail',
    ]),
  ),
  [SCHEDULE_FIELD]:
    'kept to: schedules the mail; a time with its zone, `in 10 min` or `tomorrow at 9am` (UTC)',
  [UNSUBSCRIBE_FIELD]: 'kept to: names the mailing list that a link in the header unsubscribes from',
  [IGNORE_SUPPRESSIONS_FIELD]: 'kept to: `true`, `yes` or `1` sends also to suppressed addresses, this once',
}

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
