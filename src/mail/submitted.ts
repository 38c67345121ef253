/**
 * NAME      submitted - a message as an SMTP client handed it in
 *   `readSubmitted` looks at the header section only, once, without parsing
 *   MIME: the door answers thousands of these a second. `prepareForRelay` adds
 *   what must be added (Received, and From, Date or Message-ID when there is none),
 *   takes out Bcc and the control fields with their continuation lines, and
 *   leaves every other octet as it came, so that a client's DKIM signature
 *   stays good.
 * NOTES
 *   Old clients put raw 8-bit text into headers: it is read as UTF-8, or else as
 *   Latin-1. RFC 5322 wants one From; `repeated` names such fields that came
 *   twice, for whoever must refuse them.
 */
import { type Mailbox, parseAddressList } from './address.js'
import {
  type HeaderTag,
  IDEMPOTENCY_FIELDS,
  IGNORE_SUPPRESSIONS_FIELD,
  isControlHeader,
  readTags,
  SCHEDULE_FIELD,
  scheduleIn,
  UNSUBSCRIBE_FIELD,
  unheeded,
} from './control-headers.js'
import { decodeWords, fromRaw } from './encoding.js'
import {
  asBuffer,
  fieldValue,
  foldField,
  type HeaderField,
  type HeaderSection,
  normalizeLineEnds,
  scanHeader,
  scanLineEnds,
} from './header.js'

export interface Submitted {
  /** The first mailbox of From. */
  readonly from: Mailbox | null
  /** Each of them: a reader believes that all have written it. */
  readonly authors: readonly Mailbox[]
  /** True when From has a value, readable or not. */
  readonly hasFrom: boolean
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** Decoded. */
  readonly subject: string
  /** As written; null when missing or empty. */
  readonly messageId: string | null
  readonly date: string | null
  readonly tags: readonly HeaderTag[]
  /** Control fields that ask for what is not done here, in words. */
  readonly unheeded: readonly string[]
  /** null without one; empty, and so not valid, when there are several. */
  readonly idempotencyKey: string | null
  /** When to send, and by which field (lower case). */
  readonly scheduledAt: { readonly field: string; readonly text: string } | null
  readonly ignoreSuppressions: boolean
  /** The mailing list that it names to be unsubscribed from. */
  readonly unsubscribe: string | null
  /** How many Received fields there are, and how many of them hold `loopToken`. */
  readonly received: number
  readonly loops: number
  /** Fields of which RFC 5322, section 3.6, allows one, but which came more often. */
  readonly repeated: readonly string[]
  readonly hasBareCr: boolean
  readonly hasBareLf: boolean
  readonly hasNul: boolean
  /** True when a field that stays holds octets beyond ASCII. */
  readonly needsSmtpUtf8: boolean
  /** Where the fields are, for prepareForRelay. */
  readonly section: SubmittedHeader
}

const ONCE: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'message-id',
  'date',
  'subject',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
])
/** Those that say one thing to the gateway. */
const ONE_WISH: ReadonlySet<string> = new Set([
  ...[SCHEDULE_FIELD, UNSUBSCRIBE_FIELD, IGNORE_SUPPRESSIONS_FIELD],
])

const REMOVED: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])

const leaves = (name: string): boolean => !REMOVED.has(name) && !isControlHeader(name)

const hasHighOctet = (raw: Buffer, start: number, end: number): boolean => {
  for (let i = start; i < end; i++) if (raw[i]! > 0x7f) return true
  return false
}

interface SubmittedHeader extends HeaderSection {
  /** So many octets before the first field are no part of it, and stay behind. */
  readonly stray: number
}

/** Two of these make a header section out of lines of which the first is no field. */
const OF_A_HEADER: ReadonlySet<string> = new Set([...ONCE, 'bcc', 'received', 'return-path'])

/** Its lines on top that are no field stay behind where fields of a header follow; where none do, all is a body. */
const withoutTop = (raw: Buffer): SubmittedHeader => {
  const section = scanHeader(raw)
  const { fields } = section
  if (fields[0]?.name !== '') return { ...section, stray: 0 }
  const known = new Set(fields.map(({ name }) => name).filter((name) => OF_A_HEADER.has(name)))
  const isMbox = /^>?From /.test(raw.toString('latin1', 0, 6))
  if (!isMbox && known.size < 2) return { fields: [], end: 0, body: 0, stray: 0 }
  const kept = fields.slice(isMbox ? 1 : fields.findIndex(({ name }) => name !== ''))
  return { ...section, fields: kept, stray: kept[0]?.start ?? section.end }
}

const BOM = Buffer.from('\u{FEFF}')

/**
 * The header section of what a program hands in. Some put something on top that is no field: the separator of an mbox file
 * (`From ann Mon Jan …`), a byte order mark, the rest of a field, a name with a blank in it.
 */
export const submittedHeader = (raw: Buffer): SubmittedHeader => {
  if (raw[0] !== BOM[0] || !raw.subarray(0, BOM.length).equals(BOM)) return withoutTop(raw)
  const by = BOM.length
  const { fields, end, body, stray } = withoutTop(raw.subarray(by))
  return {
    fields: fields.map(({ name, start, value, end }) => ({
      ...{ name, start: start + by, value: value + by, end: end + by },
    })),
    ...{ end: end + by, body: body + by, stray: stray + by },
  }
}

/** No field and no empty line. */
export const isAllBody = (raw: Buffer, { fields, body, stray }: SubmittedHeader): boolean =>
  fields.length === 0 && body === stray && raw.length > stray

/** The first field of each name, and which of those that may stand once stand again. */
const firstFields = (fields: readonly HeaderField[]) => {
  const first = new Map<string, HeaderField>()
  const repeated = new Set<string>()
  for (const field of fields) {
    const { name } = field
    if (name === 'received') continue
    if (!first.has(name)) first.set(name, field)
    else if (ONCE.has(name)) repeated.add(name)
  }
  return { first, repeated: [...repeated] }
}

/** What the fields say that speak to the gateway. */
const readControls = (raw: Buffer, fields: readonly HeaderField[]) => {
  const tags: HeaderTag[] = []
  const wishes: string[] = []
  const keys = new Set<string>()
  const said = new Map<string, string>()
  let scheduledAt: Submitted['scheduledAt'] = null
  for (const field of fields) {
    const { name } = field
    if (!isControlHeader(name)) continue
    const value = decodeWords(fromRaw(fieldValue(raw, field)))
    if (IDEMPOTENCY_FIELDS.includes(name)) keys.add(value)
    else tags.push(...readTags(name, value))
    if (ONE_WISH.has(name) && (said.get(name) ?? value) !== value) wishes.push(`${name} says two things`)
    said.set(name, value)
    const asks = unheeded(name, value)
    if (asks !== null) wishes.push(`${name} ${asks}`)
    const text = scheduleIn(name, value)
    if (text !== null && scheduledAt?.field !== SCHEDULE_FIELD) scheduledAt = { field: name, text }
  }
  const idempotencyKey = keys.size > 1 ? '' : (keys.values().next().value ?? null)
  return { tags, unheeded: wishes, idempotencyKey, scheduledAt }
}

/** Reads the header section of a submitted message. */
export const readSubmitted = (message: Uint8Array, loopToken: string | null = null): Submitted => {
  const raw = asBuffer(message)
  const section = submittedHeader(raw)
  const { first, repeated } = firstFields(section.fields)
  const traces = section.fields.filter(({ name }) => name === 'received')
  const textOf = (name: string): string => {
    const field = first.get(name)
    return field === undefined ? '' : fromRaw(fieldValue(raw, field))
  }
  const listOf = (name: string): readonly Mailbox[] => (first.has(name) ? parseAddressList(textOf(name)) : [])
  const authors = listOf('from')
  return {
    from: authors[0] ?? null,
    authors,
    hasFrom: textOf('from') !== '',
    to: listOf('to'),
    cc: listOf('cc'),
    replyTo: listOf('reply-to'),
    subject: decodeWords(textOf('subject')),
    messageId: textOf('message-id') || null,
    date: textOf('date') || null,
    ...readControls(raw, section.fields),
    ignoreSuppressions: /^\s*(?:true|yes|1)\s*$/i.test(textOf(IGNORE_SUPPRESSIONS_FIELD)),
    unsubscribe: first.has(UNSUBSCRIBE_FIELD) ? textOf(UNSUBSCRIBE_FIELD).trim() : null,
    received: traces.length,
    loops: loopToken === null ? 0 : traces.filter((one) => fieldValue(raw, one).includes(loopToken)).length,
    repeated,
    ...scanLineEnds(raw),
    needsSmtpUtf8:
      hasHighOctet(raw, 0, section.end) &&
      section.fields.some((field) => leaves(field.name) && hasHighOctet(raw, field.start, field.end)),
    section,
  }
}

interface RelayFields {
  /** With angle brackets; used when the message has none. */
  readonly messageId: string
  /** RFC 5322 date; used when the message has none. */
  readonly date: string
  /** The mailbox for a message without From, as a header has it. */
  readonly from?: string | null
  /** The whole field with its CRLF, or an empty text. */
  readonly receivedLine: string
  /** True turns lone CR and LF into CRLF and drops NUL, for a door that is kind to old clients. */
  readonly normalize?: boolean
  /** So many octets before the message, in the same memory, may be overwritten, and its header: a large one is not copied. */
  readonly headroom?: number
}

/** The octets to relay. */
export const prepareForRelay = (
  message: Uint8Array,
  submitted: Submitted,
  fields: RelayFields,
): Uint8Array => {
  if (fields.normalize === true && (submitted.hasBareCr || submitted.hasBareLf || submitted.hasNul)) {
    // read again: behind a lone CR, another field may have come to light
    const clean = normalizeLineEnds(message)
    return prepareForRelay(clean, readSubmitted(clean), { ...fields, normalize: false })
  }
  const raw = asBuffer(message)
  const { section } = submitted
  const from = submitted.hasFrom ? null : (fields.from ?? null)
  const missing =
    (from === null ? '' : foldField('From', from)) +
    (submitted.date === null ? `Date: ${fields.date}\r\n` : '') +
    (submitted.messageId === null ? `Message-ID: ${fields.messageId}\r\n` : '')
  const pieces: Uint8Array[] = [Buffer.from(fields.receivedLine + missing, 'utf8')]
  if (isAllBody(raw, section))
    return Buffer.concat([...pieces, Buffer.from('\r\n'), raw.subarray(section.stray)])
  let kept = section.stray
  for (const field of section.fields) {
    if (leaves(field.name) && !isEmptyField(field, submitted, from)) continue
    pieces.push(raw.subarray(kept, field.start))
    kept = field.end
  }
  const rest = raw.subarray(kept)
  const top = Buffer.concat(pieces)
  const room = fields.headroom ?? 0
  if (room === 0 || top.length - kept > room) return Buffer.concat([top, rest])
  const whole = Buffer.from(raw.buffer, raw.byteOffset + kept - top.length, top.length + rest.length)
  whole.set(top)
  return whole
}

/** A field without a value, in place of which one was added. */
const isEmptyField = ({ name }: HeaderField, { date, messageId }: Submitted, from: string | null): boolean =>
  (name === 'date' && date === null) ||
  (name === 'message-id' && messageId === null) ||
  (name === 'from' && from !== null)

/** Fields that a mail gets anew when it is sent again. */
const MADE_ANEW: ReadonlySet<string> = new Set(['date', 'message-id'])

/** The fields that a signature covers (RFC 6376, 3.5), in lower case. */
const signedNames = (signature: string): readonly string[] => {
  const [, names = ''] = /(?:^|;)\s*h\s*=([^;]*)/i.exec(signature) ?? []
  return names.split(':').map((name) => name.trim().toLowerCase())
}

const SIGNATURES = /^(?:dkim|arc-message)-signature$/

/** The names of all fields that a signature of somebody else covers (RFC 6376, 8617). */
export const signedIn = (raw: Buffer, fields: readonly HeaderField[]): ReadonlySet<string> =>
  new Set(
    fields
      .filter(({ name }) => SIGNATURES.test(name))
      .flatMap((field) => signedNames(fieldValue(raw, field))),
  )

/** True for a signature over one of them, which would no longer hold. */
const signsThose = (raw: Buffer, field: HeaderField): boolean =>
  field.name === 'dkim-signature' && signedNames(fieldValue(raw, field)).some((name) => MADE_ANEW.has(name))

interface AgainFields {
  /** With angle brackets. */
  readonly messageId: string
  readonly date: string
  /** The id that our own Received field names, where there is one; `receivedLine` goes in its place. */
  readonly oldId: string
  readonly receivedLine: string
  /** Fields, in lower case, that do not go along. */
  readonly without: ReadonlySet<string>
}

/** The octets of a mail that was taken before, to be sent once more as a mail of its own. */
export const prepareAgain = (message: Uint8Array, fields: AgainFields): Uint8Array => {
  const raw = asBuffer(message)
  const { fields: present } = scanHeader(raw)
  const [top] = present
  const traced = top?.name === 'received' && fieldValue(raw, top).includes(`id ${fields.oldId}`)
  const line = traced ? fields.receivedLine : ''
  const made = `${line}Date: ${fields.date}\r\nMessage-ID: ${fields.messageId}\r\n`
  const pieces: Uint8Array[] = [Buffer.from(made, 'utf8')]
  let kept = 0
  for (const field of present) {
    const isLeft = MADE_ANEW.has(field.name) || fields.without.has(field.name)
    if (!(isLeft || (traced && field === top) || signsThose(raw, field))) continue
    pieces.push(raw.subarray(kept, field.start))
    kept = field.end
  }
  return Buffer.concat([...pieces, raw.subarray(kept)])
}
