import fc from 'fast-check'
import t from 'tap'
import { parseTime } from '../../src/base/moments.js'
import { decodeBase64, toDraft, type WireDraft } from '../../src/submission/draft.js'
import { checkDraft } from '../../src/submission/validate.js'

const NOW = Date.UTC(2026, 10, 20, 10)
const rules = {
  defaultFrom: null,
  recipients: 100,
  now: NOW,
  hostname: 'gw.test',
  messageSize: 100_000,
  lineEndings: 'normalize',
} as const
const good = { from: 'a@acme.test', to: 'ana@example.com' }

const verdict = (body: WireDraft) => checkDraft(toDraft({ ...good, ...body }), rules)
const faults = (body: WireDraft): readonly string[] =>
  (verdict(body).errors ?? []).map(({ field, kind }) => `${field} ${kind}`)

t.test('what clients send for "nothing" is nothing', async (t) => {
  const empty = {
    cc: [],
    bcc: null,
    reply_to: [],
    tags: [],
    attachments: null,
    headers: [] as never[],
    html: null,
  }
  t.match(verdict(empty).checked, {
    cc: [],
    bcc: [],
    headers: {},
    tags: [],
    attachments: [],
    subject: '',
    html: null,
  })
})

t.test('addresses', async (t) => {
  t.strictSame(faults({ to: [] }), ['body.to missing'])
  t.strictSame(faults({ to: null }), ['body.to missing'])
  t.strictSame(faults({ from: null }), ['body.from missing'])
  t.strictSame(faults({ to: 'nobody' }), ['body.to format'])
  t.strictSame(faults({ to: ['a@b.example', 'a@b.example, c@d.example'] }), ['body.to[1] format'])
  t.strictSame(faults({ cc: ['x\r\nBcc: y@z.example <a@b.example>'], reply_to: 'no' }), [
    'body.cc format',
    'body.reply_to format',
  ])
  const many = Array.from({ length: 101 }, (_, i) => `r${i}@example.com`)
  t.strictSame(faults({ to: many }), ['body.to too_many'])
  t.strictSame(faults({ to: many.slice(0, 50), cc: many.slice(50) }), ['body.to too_many'])
  t.strictSame(faults({ to: many.slice(0, 100), cc: many.slice(0, 100) }), [], 'each counts once')
  const byDefault = checkDraft(toDraft({ to: 'a@b.example' }), {
    ...rules,
    defaultFrom: 'Shop <shop@b.example>',
  })
  t.match(byDefault.checked, { from: { text: 'Shop <shop@b.example>' } })
})

t.test('headers', async (t) => {
  const withHeaders = (headers: Record<string, string>) => faults({ headers })
  t.strictSame(withHeaders({ 'X-A': 'b', References: '<a@b>' }), [])
  for (const name of [
    'From',
    'bcc',
    'Content-Type',
    'DKIM-Signature',
    'message-id',
    'Return-Path',
    'MIME-Version',
  ]) {
    t.strictSame(withHeaders({ [name]: 'x' }), [`body.headers.${name} forbidden`])
  }
  t.strictSame(withHeaders({ 'X-A': 'b\r\nBcc: c@d.example' }), ['body.headers.X-A format'])
  t.strictSame(withHeaders({ 'X-A': 'b\0' }), ['body.headers.X-A format'])
  t.strictSame(withHeaders({ 'X A:': 'b' }), ['body.headers["X A:"] format'])
  t.strictSame(withHeaders({ '': 'b' }), ['body.headers[""] format'])
  const post = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  t.strictSame(withHeaders(post), ['body.headers.List-Unsubscribe-Post format'])
  t.strictSame(
    withHeaders({ ...post, 'List-Unsubscribe': '<mailto:a@b.example>, <https://b.example/u>' }),
    [],
  )
  t.strictSame(withHeaders({ 'List-Unsubscribe-Post': 'yes', 'List-Unsubscribe': '<https://b.example/u>' }), [
    'body.headers.List-Unsubscribe-Post format',
  ])
})

t.test('texts and tags', async (t) => {
  t.strictSame(faults({ subject: 'a\nb', html: 'a\0', text: 'b\0' }), [
    'body.subject format',
    'body.html format',
    'body.text format',
  ])
  const tag = (name: string, value = 'v') => ({ name, value })
  t.strictSame(faults({ tags: [tag('a'), tag('a b'), tag('a'), tag('b', '\n'), tag('', 'x'.repeat(257))] }), [
    'body.tags[1].name format',
    'body.tags[2].name not_unique',
    'body.tags[3].value format',
    'body.tags[4].name length',
    'body.tags[4].value length',
  ])
  t.strictSame(faults({ tags: Array.from({ length: 76 }, (_, i) => tag(`t${i}`)) }), ['body.tags too_many'])
})

t.test('when to send', async (t) => {
  const at = (ms: number) => new Date(NOW + ms).toISOString()
  const day = 86_400_000
  t.equal(verdict({ scheduled_at: at(1000) }).checked?.scheduledAt, NOW + 1000)
  t.equal(verdict({ scheduled_at: at(-60_000) }).checked?.scheduledAt, null)
  t.strictSame(faults({ scheduled_at: at(-60_001) }), ['body.scheduled_at past'])
  t.strictSame(faults({ scheduled_at: at(30 * day) }), [])
  t.strictSame(faults({ scheduled_at: at(30 * day + 1) }), ['body.scheduled_at range'])
  for (const text of [
    'tomorrow',
    'in 1 month',
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-02-30T10:00:00Z',
    '2026-11-21T25:00Z',
    '',
  ]) {
    t.strictSame(faults({ scheduled_at: text }), ['body.scheduled_at format'], text)
  }
  t.strictSame(faults({ scheduled_at: 'in 30 days' }), [])
  t.strictSame(faults({ scheduled_at: 'in 31 days' }), ['body.scheduled_at range'])
  t.strictSame(faults({ scheduled_at: 'today at midnight' }), ['body.scheduled_at past'])
  const moment = Date.UTC(2026, 10, 21, 8, 30)
  for (const text of [
    '2026-11-21T08:30Z',
    '2026-11-21t08:30:00.000z',
    '2026-11-21 10:30:00+02:00',
    '2026-11-21T10:30:00.0+0200',
  ]) {
    t.equal(parseTime(text), moment, text)
  }
  fc.assert(
    fc.property(
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
      (date) => parseTime(date.toISOString()) === date.getTime(),
    ),
  )
})

t.test('attachments', async (t) => {
  const take = (one: NonNullable<WireDraft['attachments']>[number]) => verdict({ attachments: [one] })
  const bytes = (one: Parameters<typeof take>[0]) =>
    Buffer.from(take(one).checked?.attachments[0]?.content ?? []).toString()
  t.equal(bytes({ content: 'aGVsbG8=' }), 'hello')
  t.equal(bytes({ content: 'aGVs\r\nbG8=\n' }), 'hello')
  t.equal(bytes({ content: [104, 105] }), 'hi')
  t.equal(bytes({ content: { type: 'Buffer', data: [104, 105] } }), 'hi')
  t.equal(take({ content: '' }).checked?.attachments[0]?.content.length, 0)
  t.match(
    take({ content: '', contentType: 'text/csv', contentId: '<a@b>', filename: 'x.csv' }).checked
      ?.attachments[0],
    {
      contentType: 'text/csv',
      contentId: 'a@b',
      filename: 'x.csv',
    },
  )
  const wrong = (one: Parameters<typeof take>[0]) =>
    (take(one).errors ?? []).map(({ field, kind }) => `${field.replace('body.attachments[0].', '')} ${kind}`)
  t.strictSame(wrong({ path: 'https://127.0.0.1/x' }), ['path unsupported'])
  t.strictSame(wrong({}), ['content missing'])
  for (const content of ['aGVsbG8', 'aGVsbG8*', 'a-_b', 'aGVs=G8=', 'a', '====', 'aGVs bG8=']) {
    t.strictSame(wrong({ content }), ['content format'], content)
  }
  t.strictSame(wrong({ content: [256] }), ['content format'])
  t.strictSame(wrong({ content: '', filename: 'a\nb', content_type: 'pdf', content_id: 'a b' }), [
    'filename format',
    'content_type format',
    'content_id format',
  ])
})

t.test('base64 is read as it was written', async () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = Buffer.from(bytes).toString('base64')
      return decodeBase64(text)?.equals(bytes) === true
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      const bytes = decodeBase64(text)
      // unused bits of the last character may differ, nothing else
      return (
        bytes === null || bytes.toString('base64').slice(0, -3) === text.replace(/[\r\n]/g, '').slice(0, -3)
      )
    }),
  )
})
