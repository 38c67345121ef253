/**
 * NAME      mailgun - the API of Mailgun
 *   POST /v3/{domain}/messages and messages.mime with Basic `api:KEY`, as forms. Some names of a form may repeat; others are
 *   a mistake the second time, since which of the two is meant is not ours to guess. Its clients read `id` and a `message` that begins with `Queued`; of errors
 *   `message`, and of 401 the text `Forbidden`. Variables (`v:`) become tags, as those of X-Mailgun-Variables do, since
 *   applications read them from events.
 */
import type { IncomingMessage } from 'node:http'
import { Fault, type FieldError, orElse } from '../../base/fault.js'
import { normalizeAddress, parseAddress } from '../../mail/address.js'
import { type HeaderTag, readTags, scheduleIn } from '../../mail/control-headers.js'
import type { EmailRecord } from '../../store/port/mail.js'
import type { Syntax } from '../../submission/merge.js'
import { MOST_TAGS } from '../../submission/validate.js'
import type { FormPart } from '../wire/body.js'
import { headerValue } from '../wire/values.js'
import {
  addHeader,
  addressesIn,
  type Dialect,
  type DialectCall,
  isObject,
  LONGEST_TAG,
  type MailMerge,
  Making,
  sentence,
  type Translated,
} from './dialect.js'

/** What a part of the form does to a mail. */
type PartTaker = (mail: Making, part: FormPart) => void

const textOnly =
  (take: (mail: Making, value: string, field: string) => void): PartTaker =>
  (mail, { name, value, file }) =>
    file === null ? take(mail, value, name) : mail.wrong(name, 'type', 'must be a text, and not a file')

const one = (name: string): PartTaker =>
  textOnly((mail, value) => {
    mail.wire[name] = value
  })

/** Addresses, in as many parts as there are, or with commas between them. */
const many = (name: string): PartTaker =>
  textOnly((mail, value) => {
    mail.wire[name] ??= []
    for (const address of addressesIn(value)) (mail.wire[name] as string[]).push(address)
  })

const file =
  (isInline: boolean): PartTaker =>
  (mail, { name, value, file }) => {
    if (file === null)
      return mail.wrong(name, 'type', 'must be a file: a part of multipart/form-data with a filename')
    const { filename, type } = file
    mail.wire.attachments ??= []
    ;(mail.wire.attachments as object[]).push({
      filename: filename === '' ? null : filename,
      content: value,
      content_type: type,
      ...(isInline && { content_id: filename }),
    })
  }

const message: PartTaker = (mail, { file, value }) => {
  mail.wire.raw = file === null ? Buffer.from(value).toString('base64') : value
}

const YES = /^(?:yes|true|on|1)$/i
const NO = /^(?:no|false|off|0)$/i

/** Means nothing where it says `calm`, and is refused where it says another thing. */
const only = (calm: RegExp, why: string): PartTaker =>
  textOnly((mail, value, field) => calm.test(value.trim()) || mail.refuse(field, why))

const refused =
  (why: string): PartTaker =>
  (mail, { name }) =>
    mail.refuse(name, why)

const switched = (take: (mail: Making, isOn: boolean) => void): PartTaker =>
  textOnly((mail, value, field) => {
    const text = value.trim()
    if (YES.test(text) || NO.test(text)) take(mail, YES.test(text))
    else mail.wrong(field, 'format', 'must be yes or no')
  })

const deliveryTime: PartTaker = (mail, part) => {
  const text = part.value.trim()
  const time = scheduleIn('x-mailgun-deliver-by', text)
  if (part.file === null && time === text)
    return mail.wrong(
      part.name,
      'format',
      'must be a date with its zone, as in the field Date, or seconds since 1970',
    )
  one('scheduled_at')(mail, { ...part, value: time ?? '' })
}

const tagged = (read: (value: string, field: string) => readonly HeaderTag[]): PartTaker =>
  textOnly((mail, value, field) => {
    if (value.length > LONGEST_TAG) mail.wrong(field, 'length', `must have at most ${LONGEST_TAG} characters`)
    else mail.tags.push(...read(value, field))
  })

const WATCHED = 'asks that readers are watched, which is not done here'
const TEMPLATE = 'asks for a text of a template, and mail goes out as it was written'
const POOL = 'names an address to send from; mail goes by the pool of its workspace'
const WHEN = 'asks for a time that is chosen for each reader; say one in o:deliverytime'

const OPTIONS: Readonly<Record<string, PartTaker>> = {
  'o:tag': tagged((value) => readTags('x-mailgun-tag', value)),
  'o:deliverytime': deliveryTime,
  'o:testmode': switched(() => {}),
  'o:tracking': only(NO, WATCHED),
  'o:tracking-clicks': only(NO, WATCHED),
  'o:tracking-opens': only(NO, WATCHED),
  'o:tracking-pixel-location-top': only(NO, WATCHED),
  'o:dkim': only(YES, 'asks for mail without a signature; it is signed as its domain has it'),
  'o:require-tls': switched((mail, isOn) => {
    mail.requireTls = isOn
  }),
  'o:skip-verification': only(NO, 'asks to trust every certificate; upstreams say what they are checked by'),
  'o:sending-ip': refused(POOL),
  'o:sending-ip-pool': refused(POOL),
  'o:deliverytime-optimize-period': refused(WHEN),
  'o:time-zone-localize': refused(WHEN),
}

const COMPOSED: Readonly<Record<string, PartTaker>> = {
  ...OPTIONS,
  from: one('from'),
  to: many('to'),
  cc: many('cc'),
  bcc: many('bcc'),
  subject: one('subject'),
  text: one('text'),
  html: one('html'),
  attachment: file(false),
  inline: file(true),
  'amp-html': refused('is a text that mail programs fetch things for, which is not sent here'),
  template: refused(TEMPLATE),
  'recipient-variables': textOnly(() => {}),
}

const WHOLE: Readonly<Record<string, PartTaker>> = { ...OPTIONS, to: many('to'), message }

const header: PartTaker = textOnly((mail, value, field) => {
  const name = field.slice(2)
  // no header is called so, and objects have it already
  if (name === '__proto__') mail.refuse(field, 'is no name of a header field')
  else if (name.toLowerCase() === 'reply-to') many('reply_to')(mail, { name: field, value, file: null })
  else addHeader(mail, name, value, field)
})

const variable = tagged((value, field) =>
  readTags('x-mailgun-variables', JSON.stringify({ [field.slice(2)]: value })),
)

/** Takers of names that go on as the caller likes. */
const PREFIXED: Readonly<Record<string, PartTaker>> = {
  'h:': header,
  'v:': variable,
  't:': refused(TEMPLATE),
}

const takerOf = (name: string, takers: Readonly<Record<string, PartTaker>>): PartTaker | undefined => {
  if (Object.hasOwn(takers, name)) return takers[name]
  const prefix = name.slice(0, 2)
  if (name.length === 2 || !Object.hasOwn(PREFIXED, prefix)) return undefined
  // what came whole has a header of its own
  return prefix === 'h:' && takers === WHOLE ? undefined : PREFIXED[prefix]
}

const isEmptyPart = ({ value, file }: FormPart): boolean =>
  value === '' && (file === null || file.filename === '')

/** What it replaces by itself. */
const REPLACED = /%(?:recipient|recipient_\w+|(?:\w+_)?unsubscribe_url)%/

const refuseReplaced = (mail: Making): void => {
  for (const name of ['subject', 'html', 'text']) {
    const [found] = REPLACED.exec(String(mail.wire[name] ?? '')) ?? []
    if (found !== undefined) mail.refuse(name, `has ${found}, which nobody replaces here`)
  }
}

const PLACES: Syntax = {
  place: /%recipient\.([^%\r\n<>"'&]{1,64})%/g,
  almost: null,
  show: (name) => `%recipient.${name}%`,
}
const MOST_VARIABLES = 100
const VARIABLE_BYTES = 8 * 1024

const isText = (value: unknown): boolean =>
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value))

/** The values of one recipient, with what is wrong about them. */
const textsIn = (mail: Making, given: unknown, at: string): ReadonlyMap<string, string> => {
  const entries = isObject(given) ? Object.entries(given) : []
  if (!isObject(given) || !entries.every(([, value]) => isText(value)))
    mail.wrong(at, 'type', 'must be an object of texts and numbers')
  else if (entries.length > MOST_VARIABLES)
    mail.wrong(at, 'too_many', `must have at most ${MOST_VARIABLES} members`)
  else if (entries.some(([, value]) => Buffer.byteLength(String(value)) > VARIABLE_BYTES))
    mail.wrong(at, 'length', 'must have at most 8 KiB in each text')
  return new Map(entries.map(([name, value]) => [name, String(value)]))
}

const jsonOf = (text: string): unknown => orElse(() => JSON.parse(text), undefined)

const FOR_EACH = 'recipient-variables'

/** Letters of an address that a mistake repeats. */
const MOST_NAMED = 320

/** What it says of each recipient, by their addresses; null with what is wrong about it, or where it is not there. */
const variablesIn = (mail: Making, body: unknown): ReadonlyMap<string, unknown> | null => {
  const said = textNamed(body, FOR_EACH)
  if (said === undefined) return null
  const given = jsonOf(said)
  if (isObject(given))
    return new Map(Object.entries(given).map(([who, one]) => [normalizeAddress(who.trim()), one]))
  mail.wrong(FOR_EACH, 'format', 'must be a JSON object of addresses and their variables')
  return null
}

/** Each of `to` gets a mail of its own, with its values; they are named by its address alone. */
const mergeIn = (mail: Making, body: unknown): MailMerge | null => {
  const given = variablesIn(mail, body)
  if (given === null) return null
  for (const name of ['cc', 'bcc'])
    if (Object.hasOwn(mail.wire, name))
      mail.refuse(name, `must not stand beside ${FOR_EACH}: it would get a mail for each of to`)
  const to = (mail.wire.to ?? []) as readonly string[]
  if (to.length > MOST) mail.wrong('to', 'too_many', `must be at most ${MOST}`)
  const [place] = to.flatMap((who) => who.match(PLACES.place) ?? [])
  if (place !== undefined) mail.refuse('to', `has ${place}: it says who the values are for`)
  const found = to.slice(0, MOST).map((who, place) => {
    const address = parseAddress(who)?.address ?? who
    return { to: who, place, address, normal: normalizeAddress(address) }
  })
  // of repeats the first counts, as where one mail is for all
  const each = new Map(found.toReversed().map((one) => [one.normal, one]))
  const values = found
    .filter((one) => each.get(one.normal) === one)
    .map(({ to, place, address, normal }) => {
      const at = `${FOR_EACH}.${address.slice(0, MOST_NAMED)}`
      return { to, place, at, texts: textsIn(mail, given.get(normal) ?? {}, at) }
    })
  return { syntax: PLACES, field: nameOf, values }
}

const MOST = 1_000

const partsOf = (body: unknown): readonly FormPart[] => (body ?? []) as readonly FormPart[]

/** All others stand once. */
const REPEATABLE = new Set(['to', 'cc', 'bcc', 'o:tag', 'attachment', 'inline'])

const translated = (body: unknown, takers: Readonly<Record<string, PartTaker>>): Translated => {
  const mail = new Making()
  const names = new Set<string>()
  for (const part of partsOf(body)) {
    if (isEmptyPart(part)) continue
    // names of header fields are the same in any letters
    const name = part.name.startsWith('h:') ? part.name.toLowerCase() : part.name
    const take = takerOf(part.name, takers)
    if (take === undefined) mail.refuse(part.name, 'is not known here')
    else if (names.has(name)) mail.wrong(part.name, 'not_unique', 'must not repeat')
    else take(mail, part)
    if (!REPEATABLE.has(name)) names.add(name)
  }
  refuseReplaced(mail)
  if (mail.tags.length > MOST_TAGS)
    mail.wrong('o:tag', 'too_many', `must be at most ${MOST_TAGS}, with all v:`)
  if (takers === COMPOSED) mail.merge = mergeIn(mail, body)
  return mail
}

/** Of what stands once; an empty part is none. */
const textNamed = (body: unknown, name: string): string | undefined =>
  partsOf(body).find((part) => part.name === name && !isEmptyPart(part))?.value

const queued = (id: string): string => JSON.stringify({ id, message: 'Queued. Thank you.' })

/** Composing more files takes longer than others should wait. */
const MANY_FILES = 50

const callOf = (
  path: string,
  summary: string,
  most: number,
  translate: (body: unknown) => readonly Translated[],
): DialectCall => ({
  path: `/v3/{domain}/${path}`,
  summary,
  most,
  each: false,
  translate,
  isPlain: (body) => partsOf(body).every(({ name, file }) => file === null && name !== 'recipient-variables'),
  isLong: (body) =>
    partsOf(body).filter(({ file }) => file !== null).length > MANY_FILES ||
    textNamed(body, 'recipient-variables') !== undefined,
  isTrial: (body) => YES.test(textNamed(body, 'o:testmode')?.trim() ?? ''),
  tried: (requestId) =>
    JSON.stringify({
      id: `<${requestId}@testmode>`,
      message: 'Queued. Thank you: checked, and not sent (o:testmode).',
    }),
  keep: ([record]) => (record as EmailRecord).messageId,
  answer: (id) => ({ status: 200, body: queued(id) }),
})

const required = (mail: Translated, name: string, ours = name): Translated =>
  Object.hasOwn(mail.wire, ours) || mail.errors.some(({ field }) => field === name)
    ? mail
    : { ...mail, errors: [...mail.errors, { field: name, kind: 'missing', message: 'is required' }] }

/** What our own members are called there. */
const NAMES: Readonly<Record<string, string>> = {
  reply_to: 'h:Reply-To',
  scheduled_at: 'o:deliverytime',
  raw: 'message',
}

const nameOf = (field: string): string =>
  field
    .replace(/^headers\./, 'h:')
    .replace(/^headers\["(.*)"\]$/, 'h:$1')
    .replace(/^attachments(\[\d+\])(?=\.content_id$)/, 'inline$1')
    .replace(/^attachments(?=\[)/, 'attachment')
    .replace(/^[a-z_]+/, (name) => (Object.hasOwn(NAMES, name) ? (NAMES[name] as string) : name))

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i

/** The key of `api:KEY`; null without any. */
const keyOf = (req: IncomingMessage): string | null => {
  const value = headerValue(req, 'authorization')
  if (value === null) return null
  const pair = Buffer.from(BASIC.exec(value)?.[1] ?? '', 'base64').toString('latin1')
  const [, key] = /^api:([!-~]+)$/.exec(pair) ?? []
  if (key === undefined) throw new Fault('auth.credentials_invalid')
  return key
}

/** Mistakes of one request that its answer tells. */
const MOST_TOLD = 10

const words = (errors: readonly FieldError[], fallback: string): string => {
  if (errors.length === 0) return fallback
  const told = errors.slice(0, MOST_TOLD).map(sentence)
  return [...told, ...(errors.length > told.length ? [`and ${errors.length - told.length} more`] : [])].join(
    '; ',
  )
}

export const mailgun: Dialect = {
  name: 'mailgun',
  provider: 'Mailgun',
  forms: true,
  calls: [
    callOf('messages', `Send an email, or up to ${MOST} of one text, as Mailgun takes them`, MOST, (body) => [
      required(required(translated(body, COMPOSED), 'from'), 'to'),
    ]),
    callOf('messages.mime', 'Send a whole message, as Mailgun takes it', 1, (body) => [
      required(required(translated(body, WHOLE), 'to'), 'message', 'raw'),
    ]),
  ],
  credential: keyOf,
  told: (error) => ({ ...error, field: nameOf(error.field) }),
  refuse({ row, options }) {
    if (row.http === 401) return { status: 401, body: 'Forbidden', type: 'text/plain; charset=utf-8' }
    const message = words(options.errors ?? [], options.detail ?? row.description)
    return { status: row.http === 422 ? 400 : row.http, body: JSON.stringify({ message }) }
  },
}
