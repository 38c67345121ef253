/**
 * NAME      ses - the API of Amazon SES, version 2
 *   POST /v2/email/outbound-emails (SendEmail), signed by AWS Signature Version 4. `Simple` is composed here, `Raw` is a whole
 *   message, which is read as one that came by SMTP: its header fields for the gateway count, Bcc is taken out, and where
 *   there is no Destination, To, Cc and Bcc say who receives it. Errors are named as that API names them: by
 *   `x-amzn-ErrorType`, which its clients turn into exceptions and repeat by.
 */
import type { IncomingMessage } from 'node:http'
import type { Fault, FaultCode, FieldError } from '../../base/fault.js'
import { type Mailbox, parseAddressList } from '../../mail/address.js'
import { fromRaw } from '../../mail/encoding.js'
import { asBuffer, fieldValue, isHeaderTooLarge, scanHeader } from '../../mail/header.js'
import type { EmailRecord } from '../../store/port/mail.js'
import { decodeBase64 } from '../../submission/draft.js'
import { show } from '../../submission/finished-message.js'
import { headerValue } from '../wire/values.js'
import {
  as,
  type Dialect,
  headersOfPairs,
  isEmpty,
  isObject,
  Making,
  objectsIn,
  refused,
  sentence,
  type Taker,
  type Translated,
  takeMembers,
} from './dialect.js'

/** An object of members that are taken by these. */
const members =
  (takers: Readonly<Record<string, Taker>>): Taker =>
  (mail, value, field) => {
    if (isObject(value)) takeMembers(mail, value, takers, `${field}.`)
    else mail.wrong(field, 'type', 'must be an object')
  }

/** All text goes out as UTF-8, whatever letters are asked for. */
const content = (name: string): Taker => members({ Data: as(name), Charset: () => {} })

const list =
  (name: string): Taker =>
  (mail, value, field) => {
    if (Array.isArray(value)) mail.wire[name] = value
    else mail.wrong(field, 'type', 'must be a list of addresses')
  }

const FILE = [
  'FileName',
  'RawContent',
  'ContentType',
  'ContentDisposition',
  'ContentId',
  'ContentTransferEncoding',
]

const attachments: Taker = (mail, value, field) => {
  mail.wire.attachments = objectsIn(mail, value, field, FILE).map((file, i) => {
    const { FileName, RawContent, ContentType, ContentDisposition = 'ATTACHMENT', ContentId } = file
    const isInline = ContentDisposition === 'INLINE'
    if (!isInline && ContentDisposition !== 'ATTACHMENT')
      mail.wrong(`${field}[${i}].ContentDisposition`, 'unsupported', 'must be ATTACHMENT or INLINE')
    return {
      filename: FileName,
      content: RawContent,
      content_type: ContentType,
      // it names a file that the text shows; of others it says nothing
      ...(isInline && !isEmpty(ContentId) && { content_id: ContentId }),
    }
  })
}

const tags: Taker = (mail, value, field) => {
  mail.wire.tags = objectsIn(mail, value, field, ['Name', 'Value']).map(({ Name, Value }) => ({
    name: Name,
    value: Value,
  }))
}

const ARN = 'names what another account at AWS has; leave it out'
const TEMPLATE = 'asks for a text of a template, and mail goes out as it was written'

const DESTINATION = members({
  ToAddresses: list('to'),
  CcAddresses: list('cc'),
  BccAddresses: list('bcc'),
})

const SIMPLE = members({
  Subject: content('subject'),
  Body: members({ Text: content('text'), Html: content('html') }),
  Headers: headersOfPairs,
  Attachments: attachments,
})

const CONTENT = members({
  Simple: SIMPLE,
  Raw: members({ Data: as('raw') }),
  Template: refused(TEMPLATE),
})

const TAKERS: Readonly<Record<string, Taker>> = {
  FromEmailAddress: as('from'),
  Destination: DESTINATION,
  ReplyToAddresses: list('reply_to'),
  EmailTags: tags,
  ConfigurationSetName(mail, value, field) {
    if (typeof value === 'string' && /^[\w-]{1,64}$/.test(value))
      mail.tags.push({ name: 'configuration_set', value })
    else mail.wrong(field, 'format', 'must be 1 to 64 of A-Z a-z 0-9 _ -')
  },
  Content: CONTENT,
  FeedbackForwardingEmailAddress: refused(
    'asks that reports go to an address, and here they are events; webhooks tell of them',
  ),
  FromEmailAddressIdentityArn: refused(ARN),
  FeedbackForwardingEmailAddressIdentityArn: refused(ARN),
  ListManagementOptions: refused('asks that the mail may stay unsent, and every mail that is taken is sent'),
}

const PARTIES = ['to', 'cc', 'bcc']

/** Who receives a message by its header; nothing of one that cannot be read, which others judge. */
const partiesIn = (raw: string): Readonly<Record<string, readonly Mailbox[]>> => {
  const octets = decodeBase64(raw)
  if (octets === null || isHeaderTooLarge(asBuffer(octets))) return {}
  const buffer = asBuffer(octets)
  const found: Record<string, Mailbox[]> = {}
  for (const field of scanHeader(buffer).fields) {
    const { name } = field
    if (!PARTIES.includes(name)) continue
    found[name] = [...(found[name] ?? []), ...parseAddressList(fromRaw(fieldValue(buffer, field)))]
  }
  return found
}

const MOST = 50

const whole = (mail: Making, raw: string): void => {
  mail.heedsHeader = true
  if (PARTIES.some((name) => !isEmpty(mail.wire[name]))) return
  for (const [name, mailboxes] of Object.entries(partiesIn(raw))) mail.wire[name] = mailboxes.map(show)
}

/** A message of so many letters, or more files than this, takes long to read or to compose. */
const LONG_MESSAGE = 64 * 1024
const MANY_FILES = 50

const isLong = (content: unknown): boolean => {
  const { Raw, Simple } = isObject(content) ? content : {}
  const raw = isObject(Raw) ? Raw.Data : null
  const files = isObject(Simple) ? Simple.Attachments : null
  return (
    (typeof raw === 'string' && raw.length > LONG_MESSAGE) ||
    (Array.isArray(files) && files.length > MANY_FILES)
  )
}

const one = (body: unknown): Translated => {
  const mail = new Making()
  if (!isObject(body)) {
    mail.wrong('body', 'type', 'must be an object')
    return mail
  }
  takeMembers(mail, body, TAKERS)
  const { wire } = mail
  const kinds = isObject(body.Content) ? Object.values(body.Content).filter((kind) => !isEmpty(kind)) : []
  if (kinds.length !== 1) mail.wrong('Content', 'missing', 'must have one of Simple and Raw')
  if (typeof wire.raw === 'string') whole(mail, wire.raw)
  const many = PARTIES.flatMap((name) => wire[name] ?? []).length
  mail.needsNoTo = true
  wire.to ??= []
  if (many > MOST)
    mail.wrong('Destination', 'too_many', `must name at most ${MOST} recipients, and names ${many}`)
  return mail
}

/** What our own members are called there. */
const NAMES: Readonly<Record<string, string>> = {
  from: 'FromEmailAddress',
  to: 'Destination.ToAddresses',
  cc: 'Destination.CcAddresses',
  bcc: 'Destination.BccAddresses',
  reply_to: 'ReplyToAddresses',
  subject: 'Content.Simple.Subject.Data',
  text: 'Content.Simple.Body.Text.Data',
  html: 'Content.Simple.Body.Html.Data',
  headers: 'Content.Simple.Headers',
  attachments: 'Content.Simple.Attachments',
  tags: 'EmailTags',
  raw: 'Content.Raw.Data',
}
const INNER: Readonly<Record<string, string>> = {
  filename: 'FileName',
  content: 'RawContent',
  content_type: 'ContentType',
  content_id: 'ContentId',
  name: 'Name',
  value: 'Value',
}

const nameOf = (field: string): string => {
  const [first = '', rest = ''] = field.split(/(?=[.[])(.*)/s)
  const own = Object.hasOwn(NAMES, first) ? (NAMES[first] as string) : first
  const isHeader = first === 'headers'
  return own + (isHeader ? rest : rest.replace(/(?<=\.)[a-z_]+/g, (name) => INNER[name] ?? name))
}

const ERRORS: Partial<Record<FaultCode, readonly [status: number, type: string]>> = {
  'validation.request_invalid': [400, 'BadRequestException'],
  'request.body_malformed': [400, 'BadRequestException'],
  'request.media_type_unsupported': [400, 'BadRequestException'],
  'idempotency.key_invalid': [400, 'BadRequestException'],
  'idempotency.body_mismatch': [409, 'ConflictException'],
  // its clients repeat this one
  'idempotency.in_progress': [429, 'TooManyRequestsException'],
  'email.sender_not_allowed': [400, 'MessageRejected'],
  'email.loop_detected': [400, 'MessageRejected'],
  'workspace.suspended': [400, 'SendingPausedException'],
  'auth.credentials_missing': [403, 'MissingAuthenticationTokenException'],
  'auth.credentials_invalid': [403, 'UnrecognizedClientException'],
  'auth.signature_invalid': [403, 'InvalidSignatureException'],
  'rate_limit.exceeded': [429, 'TooManyRequestsException'],
  'rate_limit.auth_failures': [429, 'TooManyRequestsException'],
  'request.body_too_large': [413, 'LimitExceededException'],
  'service.unavailable': [503, 'ServiceUnavailableException'],
}

const OTHERS: Readonly<Record<number, string>> = {
  400: 'BadRequestException',
  403: 'AccessDeniedException',
  404: 'NotFoundException',
  409: 'ConflictException',
}

const errorOf = ({ code, row }: Fault): readonly [number, string] =>
  ERRORS[code] ?? [
    row.http,
    OTHERS[row.http] ?? (row.http >= 500 ? 'InternalServiceErrorException' : 'BadRequestException'),
  ]

/** As AWS says it, so that whoever searches for the words finds what helps. */
const WORDS: Partial<Record<FaultCode, string>> = {
  'auth.credentials_missing': 'Missing Authentication Token',
  'auth.credentials_invalid': 'The security token included in the request is invalid.',
  'auth.signature_invalid':
    'The request signature we calculated does not match the signature you provided. Check the secret access key, and that no proxy changes the path or Host.',
}

export const ses: Dialect = {
  name: 'ses',
  provider: 'Amazon SES',
  signs: true,
  idHeader: 'x-amzn-requestid',
  calls: [
    {
      path: '/v2/email/outbound-emails',
      summary: 'Send an email, as Amazon SES takes it',
      most: 1,
      each: false,
      isPlain: isObject,
      isLong: (body) => isObject(body) && isLong(body.Content),
      translate: (body) => [one(body)],
      keep: ([record]) => JSON.stringify({ MessageId: (record as EmailRecord).id }),
      answer: (kept) => ({ status: 200, body: kept }),
    },
  ],
  credential: () => null,
  // some of its clients sign it and some do not (botocore); under the id of another body nothing is sent
  repeatOf: (req: IncomingMessage) => headerValue(req, 'amz-sdk-invocation-id') || null,
  told: (error) => ({ ...error, field: nameOf(error.field) }),
  refuse(fault) {
    const [status, type] = errorOf(fault)
    const told: readonly FieldError[] = fault.options.errors ?? []
    const [first] = told
    const message =
      first === undefined
        ? (fault.options.detail ?? WORDS[fault.code] ?? fault.row.description)
        : `${sentence(first)}.`
    return { status, body: JSON.stringify({ message }), headers: { 'x-amzn-errortype': type } }
  },
}
