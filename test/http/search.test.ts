/** q of GET /v1/emails: what it finds, what it refuses, and cursors that hold it. */
import t from 'tap'
import { indexMails } from '../store/fixture.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const send = async (over: object): Promise<string> =>
  (await kit.ask('/v1/emails', { body: { ...MAIL, ...over } })).json.id
const index = async (): Promise<void> => {
  while ((await indexMails(kit.store, 100)) > 0) {}
}
const list = (query: Record<string, string>) => kit.ask(`/v1/emails?${new URLSearchParams(query)}`)

t.test('finds, by pages', async (t) => {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift(await send({ subject: `Order ${i}`, to: `buyer${i}@shop.example` }))
  await send({ subject: 'Something else' })
  await index()
  const all = await list({ q: 'order' })
  t.equal(all.status, 200)
  t.same(
    all.json.data.map((mail: { id: string }) => mail.id),
    ids,
  )
  t.equal(all.json.pagination.total, 5)
  t.equal(all.json.pagination.searched_to, null, 'all was looked at')
  t.notOk('searched_to' in (await list({})).json.pagination, 'a list looks at nothing else')
  const first = await list({ q: 'domain:shop.example', limit: '2' })
  const { next_cursor: cursor, prev_cursor: newer } = first.json.pagination
  const next = await list({ q: 'domain:shop.example', limit: '2', cursor })
  t.same(
    [...first.json.data, ...next.json.data].map((mail: { id: string }) => mail.id),
    ids.slice(0, 4),
  )
  t.equal((await list({ q: 'domain:other.example', limit: '2', cursor })).json.type.includes('cursor'), true)
  const late = await send({ subject: 'Order late', to: 'late@shop.example' })
  const unseen = await list({ q: 'domain:shop.example', limit: '2', cursor: newer })
  t.same(unseen.json.data, [])
  await index()
  const seen = await list({ q: 'domain:shop.example', cursor: unseen.json.pagination.prev_cursor })
  t.same(
    seen.json.data.map((mail: { id: string }) => mail.id),
    [late],
  )
  t.same((await list({ q: ' ' })).json.data.length, 7, 'nothing to search for is a list')
})

t.test('each term, by itself, negated and in quotes', async (t) => {
  const row = (await kit.store.keyByLookup(kit.key.slice(9, 21))) as { id: string; name: string }
  const id = await send({
    subject: 'Zebra crossing',
    to: 'zoe@zoo.example',
    from: 'Keeper <keeper@stripes.example>',
    tags: [{ name: 'animal', value: 'zebra' }],
    attachments: [{ filename: 'a.txt', content: 'eA==' }],
  })
  await send({ subject: 'Zebra finch', to: 'other@cage.example' })
  const { json } = await kit.ask(`/v1/emails/${id}`)
  await index()
  const ids = async (q: string) => (await list({ q })).json.data.map((mail: { id: string }) => mail.id)
  const terms: readonly (readonly [name: string, value: string])[] = [
    ['to', 'zoe@zoo.example'],
    ['from', 'keeper@stripes.example'],
    ['subject', 'zebra crossing'],
    ['tag', 'animal:zebra'],
    ['domain', 'zoo.example'],
    ['message-id', json.message_id],
    ['has', 'attachment'],
  ]
  for (const [name, value] of terms) {
    t.same(await ids(`zebra ${name}:"${value}"`), [id], name)
    t.notOk((await ids(`zebra -${name}:"${value}"`)).includes(id), `-${name}`)
    t.equal((await ids(`zebra -${name}:"${value}"`)).length, 1, `-${name} leaves the other`)
  }
  const both = await ids('zebra')
  for (const named of [row.id, row.name, kit.key.slice(0, 21)]) {
    t.same(await ids(`zebra key:"${named}"`), both, `key:${named}`)
    t.same(await ids(`zebra -key:"${named}"`), [], `-key:${named}`)
  }
  for (const none of [
    'status:bounced',
    'reason:unknown_user',
    'is:held',
    'pool:none',
    'key:none',
    'before:2020-01-01',
  ])
    t.same(await ids(`zebra ${none}`), [], none)
  for (const all of [
    'status:queued',
    '-reason:unknown_user',
    '-is:held',
    '-pool:none',
    '-key:none',
    'after:2020-01-01',
  ])
    t.same(await ids(`zebra ${all}`), both, all)
})

t.test('says what is wrong', async (t) => {
  const wrong = async (query: Record<string, string>) => {
    const answer = await list(query)
    t.equal(answer.status, 422)
    return answer.json.errors[0] as { field: string; kind: string; message: string }
  }
  t.match(await wrong({ q: 'form:ana' }), { field: 'query.q', kind: 'unsupported', message: /from:/ })
  t.match(await wrong({ q: 'x'.repeat(257) }), { field: 'query.q', kind: 'length' })
  t.match(await wrong({ q: 'a '.repeat(17) }), { field: 'query.q', kind: 'too_many' })
  t.match(await wrong({ q: 'a OR' }), { field: 'query.q', kind: 'format', message: /after OR/ })
  t.match(await wrong({ q: 'a OR (b c)' }), { field: 'query.q', kind: 'unsupported', message: /\(b/ })
  t.match(await wrong({ q: 'x', tz: 'Mars/Olympus' }), { field: 'query.tz', kind: 'unsupported' })
  const both = await list({ q: 'form:ana', limit: '0' })
  t.same(fieldsOf(both).sort(), ['query.limit range', 'query.q unsupported'])
})

t.test('days are of the zone that is named', async (t) => {
  const id = await send({ subject: 'Clockwork' })
  await index()
  const today = new Date(kit.clock.now()).toISOString().slice(0, 10)
  const ids = async (query: Record<string, string>) =>
    (await list(query)).json.data.map((mail: { id: string }) => mail.id)
  t.same(await ids({ q: `clockwork after:${today}` }), [id])
  t.same(await ids({ q: `clockwork before:${today}` }), [])
})
