/**
 * NAME      emails - the shapes of sending, of email records, and of what is done to them
 *   The names follow a well-known API, so that its SDKs work unchanged: one address or a list of them, attachments as base64, as bytes or
 *   as what JSON makes of a Node Buffer, and camelCase where an old client sends it. The items of a batch are checked one by one in
 *   routes/emails.ts, because `x-batch-validation: permissive` keeps the good ones. Actions without a body take nothing, null or `{}`, and
 *   the id that some SDKs repeat in the body.
 */
import Joi from 'joi'
import { ALL_EXTRAS, type ExtraKind, GIVEN_EXTRAS } from '../../lifecycle/extras.js'
import { MAILING_LIST, MAILING_LIST_FORM } from '../../lifecycle/suppress.js'
import { STATUSES } from '../../mail/status.js'
import { WAITING_REASONS } from '../../record/queue.js'
import type { WireDraft } from '../../submission/draft.js'
import {
  anyBody,
  body,
  fileQuery,
  id,
  listOf,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  schedule,
  shape,
  shapeOf,
  type TypeOf,
  text,
  time,
  timestamp,
} from './common.js'

export const address = () => Joi.string().max(1_000)
const addresses = () => orNull(Joi.array().items(address()).single().max(100))

const isByte = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255

/** Checked by hand: joi takes microseconds for each item, and a file has millions. */
const bytes = () =>
  Joi.array()
    .custom((value: unknown[], helpers) => (value.every(isByte) ? value : helpers.error('any.invalid')))
    .meta({ must: 'must be an array of integers from 0 to 255' })
    .meta({ schema: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } } })

const attachment = shapeOf(() => ({
  filename: orNull(text(255)),
  content: orNull(
    Joi.alternatives(
      Joi.string().allow(''),
      bytes(),
      Joi.object({ type: Joi.string().valid('Buffer').required(), data: bytes().required() }),
    ).meta({ must: 'must be base64 text, or an array of bytes' }),
  ),
  content_type: orNull(Joi.string().max(255)),
  contentType: orNull(Joi.string().max(255)),
  content_id: orNull(Joi.string().max(255)),
  contentId: orNull(Joi.string().max(255)),
  path: orNull(Joi.string().max(2_048)).description(
    'Refused, for nothing is fetched from elsewhere: send the octets as `content`',
  ),
}))

const tag = shapeOf(() => ({
  name: Joi.string().max(256).required(),
  value: text(256).required(),
}))

const MOST_HEADERS = 200
const HEADER_BYTES = 65_536

/** Names and values together, as UTF-8. */
const fitsHeaders = (value: Record<string, unknown>, helpers: Joi.CustomHelpers) => {
  let bytes = 0
  for (const [name, text] of Object.entries(value)) {
    bytes += Buffer.byteLength(name) + (typeof text === 'string' ? Buffer.byteLength(text) : 0)
  }
  return bytes > HEADER_BYTES ? helpers.error('any.invalid') : value
}

/** Some clients write "no headers" as an empty list. */
const headers = () =>
  Joi.object()
    .pattern(Joi.string().max(126), Joi.string().allow('').max(65_536))
    .max(MOST_HEADERS)
    .custom(fitsHeaders)
    .meta({ must: 'must have at most 64 KiB of names and values', kind: 'length' })
    .empty([null, Joi.array().length(0)])

const unsubscribing = () =>
  orNull(
    Joi.object({
      list: Joi.string()
        .pattern(MAILING_LIST)
        .meta({ must: MAILING_LIST_FORM })
        .required()
        .description('Of a-z, 0-9, _ and -')
        .example('news'),
    }),
  ).description(
    'Of a mail to one recipient: its mailing list. The mail gets a List-Unsubscribe of this gateway (RFC 8058), and who follows it gets no more mail of that list. Needs a `base_url` that readers reach by https, and no List-Unsubscribe of your own',
  )

/** Of what a mail carries; `most` where a client gives it. */
const extraForm = (kind: ExtraKind, most?: number): Joi.Schema => {
  if (kind === 'flag') return Joi.boolean()
  if (kind === 'text') return most === undefined ? Joi.string() : text(most)
  const number = Joi.number().integer().min(0)
  return most === undefined ? number : number.max(most)
}

const sendMembers = shape(() => ({
  from: orNull(address())
    .description(
      'The sender: `name@example.com` or `Name <name@example.com>`, of a sending domain of the workspace; by default its `default_from`',
    )
    .example('Acme <no-reply@acme.example>'),
  to: addresses()
    .required()
    .description(
      'One address or a list of them, each as `name@example.com` or `Name <name@example.com>`; to, cc and bcc have at most 100 together',
    )
    .example('Ana <ana@example.com>'),
  cc: addresses().description('As `to`; everybody sees them'),
  bcc: addresses().description('As `to`; nobody else sees them'),
  reply_to: addresses().description('Where answers go; as `to`'),
  subject: orNull(text(998)).description('Default empty').example('Receipt 42'),
  html: orNull(Joi.string().allow('')).description('The HTML part').example('<p>Thank you.</p>'),
  text: orNull(Joi.string().allow('')).description('The text part').example('Thank you.'),
  headers: headers().description(
    'Further header fields as an object of names and values. Those that this API sets itself (From, To, Date, Message-ID, Content-*, …) are refused. An empty list is as good as none',
  ),
  tags: orNull(Joi.array().items(tag()).max(75)).description(
    'Names and values of your own: mail is found and counted by them, and events carry them',
  ),
  attachments: orNull(Joi.array().items(attachment()).max(1_000)).description(
    'Files; the whole message has at most `submission.max_size` of the settings, 25 MiB by default',
  ),
  scheduled_at: orNull(schedule()),
  ignore_suppressions: orNull(Joi.boolean()).description('true: also to suppressed addresses, this once'),
  unsubscribe: unsubscribing(),
  ...Object.fromEntries(
    GIVEN_EXTRAS.map(({ name, kind, says, example, given }) => [
      name,
      orNull(extraForm(kind, given)).description(says).example(example),
    ]),
  ),
  raw: orNull(Joi.string())
    .description(
      'The whole message (RFC 5322) in base64, in place of from, reply_to, subject, html, text, headers and attachments: none of ' +
        'them may stand beside it. It is relayed as it is, with a Received line on top and, where it has none, Date, Message-ID ' +
        'and From (the default sender of the workspace). to, cc and bcc are the envelope, and nothing in the header ever adds a ' +
        'recipient; Bcc is cut. Fields in it that steer a gateway (X-Postern-*, Idempotency-Key, those of other providers) are ' +
        'refused: tags, scheduled_at, unsubscribe and ignore_suppressions stand beside raw, and the key in its header. Lone CR and LF are ' +
        'mended or refused, as the workspace has it. Under an Idempotency-Key two messages are the same when a reader sees the ' +
        'same: Date, Message-ID and boundaries do not count',
    )
    .example('RnJvbTogbm8tcmVwbHlAc2hvcC5leGFtcGxlDQpTdWJqZWN0OiBIaQ0KDQpIZWxsbw0K'),
}))

export const sendBody = shape(() =>
  Joi.object<WireDraft>(sendMembers()).empty(null).required().meta({ name: 'SendEmail' }),
)

export const oneQuery = shapeOf(() => ({
  content: Joi.string()
    .valid('true', 'false')
    .description('false: html, text and headers are null, and a large body costs nothing'),
}))

/** Which mails are meant. */
export const emailFiltersShape = shape(() => ({
  q: Joi.string()
    .allow('')
    .description(
      'What a mail must have: words of the subject (the last one may be a beginning), an address or its beginning, a domain, a ' +
        'Message-ID, an id; or terms `to:` `from:` `subject:` `tag:` `status:` `reason:` `domain:` `pool:` `key:` `message-id:` `before:` ' +
        '`after:` `id:` `is:held` `is:deferred` `is:complained` `is:resent` `is:test` `is:live` `has:attachment`. All of them hold; `-` or `NOT` before one negates ' +
        'it, `OR` between two lets either do and binds closer than a blank (`a b OR c` is a, and b or c); there are no brackets. ' +
        'Double quotes keep words together. At most 256 characters and 16 terms. A mail is found a second or two after it was ' +
        'accepted; a page may hold fewer rows than `limit` and still have a next one: `pagination.searched_to` says how far it looked',
    )
    .example('to:ana@example.com receipt -status:delivered'),
  tz: Joi.string()
    .max(64)
    .description('The time zone of days in `before:` and `after:`, such as Europe/Berlin; UTC when absent'),
  status: oneOf(...STATUSES),
  to: Joi.string().max(320).description('Only mail to this address'),
  tag: Joi.string()
    .pattern(/^[^:=]+[:=]/)
    .max(600)
    .description('name:value, or name=value')
    .meta({ must: 'must be name:value' }),
  created_after: timestamp(),
  created_before: timestamp(),
  mode: Joi.string().valid('live', 'test').description('sessions only; a key sees its own mode'),
}))

export const sendQuery = shapeOf(() => ({
  mode: Joi.string()
    .valid('live', 'test')
    .description('sessions only, which send live mail unless it is named; a key sends in its own mode'),
}))
export type SendQuery = TypeOf<typeof sendQuery>

export const emailQuery = shapeOf(() => ({ ...emailFiltersShape(), ...fileQuery() }))
export type EmailQuery = TypeOf<typeof emailQuery>

/** Not in the answer to a send, nor in its replays. */
const waiting = shape(() =>
  nullable(
    Joi.object({
      reason: need(oneOf(...WAITING_REASONS)).description(
        'Of several, the first in this order. suspended: its workspace is. held: by an operator, or because it may have ' +
          'been sent already. no_upstream: its pool has none, nor has the pool that it follows. paused: all of them are. login: ' +
          'none of them lets us sign in, or no token is to be had. upstreams_down: none answers. throttled: the recipient domain asked for a slower pace. rate: the upstreams take no more ' +
          'at once. backoff: it is tried again later. scheduled: its time has not come',
      ),
      detail: Joi.string()
        .required()
        .description(
          'In words; a platform key and a session also read who or what is to blame, and what mends it',
        ),
      until: nullable(Joi.string()).description('When this ends by itself, where that is known'),
    }),
  ).description(
    'Why it has not been sent yet, computed now; null when it is under way, was sent, or nothing is in its way. ' +
      'What only the relay knows is at most 5 seconds old',
  ),
)

const recipientFields = shape(() => ({
  address: Joi.string().required(),
  kind: Joi.string().valid('to', 'cc', 'bcc').required(),
  status: need(oneOf(...STATUSES)),
  attempts: Joi.number().integer().required(),
  last_response: nullable(Joi.string().allow('')),
  reason: Joi.string(),
  updated_at: time(),
}))
const recipient = shapeOf(recipientFields)
const waitingRecipient = shapeOf(() => ({ ...recipientFields(), waiting: waiting() }))

const strings = () => Joi.array().items(Joi.string().allow('')).required()

const summary = shape(() => ({
  id: id('em'),
  object: Joi.string().valid('email').required(),
  status: need(oneOf(...STATUSES)),
  last_event: Joi.string().required(),
  workspace_id: id('ws'),
  mode: Joi.string().valid('live', 'test').required(),
  source: Joi.string().valid('api', 'smtp', 'system').required(),
  from: Joi.string().required(),
  to: strings(),
  cc: strings(),
  bcc: strings(),
  reply_to: strings(),
  subject: Joi.string()
    .allow('', null)
    .required()
    .description('null for viewers who see nothing of what is written'),
  tags: Joi.array()
    .items(Joi.object({ name: Joi.string().required(), value: Joi.string().allow('').required() }))
    .required(),
  message_id: Joi.string().required(),
  scheduled_at: nullable(Joi.string()),
  ...Object.fromEntries(
    ALL_EXTRAS.map(({ name, kind, says, example }) => [
      name,
      extraForm(kind).description(says).example(example),
    ]),
  ),
  created_at: time(),
  updated_at: time(),
  counts: Joi.object(
    Object.fromEntries(
      STATUSES.map((status) => {
        const count = Joi.number().integer().min(0)
        return [status, status === 'scheduled' ? count : count.required()]
      }),
    ),
  ).required(),
}))

const attachments = shape(() =>
  Joi.array().items(
    Joi.object({
      filename: nullable(Joi.string().allow('')),
      content_type: Joi.string().required(),
      size: Joi.number().integer().min(0).required(),
      content_id: nullable(Joi.string()),
    }),
  ),
)

export const attachmentQuery = shapeOf(() => ({
  limit: pageQuery().limit,
  after: Joi.string()
    .max(64)
    .description('The id of an attachment of this mail: those behind it')
    .example('1'),
  before: Joi.string()
    .max(64)
    .description('The id of an attachment of this mail: those before it')
    .example('3'),
}))

export const attachmentListShape = record('AttachmentList', () => ({
  object: Joi.string().valid('list').required().description('Always `list`'),
  data: Joi.array()
    .items(
      Joi.object({
        id: Joi.string().required().description('Its place in the mail, from 1 on'),
        object: Joi.string().valid('attachment').required().description('Always `attachment`'),
        filename: nullable(Joi.string().allow('')).description('As it is named in the mail'),
        content_type: Joi.string().required().description('Its media type'),
        size: Joi.number().integer().min(0).required().description('Octets, decoded'),
        content_id: nullable(Joi.string()).description('By which HTML refers to it, as `cid:…`'),
      }),
    )
    .required()
    .description('In the order of the mail'),
  has_more: Joi.boolean().required().description('There are more on that side'),
}))

const accepted = shape(() => ({
  ...summary(),
  attachments: attachments().required(),
  recipients: Joi.array().items(recipient()).required(),
}))

const emailSummary = record(
  'EmailSummary',
  () => ({
    ...summary(),
    last_response: Joi.string()
      .allow('', null)
      .description(
        'What was last said of a recipient that bounced or is deferred; absent on all other mails',
      ),
    reason: Joi.string().description('Why, as the record of that recipient has it'),
    waiting: waiting(),
  }),
  'Email',
)
const listOfEmails = listOf(emailSummary)
export const emailListShape = shape(() =>
  listOfEmails().append({
    pagination: (listOfEmails().extract('pagination') as Joi.ObjectSchema).append({
      searched_to: Joi.string()
        .allow(null)
        .description(
          'Of a search alone. Where half a second of work ended before the page was full, even with no row in it: when the last mail came in that was looked at; `next_cursor` goes on from there. null where the page is full or all was looked at',
        ),
    }),
    unknown: Joi.array()
      .items(Joi.string())
      .description(
        'Terms of `q` that name a key, a pool, a tag or a reason which there is not, such as `key:nope`; absent where all are known, and on all pages but the first',
      ),
  }),
)
export const acceptedEmailShape = record('AcceptedEmail', accepted)
export const emailShape = record('Email', () => ({
  ...accepted(),
  attachments: nullable(attachments()).description(
    'null, as what was written, for viewers who do not see it',
  ),
  waiting: waiting(),
  recipients: Joi.array().items(waitingRecipient()).required(),
  html: nullable(Joi.string().allow('')),
  text: nullable(Joi.string().allow('')),
  headers: nullable(Joi.object().pattern(Joi.string(), Joi.string().allow(''))),
}))

const BATCH_MAX = 100
const MOST_VARIABLES = 100
const VARIABLE_BYTES = 8 * 1024

/** Each as UTF-8. */
const fitVariables = (value: Record<string, unknown>, helpers: Joi.CustomHelpers) =>
  Object.values(value).some((one) => typeof one === 'string' && Buffer.byteLength(one) > VARIABLE_BYTES)
    ? helpers.error('any.invalid')
    : value

/** What is each one's own of a merged text. */
export const mergeRecipientShape = shape(() =>
  Joi.object<MergeRecipient>({
    to: addresses().required().description('One address or a list of them, who get one mail together'),
    variables: orNull(
      Joi.object()
        .pattern(
          Joi.string()
            .pattern(/^[a-z0-9_]{1,64}$/)
            .meta({ must: 'must be a name of 1 to 64 of a-z, 0-9 and _' }),
          text(VARIABLE_BYTES),
        )
        .max(MOST_VARIABLES)
        .custom(fitVariables)
        .meta({ must: 'must have at most 8 KiB in each text', kind: 'length' }),
    )
      .description(
        'Texts by name: 1 to 64 of a-z, 0-9 and _. Each that the template names must be there; others mean nothing',
      )
      .example({ name: 'Ana' }),
  })
    .empty(null)
    .required()
    .meta({ name: 'MergeRecipient' }),
)

export interface MergeRecipient {
  readonly to: WireDraft['to']
  readonly variables?: Readonly<Record<string, string>>
}

/** As a send, without recipients. */
const mergeTemplate = shape(() => {
  const { to, cc, bcc, raw, ...members } = sendMembers()
  return Joi.object<WireDraft>(members)
    .required()
    .meta({ name: 'MergeTemplate' })
    .description(
      'A send without recipients. In subject, html, text, reply_to, and the values of headers and tags `{{name}}` stands for a variable. ' +
        'In html values are escaped, and may stand between elements and in quoted attributes; not in scripts, styles, comments ' +
        'and names. One that begins a link is http, https or mailto. There is no raw form',
    )
})

export interface MergeBody {
  readonly template: WireDraft
  readonly recipients: readonly unknown[]
}

const mergeBody = shape(() =>
  Joi.object<MergeBody>({
    template: mergeTemplate(),
    recipients: Joi.array()
      .items(Joi.any().meta({ like: mergeRecipientShape() }))
      .min(1)
      .max(BATCH_MAX)
      .required()
      .description('One mail for each of them'),
  }).meta({ name: 'Merge' }),
)

export const batchBody = shape(() =>
  Joi.alternatives<readonly unknown[] | MergeBody>(
    Joi.array()
      .items(Joi.any().meta({ like: sendBody() }))
      .min(1)
      .max(BATCH_MAX),
    mergeBody(),
  )
    .meta({ must: 'must be an array of emails, or an object with template and recipients' })
    .empty(null)
    .required(),
)

export const batchShape = record('Batch', () => ({
  object: Joi.string().valid('batch').required(),
  data: Joi.array()
    .items(Joi.object({ id: id('em') }))
    .required(),
  errors: Joi.array().items(
    Joi.object({
      index: Joi.number().integer().min(0).required(),
      message: Joi.string().required(),
      code: Joi.string().required(),
    }),
  ),
}))

const repeatedId = shape(() => ({
  id: orNull(Joi.string().max(100)),
  email_id: orNull(Joi.string().max(100)),
}))

export const rescheduleShape = body(() => ({ scheduled_at: need(orNull(schedule())), ...repeatedId() }))

export const nothingShape = anyBody(repeatedId)

export const resendShape = anyBody(() => ({
  to: orNull(Joi.array<readonly string[]>().items(address()).single().max(100)).description(
    'Those that are to get it; null: the recipients that bounced, or else all',
  ),
  release: orNull(Joi.boolean()).description('true: a mail of test mode is sent for real'),
  ...repeatedId(),
}))

export const sourceShape = shape(() => Joi.string().description('RFC 5322, octet for octet'))
