/** Bodies that nobody would write: each is answered in the provider's own form, and never by a fault of ours. */
import fc from 'fast-check'
import t from 'tap'
import { anyCharacter } from '../../parts/any-text.js'
import { ask, openKit } from '../kit.js'
import { headersFor, newAccessKey, SEND } from './signing.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const value = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(
      '',
      ' ',
      'a@b.example',
      'A <a@b.example>, ,',
      '"',
      'x\r\ny',
      '\u0000',
      '__proto__',
      1e300,
      -1,
      [],
      {},
    ),
    fc.array(fc.record({ email: fc.jsonValue(), name: fc.jsonValue() }, { requiredKeys: [] }), {
      maxLength: 3,
    }),
    fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
  )

const bodyOf = (names: readonly string[], plain: object): fc.Arbitrary<object> =>
  fc
    .dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string()), value(), {
      maxKeys: 5,
    })
    .map((odd) => ({ ...plain, ...odd }))

const POSTMARK =
  'From To Cc Bcc ReplyTo Subject HtmlBody TextBody Tag Metadata MessageStream Headers Attachments TrackOpens TrackLinks'
const SENDGRID =
  'personalizations from reply_to reply_to_list subject content attachments headers categories custom_args send_at mail_settings tracking_settings'

t.test('Postmark', async (t) => {
  const plain = { From: 'a@acme.test', To: 'b@example.com', Subject: 'Hi', TextBody: 'Hello' }
  const one = fc.oneof(bodyOf(POSTMARK.split(' '), plain), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(fc.oneof(one, fc.array(one, { maxLength: 4 })), async (body) => {
      for (const path of ['email', 'email/batch']) {
        const headers = { 'x-postmark-server-token': kit.key }
        const { status, json } = await ask(`${kit.url}/v1/as/postmark/${path}`, {
          method: 'POST',
          body,
          headers,
        })
        const all = Array.isArray(json) ? json : [json]
        if (status >= 500 || !all.every(({ ErrorCode, Message }) => ErrorCode >= 0 && Message !== ''))
          throw new Error(`${path} ${status} ${JSON.stringify(json)}`)
      }
    }),
    { numRuns: 60 },
  )
  t.pass('all of them')
})

const MAILGUN =
  'from to cc bcc subject text html attachment inline message o:tag o:deliverytime o:testmode o:tracking o:require-tls h:X-A h:Reply-To h: v:a v: t:a recipient-variables template'

t.test('Mailgun', async (t) => {
  const authorization = `Basic ${Buffer.from(`api:${kit.key}`).toString('base64')}`
  const plain = [
    ['from', 'a@acme.test'],
    ['to', 'b@example.com'],
    ['text', 'Hello'],
  ]
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('', 'yes', '\r\n--b', '{"b@example.com":{}}', '%recipient.a%', ',', '<', '"', '\0'),
  )
  const name = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...MAILGUN.split(' ')) },
    fc.string({ unit: anyCharacter }),
  )
  const part = fc.tuple(name, text, fc.option(fc.string(), { freq: 4 }))
  const bodies = fc.oneof(
    fc.array(part, { maxLength: 6 }).map((parts) => {
      const form = new FormData()
      for (const [name, value] of plain) form.append(name as string, value as string)
      for (const [name, value, file] of parts)
        if (file === null) form.append(name, value)
        else form.append(name, new Blob([value]), file)
      return form
    }),
    fc
      .array(fc.tuple(name, text), { maxLength: 6 })
      .map((pairs) => new URLSearchParams([...(plain as never), ...pairs])),
    fc
      .array(
        fc.constantFrom(
          '--b',
          '--',
          '\r\n',
          ' ',
          'Content-Disposition: form-data; name="to"',
          ';',
          '"',
          'x',
          'filename*=',
          '\n',
        ),
      )
      .map((pieces) => new Blob([pieces.join('')], { type: 'multipart/form-data; boundary=b' })),
  )
  await fc.assert(
    fc.asyncProperty(bodies, fc.constantFrom('messages', 'messages.mime'), async (body, path) => {
      const url = `${kit.url}/v1/as/mailgun/v3/acme.test/${path}`
      const answer = await fetch(url, { method: 'POST', body, headers: { authorization } })
      const { message } = (await answer.json()) as { readonly message: unknown }
      if (answer.status >= 500 || typeof message !== 'string' || message === '')
        throw new Error(`${answer.status} ${message}`)
    }),
    { numRuns: 200 },
  )
  t.pass('all of them')
})

t.test('SendGrid', async (t) => {
  const plain = {
    personalizations: [{ to: [{ email: 'b@example.com' }] }],
    from: { email: 'a@acme.test' },
    subject: 'Hi',
    content: [{ type: 'text/plain', value: 'Hello' }],
  }
  const own = bodyOf('to cc bcc from subject headers custom_args send_at'.split(' '), {})
  const all = bodyOf(SENDGRID.split(' '), plain)
  const body = fc.oneof(
    all,
    fc
      .tuple(all, fc.array(own, { maxLength: 3 }))
      .map(([one, personalizations]) => ({ ...one, personalizations })),
    fc.jsonValue(),
  )
  await fc.assert(
    fc.asyncProperty(body, async (body) => {
      const { status, json } = await ask(`${kit.url}/v1/as/sendgrid/v3/mail/send`, {
        method: 'POST',
        key: kit.key,
        body,
      })
      const isSaid =
        status < 300 || json.errors.every(({ message }: { message: unknown }) => typeof message === 'string')
      if (status >= 500 || !isSaid) throw new Error(`${status} ${JSON.stringify(json)}`)
    }),
    { numRuns: 120 },
  )
  t.pass('all of them')
})

const SES =
  'FromEmailAddress Destination Content ReplyToAddresses EmailTags ConfigurationSetName ListManagementOptions FeedbackForwardingEmailAddress'
const MESSAGE = 'From: a@acme.test\r\nTo: b@example.com\r\n\r\nHello\r\n'

t.test('Amazon SES', async (t) => {
  const key = await newAccessKey(kit.tenants, kit.accountId)
  const text = fc.oneof(value(), fc.record({ Data: value(), Charset: value() }, { requiredKeys: [] }))
  const data = fc.oneof(
    value(),
    fc.uint8Array({ maxLength: 200 }).map((octets) => Buffer.from(octets).toString('base64')),
    fc
      .string({ unit: anyCharacter, maxLength: 80 })
      .map((some) => Buffer.from(MESSAGE + some).toString('base64')),
    fc
      .string({ unit: anyCharacter, maxLength: 80 })
      .map((some) => Buffer.from(some + MESSAGE).toString('base64')),
  )
  const optional = { requiredKeys: [] }
  const simple = fc.record({ Subject: text, Body: value(), Headers: value(), Attachments: value() }, optional)
  const content = fc.record({ Simple: fc.oneof(simple, value()), Raw: fc.record({ Data: data }) }, optional)
  const lists = fc.record({ ToAddresses: value(), CcAddresses: value(), BccAddresses: value() }, optional)
  const plain = {
    FromEmailAddress: 'a@acme.test',
    Destination: { ToAddresses: ['b@example.com'] },
    Content: { Simple: { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'Hello' } } } },
  }
  const all = bodyOf(SES.split(' '), plain)
  const body = fc.oneof(
    all,
    fc.tuple(all, content, lists).map(([one, Content, Destination]) => ({ ...one, Content, Destination })),
    fc.jsonValue(),
  )
  const heads = fc.dictionary(
    fc.constantFrom('authorization', 'x-amz-date', 'x-amz-content-sha256', 'amz-sdk-invocation-id', 'x-odd'),
    fc.oneof(
      fc.string({ maxLength: 60 }),
      fc
        .array(
          fc.constantFrom(
            'AWS4-HMAC-SHA256',
            ' ',
            'Credential=',
            key.accessKeyId,
            '/',
            'ses',
            ',',
            ';',
            'host',
            '=',
          ),
        )
        .map((parts) => parts.join('')),
    ),
    { maxKeys: 2 },
  )
  const answered = async (sent: string, more: Record<string, string>) => {
    const signed = await headersFor(key, `127.0.0.1:${kit.port}`, sent)
    const headers = { ...signed, ...more }
    const { status, json, headers: told } = await ask(kit.url + SEND, { method: 'POST', body: sent, headers })
    const isSaid = status === 200 ? /^em_/.test(json.MessageId) : json.message !== ''
    if (status >= 500 || !isSaid || (status !== 200 && !told.get('x-amzn-errortype')))
      throw new Error(`${status} ${JSON.stringify(json)}`)
  }
  await fc.assert(
    fc.asyncProperty(body, (one) => answered(JSON.stringify(one), {})),
    { numRuns: 150 },
  )
  // what Node itself does not send is not asked
  const isSent = (more: Record<string, string>) =>
    Object.values(more).every((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))
  await fc.assert(
    fc.asyncProperty(heads.filter(isSent), (more) => answered(JSON.stringify(plain), more)),
    { numRuns: 150 },
  )
  t.pass('all of them')
})
