/**
 * What sends nothing says so wherever it is looked at: the list of pools, a pool, the list of workspaces, a workspace, a
 * mail. Each of these was read as "all is well" beside an overview that said otherwise.
 */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern({ relay: { retry: ['1h'] } }).start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)
const token = (await postern.json('session', 'create')).token as string

const api = async (method: string, path: string, body?: unknown, key = token) => {
  const { status, body: said, text } = await postern.api(method, path, key, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
  return said
}
const title = (html: string): string => /<h1>(.*?)<\/h1>/s.exec(html)?.[1]?.replace(/<[^>]*>/g, '') ?? ''
/** The rows of a table, as text. */
const rows = (html: string): readonly string[] =>
  [...html.matchAll(/<tr role="row">(.*?)<\/tr>/gs)].map(([, row = '']) => row.replace(/<[^>]*>/g, ' '))

const send = async (workspace: string, to: string): Promise<string> => {
  const made = await api('POST', '/v1/api-keys', { name: to, workspace_id: workspace, mode: 'live' })
  return (
    await api('POST', '/v1/emails', { from: 'a@shop.example', to, subject: 'x', text: 'x' }, made.secret)
  ).id
}

const pools: Record<string, string> = {}
for (const name of ['fine', 'bulk', 'dead']) {
  const members = [{ host: '127.0.0.1', port: 9, tls: 'none' }]
  pools[name] = (await api('POST', '/v1/egress-pools', { name, members })).id
  await api('POST', '/v1/workspaces', { name: `Of ${name}`, slug: name, egress_pool_id: pools[name] })
}
await api('PATCH', '/v1/workspaces/default', { egress_pool_id: pools.fine })
const hold = await api('POST', '/v1/holds', {
  scope: { egress_pool_id: pools.bulk },
  reason: 'the template is broken',
})
const held = await send('bulk', 'reader@example.net')
await send('dead', 'ana@example.org')

t.test('a pool that is held', async (t) => {
  await eventually('the dead one is down', async () => /1 down/.test((await browser.visit('/pools')).html))
  const { html } = await browser.visit('/pools')
  t.equal(title(html), 'One pool sends nothing, and one pool is held.')
  const row = rows(html).find((one) => /^\s*bulk/.test(one)) ?? ''
  t.match(row, /It is held: the template is broken\. 1 recipient is held/)
  t.notMatch(
    /<td[^>]*><a href="\/pools\/[^"]+"><bdi>bulk<.*?<\/tr>/s.exec(html)?.[0] ?? 'delivered',
    /delivered/,
  )
  const page = (await browser.visit(`/pools/${pools.bulk}`)).html
  t.match(page, /This pool is held<\/strong> since/)
  t.match(page, new RegExp(`/queue/release\\?hold=${hold.id}`))
})

t.test('workspaces whose mail goes nowhere', async (t) => {
  const { html } = await browser.visit('/workspaces')
  t.equal(title(html), '2 of 4 workspaces send nothing.')
  const stateOf = (slug: string) => rows(html).find((row) => row.includes(` ${slug} `)) ?? ''
  t.match(stateOf('bulk'), 'Pool held')
  t.match(stateOf('dead'), 'Pool down')
  t.match(stateOf('fine'), 'Sends')
  t.equal(title((await browser.visit('/workspaces/bulk')).html), 'Of bulk sends nothing: its pool is held.')
  t.match((await browser.visit('/workspaces/bulk')).html, /Its pool is held<.*the template is broken/s)
  t.equal(
    title((await browser.visit('/workspaces/dead')).html),
    'Of dead sends nothing: no upstream of its pool answers.',
  )
  t.equal(title((await browser.visit('/workspaces/fine')).html), 'Of fine sends.')
})

t.test('a mail that is held with its pool has no button that sets nothing free', async (t) => {
  const { html } = await browser.visit(`/emails/${held}`)
  t.notMatch(html, '_action" value="release"')
  t.match(html, new RegExp(`/queue/order\\?verb=release&amp;egress_pool_id=${pools.bulk}`))
  const looked = await browser.visit(`/queue/order?verb=release&egress_pool_id=${pools.bulk}`)
  t.match(title(looked.html), /1 recipient/)
  await browser.send(looked, 'order', { reason: 'mended' })
  t.equal((await api('GET', '/v1/holds')).data.length, 0)
})

t.test('what is held alone is released alone', async (t) => {
  const id = await send('fine', 'bo@example.org')
  await api('POST', '/v1/holds', { scope: { email_id: id }, reason: 'asked' })
  t.match((await browser.visit(`/emails/${id}`)).html, '_action" value="release"')
})

t.test('everything held is said by each pool and each workspace', async (t) => {
  await api('POST', '/v1/holds', { scope: { all: true }, reason: 'stop' })
  t.match((await browser.visit(`/pools/${pools.fine}`)).html, /The whole queue is held<\/strong> since/)
  t.equal(
    title((await browser.visit('/workspaces/fine')).html),
    'Of fine sends nothing: the whole queue is held.',
  )
})
