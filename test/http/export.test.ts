/** Lists and statistics as files: all rows, quoted and harmless, little by little. */

import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { readCsv } from '../../src/record/csv.js'
import { indexMails } from '../store/fixture.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const get = (path: string, headers = {}, key = kit.key) => kit.ask(path, { headers, key })
for (let i = 0; i < 230; i++)
  await kit.ask('/v1/emails', {
    body: {
      ...MAIL,
      subject: i === 0 ? '=HYPERLINK("http://evil.example")' : i === 1 ? 'One, "two"; three' : `Number ${i}`,
      to: ['ana@example.com', `b${i}@example.com`],
      tags: [{ name: 'n', value: String(i) }],
    },
  })
while ((await indexMails(kit.store, 100)) > 0) {}

t.test('all pages as CSV', async (t) => {
  const file = await get('/v1/emails?format=csv')
  t.equal(file.status, 200)
  t.match(file.headers.get('content-type'), /^text\/csv/)
  t.match(file.headers.get('content-disposition'), /filename="emails.csv"/)
  const [head, ...rows] = readCsv(file.text)
  t.equal(head?.[1], 'created_at (UTC)')
  t.equal(rows.length, 230)
  const subject = head?.indexOf('subject') ?? -1
  t.equal(rows.at(-1)?.[subject], `'=HYPERLINK("http://evil.example")`)
  t.equal(rows.at(-2)?.[subject], 'One, "two"; three')
  t.equal(rows[0]?.[head?.indexOf('to') ?? -1], 'ana@example.com, b229@example.com')
  t.ok(file.text.endsWith('\r\n'))
})

t.test('as lines of JSON, by Accept; searched; a limit is of all rows', async (t) => {
  const lines = (text: string) => text.trim().split('\n')
  const all = await get('/v1/emails', { accept: 'application/x-ndjson' })
  t.equal(lines(all.text).length, 230)
  const [first] = (await get('/v1/emails?limit=1')).json.data
  t.same(JSON.parse(lines(all.text)[0] ?? ''), first)
  t.equal(lines((await get('/v1/emails?format=ndjson&limit=150')).text).length, 150)
  t.equal(lines((await get('/v1/emails?format=ndjson&q=number')).text).length, 228)
  t.equal((await get('/v1/emails', { accept: 'text/csv, application/json' })).json.object, 'list')
  t.same(fieldsOf(await get('/v1/emails?limit=150')), ['query.limit range'])
  t.same(fieldsOf(await get('/v1/emails?format=xml')), ['query.format unsupported'])
  t.same(fieldsOf(await get('/v1/emails?format=csv&cursor=x')), ['query.cursor forbidden'])
})

t.test('events, suppressions and statistics', async (t) => {
  t.equal((await get('/v1/events?format=ndjson')).text.trim().split('\n').length, 460)
  await kit.ask('/v1/suppressions', { body: { email: '+plus@example.com', reason: '@risky' } })
  const [head, row] = readCsv((await get('/v1/suppressions?format=csv')).text)
  t.same(head?.slice(0, 3), ['email', 'origin', 'reason'])
  t.same(row?.slice(0, 3), [`'+plus@example.com`, 'manual', `'@risky`])
  const statistics = readCsv((await get('/v1/statistics?format=csv')).text)
  t.same(statistics[0]?.slice(0, 4), ['group', 'name', 'at (UTC)', 'accepted'])
  t.ok(statistics.length > 20)
  t.match(JSON.parse((await get('/v1/statistics?format=ndjson')).text.split('\n')[0] ?? ''), {
    group: null,
    sent: 0,
  })
})

t.test('who goes away stops it', async (t) => {
  let pages = 0
  const ask = request(`${kit.url}/v1/emails?format=ndjson`, {
    headers: { authorization: `Bearer ${kit.key}` },
  })
  ask.end()
  const [answer] = await once(ask, 'response')
  answer.on('data', () => pages++)
  await once(answer, 'data')
  answer.destroy()
  await once(answer, 'close')
  t.ok(pages >= 1)
  t.equal((await get('/v1/emails?limit=1')).status, 200, 'and all is well')
})
