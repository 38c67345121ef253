/**
 * NAME      sendgrid - the API of SendGrid
 *   POST /v3/mail/send with a bearer token. Each personalization is one mail; what stands beside them is theirs unless they
 *   say it themselves. All are accepted or none. The answer has no body: `X-Message-Id` is the id of the request, which each
 *   mail keeps as its tag `x-message-id`.
 */

import type { Fault, FieldError } from '../../base/fault.js'
import { type HeaderTag, readTags } from '../../mail/control-headers.js'
import { bearerOf } from '../wire/values.js'
import {
  addHeader,
  as,
  type Dialect,
  isEmpty,
  isObject,
  Making,
  objectsIn,
  refused,
  type Taker,
  type Translated,
  takeMembers,
} from './dialect.js'

/** `{email, name}` as one text; what is no such object stays, and our check refuses it. */
const party = (value: unknown): unknown => {
  if (!isObject(value) || typeof value.email !== 'string') return value
  const { email, name } = value
  if (isEmpty(name)) return email
  if (typeof name !== 'string') return value
  // some clients quote names that have a comma, since the provider does not
  const bare = /^".*"$/.test(name) ? name.slice(1, -1) : name
  return `"${bare.replace(/[\\"]/g, '\\$&')}" <${email}>`
}

const one =
  (name: string): Taker =>
  (mail, value) => {
    mail.wire[name] = party(value)
  }

const many =
  (name: string): Taker =>
  (mail, value) => {
    mail.wire[name] = Array.isArray(value) ? value.map(party) : value
  }

/** Its own way to say where one of a list stands. */
const listed = (mail: Making, value: unknown, field: string, ...names: readonly string[]) =>
  objectsIn(mail, value, field, names, (index) => `${field}.${index}`)

const TYPES: Readonly<Record<string, string>> = { 'text/plain': 'text', 'text/html': 'html' }

const content: Taker = (mail, value, field) => {
  for (const [i, { type, value: text }] of listed(mail, value, field, 'type', 'value').entries()) {
    const bare = typeof type === 'string' ? (type.split(';')[0] ?? '').trim().toLowerCase() : ''
    const name = Object.hasOwn(TYPES, bare) ? (TYPES[bare] as string) : null
    const at = `${field}.${i}.type`
    if (name === null) mail.refuse(at, 'must be text/plain or text/html; send others as attachments')
    else if (Object.hasOwn(mail.wire, name)) mail.wrong(at, 'not_unique', 'must not repeat')
    else mail.wire[name] = text
  }
}

const attachments: Taker = (mail, value, field) => {
  // its own client for Node writes contentId
  const names = ['content', 'type', 'filename', 'disposition', 'content_id', 'contentId']
  mail.wire.attachments = listed(mail, value, field, ...names).map((file, i) => {
    const { content, type, filename, disposition, contentId, content_id = contentId } = file
    const isInline = disposition === 'inline'
    if (!isEmpty(disposition) && !isInline && disposition !== 'attachment')
      mail.wrong(`${field}.${i}.disposition`, 'unsupported', 'must be attachment or inline')
    return {
      filename,
      content,
      content_type: type,
      // it names a file that the text shows; of others it says nothing
      ...(isInline && !isEmpty(content_id) && { content_id }),
    }
  })
}

const headers: Taker = (mail, value, field) => {
  if (!isObject(value)) return mail.wrong(field, 'type', 'must be an object of texts')
  for (const [name, one] of Object.entries(value)) addHeader(mail, name, one, `${field}.${name}`)
}

/** As the field X-SMTPAPI makes tags of them. */
const tagged =
  (name: 'category' | 'unique_args'): Taker =>
  (mail, value) =>
    mail.tags.push(...readTags('x-smtpapi', JSON.stringify({ [name]: value })))

const sendAt: Taker = (mail, value, field) => {
  const ms = Number(value) * 1_000
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(ms) < 8.64e15)
    mail.wire.scheduled_at = new Date(ms).toISOString()
  else mail.wrong(field, 'type', 'must be whole seconds since 1970')
}

const isOn = (setting: unknown): boolean => isObject(setting) && setting.enable === true

/** Settings that are off; `known` may be on, too. */
const settings =
  (why: string, ...known: readonly string[]): Taker =>
  (mail, value, field) => {
    if (!isObject(value)) return mail.wrong(field, 'type', 'must be an object')
    for (const [name, one] of Object.entries(value))
      if (isOn(one) && !known.includes(name)) mail.refuse(`${field}.${name}.enable`, why)
  }

const TEMPLATE = 'asks for a text of a template or of a list, and mail goes out as it was written'

const OF_ONE: Readonly<Record<string, Taker>> = {
  from: one('from'),
  to: many('to'),
  cc: many('cc'),
  bcc: many('bcc'),
  subject: as('subject'),
  headers,
  custom_args: tagged('unique_args'),
  send_at: sendAt,
  substitutions: refused(TEMPLATE),
  dynamic_template_data: refused(TEMPLATE),
}

const OF_ALL: Readonly<Record<string, Taker>> = {
  personalizations: () => {},
  from: OF_ONE.from as Taker,
  reply_to: one('reply_to'),
  reply_to_list: many('reply_to'),
  subject: OF_ONE.subject as Taker,
  content,
  attachments,
  headers,
  categories: (mail, value, field) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((name) => typeof name === 'string'))
      ? tagged('category')(mail, value, field)
      : mail.wrong(field, 'type', 'must be a list of texts'),
  custom_args: OF_ONE.custom_args as Taker,
  send_at: sendAt,
  mail_settings: settings('changes what is sent or to whom, which is not done here', 'sandbox_mode'),
  tracking_settings: settings('asks that readers are watched, which is not done here'),
  template_id: refused(TEMPLATE),
  sections: refused(TEMPLATE),
  asm: refused('asks that the mail may stay unsent, and every mail that is taken is sent'),
  batch_id: refused('names a batch that can be stopped; cancel scheduled mails one by one'),
  ip_pool_name: refused('names a pool of addresses; mail goes by the pool of its workspace'),
}

/** What both say is said by the personalization; of headers and arguments each name for itself. */
const joined = (all: Readonly<Record<string, unknown>>, own: Readonly<Record<string, unknown>>) => {
  const rest = Object.fromEntries(
    Object.entries(all).filter(
      ([name]) =>
        name === 'headers' || name === 'custom_args' || !Object.hasOwn(own, name) || isEmpty(own[name]),
    ),
  )
  for (const name of ['headers', 'custom_args']) {
    const [ours, theirs] = [own[name], rest[name]]
    if (!isObject(ours) || !isObject(theirs)) continue
    const said = new Set(Object.keys(ours).map((one) => one.toLowerCase()))
    rest[name] = Object.fromEntries(Object.entries(theirs).filter(([one]) => !said.has(one.toLowerCase())))
  }
  return rest
}

const translate = (body: unknown): readonly Translated[] => {
  const wrong = new Making()
  if (!isObject(body)) {
    wrong.wrong('body', 'type', 'must be an object')
    return [wrong]
  }
  const { personalizations } = body
  if (isEmpty(personalizations)) {
    wrong.wrong('personalizations', 'missing', 'must hold one or more')
    return [wrong]
  }
  return objectsIn(wrong, personalizations, 'personalizations').length === 0
    ? [wrong]
    : (personalizations as readonly Readonly<Record<string, unknown>>[]).map((own, i) => {
        const mail = new Making()
        takeMembers(mail, own, OF_ONE, `personalizations.${i}.`)
        takeMembers(mail, joined(body, own), OF_ALL)
        return mail
      })
}

/** Where what they call otherwise stands. */
const NAMES: Readonly<Record<string, string>> = {
  html: 'content',
  text: 'content',
  scheduled_at: 'send_at',
  content_type: 'type',
}
const OWN = /^(to|cc|bcc)\b/

const MOST = 1_000

export const sendgrid: Dialect = {
  name: 'sendgrid',
  provider: 'SendGrid',
  calls: [
    {
      path: '/v3/mail/send',
      summary: `Send up to ${MOST} emails of one text, as SendGrid takes them`,
      most: MOST,
      each: false,
      translate,
      isPlain: (body) =>
        isObject(body) && Array.isArray(body.personalizations) && body.personalizations.length === 1,
      isTrial: (body) =>
        isObject(body) && isObject(body.mail_settings) && isOn(body.mail_settings.sandbox_mode),
      keep: (_records, _failures, requestId) => requestId,
      answer: (requestId) => ({
        status: 202,
        body: '',
        headers: { 'x-message-id': requestId },
      }),
    },
  ],
  credential: bearerOf,
  told(error, index) {
    const field = error.field
      .replace(/^[a-z_]+|(?<=\.)[a-z_]+/g, (name) => NAMES[name] ?? name)
      .replace(/\[(\d+)\]/g, '.$1')
    return { ...error, field: OWN.test(field) ? `personalizations.${index}.${field}` : field }
  },
  tagOf: (requestId): HeaderTag => ({ name: 'x-message-id', value: requestId }),
  refuse(fault: Fault) {
    const { row, options } = fault
    const told: readonly FieldError[] = options.errors ?? []
    const errors =
      told.length > 0
        ? told.map(({ field, message }) => ({ message, field, help: null }))
        : [{ message: options.detail ?? row.description, field: null, help: null }]
    return { status: row.http === 422 ? 400 : row.http, body: JSON.stringify({ errors }) }
  },
}
