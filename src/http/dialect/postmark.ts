/**
 * NAME      postmark - the API of Postmark
 *   POST /email and /email/batch with X-Postmark-Server-Token. Its clients read `ErrorCode` and, for who was not written to,
 *   the words of `Message`: `inactive addresses: a, b. Inactive recipients`, and `Invalid 'To' address: 'a'.`
 *   A mail whose recipients are all suppressed is recorded as any other; the answer is 406, as their users expect it.
 */

import { toRfc3339 } from '../../base/clock.js'
import { type Fault, type FaultCode, type FieldError, invalid } from '../../base/fault.js'
import { readTags } from '../../mail/control-headers.js'
import type { EmailRecord } from '../../store/port/mail.js'
import { headerValue } from '../wire/values.js'
import {
  addressesIn,
  as,
  type Dialect,
  type Failure,
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

/** Several addresses in one text. */
const list =
  (name: string): Taker =>
  (mail, value) => {
    mail.wire[name] = typeof value === 'string' ? addressesIn(value) : value
  }

/** Becomes what the header field of that name becomes. */
const tagged =
  (name: string): Taker =>
  (mail, value, field) => {
    if (typeof value === 'string') mail.tags.push(...readTags(name, value))
    else mail.wrong(field, 'type', 'must be a text')
  }

const metadata: Taker = (mail, value, field) => {
  if (!isObject(value)) return mail.wrong(field, 'type', 'must be an object of texts')
  for (const [name, one] of Object.entries(value))
    tagged(`x-pm-metadata-${name}`)(mail, one, `${field}.${name}`)
}

const attachments: Taker = (mail, value, field) => {
  const names = ['Name', 'Content', 'ContentType', 'ContentID']
  mail.wire.attachments = objectsIn(mail, value, field, names).map(
    ({ Name, Content, ContentType, ContentID }) => ({
      filename: Name,
      content: Content,
      content_type: ContentType,
      ...(!isEmpty(ContentID) && {
        content_id: typeof ContentID === 'string' ? ContentID.replace(/^cid:/i, '') : ContentID,
      }),
    }),
  )
}

const TRACKING = 'asks that readers are watched, which is not done here'
const TEMPLATE = 'asks for a text of a template, and mail goes out as it was written'

const TAKERS: Readonly<Record<string, Taker>> = {
  From: as('from'),
  To: list('to'),
  Cc: list('cc'),
  Bcc: list('bcc'),
  ReplyTo: list('reply_to'),
  Subject: as('subject'),
  HtmlBody: as('html'),
  TextBody: as('text'),
  Tag: tagged('x-pm-tag'),
  Metadata: metadata,
  Headers: headersOfPairs,
  Attachments: attachments,
  MessageStream: (mail, value, field) => tagged('x-pm-metadata-message_stream')(mail, value, field),
  TrackOpens: (mail, value, field) => value !== false && mail.refuse(field, TRACKING),
  TrackLinks: (mail, value, field) => value !== 'None' && mail.refuse(field, TRACKING),
  TemplateId: refused(TEMPLATE),
  TemplateAlias: refused(TEMPLATE),
  TemplateModel: refused(TEMPLATE),
}

const one = (body: unknown): Translated => {
  const mail = new Making()
  if (isObject(body)) takeMembers(mail, body, TAKERS)
  else mail.wrong('body', 'type', 'must be an object')
  return mail
}

/** What our own members are called there. */
const NAMES: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'To',
  cc: 'Cc',
  bcc: 'Bcc',
  reply_to: 'ReplyTo',
  subject: 'Subject',
  html: 'HtmlBody',
  text: 'TextBody',
  headers: 'Headers',
  attachments: 'Attachments',
  filename: 'Name',
  content: 'Content',
  content_type: 'ContentType',
  content_id: 'ContentID',
}

const nameOf = (field: string): string => {
  const isHeader = field.startsWith('headers.')
  return field.replace(/(?:^|(?<=\.))[a-z_]+/g, (name, at: number) =>
    Object.hasOwn(NAMES, name) && !(isHeader && at > 0) ? (NAMES[name] as string) : name,
  )
}

const OK = 0
const INVALID = 300
const INACTIVE = 406
const CODES: Partial<Record<FaultCode, readonly [status: number, code: number]>> = {
  'validation.request_invalid': [422, INVALID],
  'request.body_malformed': [422, 402],
  'request.media_type_unsupported': [422, 402],
  'email.sender_not_allowed': [422, 405],
  'workspace.suspended': [422, 405],
  'auth.credentials_missing': [401, 10],
  'auth.credentials_invalid': [401, 10],
  'rate_limit.exceeded': [429, 429],
  'rate_limit.auth_failures': [429, 429],
  'request.body_too_large': [413, INVALID],
}

const codeOf = (code: FaultCode, http: number): readonly [number, number] =>
  CODES[code] ?? [http, http >= 500 ? 100 : INVALID]

/** The first mistake as a sentence, or what there is to say without one. */
const words = ([first]: readonly FieldError[], fallback: string): string =>
  first === undefined
    ? fallback
    : first.message.startsWith('Invalid ')
      ? `${first.message}.`
      : `${sentence(first)}.`

const failed = (status: number, code: number, message: string) => ({
  status,
  body: { ErrorCode: code, Message: message },
})

const suppressedIn = ({ recipients }: EmailRecord): readonly string[] =>
  recipients.filter(({ reason }) => reason === 'suppressed').map(({ address }) => address.toLowerCase())

const INACTIVE_ARE = 'Inactive recipients are on the list of suppressions of this workspace.'

/** What was accepted of one mail. */
const accepted = (record: EmailRecord) => {
  const inactive = suppressedIn(record)
  if (inactive.length > 0 && inactive.length === record.recipients.length) {
    const said = `Nobody of this mail is written to. Found inactive addresses: ${inactive.join(', ')}. ${INACTIVE_ARE}`
    return failed(422, INACTIVE, said)
  }
  const some = `Message OK, but will not deliver to these inactive addresses: ${inactive.join(', ')}. ${INACTIVE_ARE}`
  return {
    status: 200,
    body: {
      To: record.to.join(', '),
      SubmittedAt: toRfc3339(record.createdAt),
      MessageID: record.id,
      ErrorCode: OK,
      Message: inactive.length === 0 ? 'OK' : some,
    },
  }
}

const refusedMail = ({ code, message, errors }: Failure) => {
  const [status, number] = codeOf(code, 422)
  return failed(status, number, words(errors, message))
}

/** Accepted and refused ones, in the order of the request. */
const inOrder = (records: readonly EmailRecord[], failures: readonly Failure[]) => {
  const left = [...records]
  const refusedAt = new Map(failures.map((one) => [one.index, one]))
  return Array.from({ length: records.length + failures.length }, (_, index) => {
    const failure = refusedAt.get(index)
    const record = failure === undefined ? left.shift() : undefined
    return record === undefined ? refusedMail(failure as Failure) : accepted(record)
  })
}

const tooMany = ({ options }: Fault): boolean =>
  options.errors?.some(({ field, kind }) => field === 'body' && kind === 'too_many') ?? false

const MOST = 500

export const postmark: Dialect = {
  name: 'postmark',
  provider: 'Postmark',
  calls: [
    {
      path: '/email',
      summary: 'Send an email, as Postmark takes it',
      most: 1,
      each: false,
      isPlain: (body) => isObject(body) && typeof body.To === 'string' && body.To.length < 1_000,
      translate: (body) => [one(body)],
      keep: ([record]) => JSON.stringify(accepted(record as EmailRecord)),
      answer: (kept) => {
        const { status, body } = JSON.parse(kept) as ReturnType<typeof accepted>
        return { status, body: JSON.stringify(body) }
      },
    },
    {
      path: '/email/batch',
      summary: `Send up to ${MOST} emails, as Postmark takes them`,
      most: MOST,
      each: true,
      translate(body) {
        if (Array.isArray(body)) return body.map(one)
        throw invalid([{ field: 'body', kind: 'type', message: 'must be a list of messages' }])
      },
      keep: (records, failures) => JSON.stringify(inOrder(records, failures).map(({ body }) => body)),
      answer: (kept) => ({ status: 200, body: kept }),
    },
  ],
  credential: (req) => headerValue(req, 'x-postmark-server-token')?.trim() || null,
  told(error, _, wire) {
    const [, who, , at = '0'] = /^(to|cc|bcc)(\[(\d+)\])?$/.exec(error.field) ?? []
    const field = nameOf(error.field)
    if (who === undefined || error.kind !== 'format') return { ...error, field }
    const given = (wire[who] as readonly unknown[])[Number(at)]
    return { ...error, field, message: `Invalid '${field.replace(/\[.*/, '')}' address: '${given}'` }
  },
  refuse(fault) {
    const { code, row, options } = fault
    const [status, number] = tooMany(fault) ? [422, 410] : codeOf(code, row.http)
    const { body } = failed(status, number, words(options.errors ?? [], options.detail ?? row.description))
    return { status, body: JSON.stringify(body) }
  },
}
