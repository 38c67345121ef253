/** The pages of the queue, as an operator without scripts uses them, over a real daemon whose upstream is down. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)
const key = await postern.key()

const send = async (to: readonly string[]): Promise<void> => {
  const body = { from: 'a@shop.example', to, subject: 'x', text: 'x' }
  const sent = await postern.api('POST', '/v1/emails', key, body)
  t.equal(sent.status, 202, sent.text)
}

/** The first heading, as text. */
const title = (html: string): string => /<h1>(.*?)<\/h1>/s.exec(html)?.[1]?.replace(/<[^>]*>/g, '') ?? ''

t.test('an empty queue teaches', async (t) => {
  const { status, html } = await browser.visit('/queue')
  t.equal(status, 200)
  t.equal(title(html), 'Nothing waits.')
  t.match(html, /postern queue top/)
  t.notMatch(html, /<span class="n/, 'no figure that is zero')
})

t.test('what waits, where, why, and an order that tells first what it meets', async (t) => {
  await postern.route('smtp://127.0.0.1:1?tls=none')
  await send(['ana@slow.example', 'bo@other.example'])
  const stands = async () => {
    const { html } = await browser.visit('/queue')
    return /the upstreams? of|upstream.{0,40}down|REFUSED|tries again/i.test(html) && html
  }
  const html = String(await eventually('the page says that it waits', stands))
  t.match(title(html), /2 recipients/)
  // an attempt that failed is told at once; that the upstream is down, once its breaker is open
  const down = async () => {
    const page = await browser.visit('/')
    return title(page.html).startsWith('No upstream') && page
  }
  const overview = await eventually('the overview says that the pool is down', down)
  t.match(title(overview.html), /^No upstream of pool \S+ answers: 2 recipients wait\.$/)
  t.match(overview.html, />To the pool</)
  const [, pool = ''] = /href="(\/pools\/pool_[0-9a-z]+)/.exec(overview.html) ?? []
  t.match((await browser.visit(pool)).html, 'href="/queue/order?verb=reroute&amp;egress_pool_id=pool_')
  t.match(overview.html, /Queue <span class="n warn">2 wait<\/span>/, 'beside the link to the queue')
  t.match(overview.html, /Pools <span class="n warn">1 down<\/span>/)
  t.match((await browser.visit('/queue?by=domain')).html, /slow\.example/)
  t.match(
    title((await browser.visit('/?mode=test')).html),
    /^Nothing|^No test mail/,
    'live mail is no test mail',
  )
  const told = await postern.cli('status')
  t.equal(told.code, 69, 'a script sees it, too')
  t.match(told.stdout, /^No upstream of pool \S+ answers: 2 recipients wait\.\n/)
  const entries = await browser.visit('/queue/entries?domain=slow.example')
  const listed = entries.html.replace(/<[^>]+>/g, '')
  t.match(listed, /ana@slow\.example/)
  t.notMatch(listed, /bo@other\.example/)

  const looked = await browser.visit('/queue/order?verb=hold&domain=slow.example')
  t.equal(title(looked.html), 'This matches 1 recipient.')
  const refused = await browser.submit(looked, 'order', { reason: ' ' })
  t.equal(refused.status, 422)
  t.match(refused.html, /must say why/)
  const held = await browser.send(looked, 'order', { reason: 'they asked us to <stop>' })
  t.match(held.html, /Held: 1 recipient, and what comes later/)
  t.match(
    held.html,
    /Queue <span class="n warn">1 waits, 1 held<\/span>/,
    'what is held is not counted as waiting',
  )
  t.match(held.html, /they asked us to &lt;stop>/)

  const [, id = ''] = /hold=(hold_[0-9a-z]+)/.exec(held.html) ?? []
  const one = await browser.visit(`/queue/release?hold=${id}`)
  t.match(title(one.html), /1 recipient of mail to slow\.example is held/)
  const free = await browser.send(one, 'release', { reason: 'they may have it' })
  t.match(free.html, /The hold is lifted: 1 recipient set free/)
  t.match((await browser.visit(`/queue/release?hold=${id}`)).html, /stands no more/)

  const purge = await browser.visit('/queue/order?verb=purge')
  t.equal(title(purge.html), 'This matches 2 recipients.')
  t.match((await browser.send(purge, 'order', { reason: 'a test' })).html, /given up/)
  t.equal(title((await browser.visit('/queue')).html), 'Nothing waits.')
})

t.test('a scope that is none is said beside nothing else', async (t) => {
  const wrong = await browser.visit('/queue/order?verb=retry&domain=no%20domain')
  t.equal(wrong.status, 422)
  t.equal((await browser.visit('/queue/order?egress_pool_id=nowhere')).status, 404)
})

t.test('a pool that is dead is dead after a restart, and so is its held mail', async (t) => {
  await send(['ana@slow.example'])
  const stops = /^No upstream of pool \S+ answers: 1 recipient waits\.$/
  await eventually('it is down', async () => stops.test(title((await browser.visit('/queue')).html)))
  await postern.stop()
  await postern.start()
  const again = await signedIn(postern)
  const { html } = await again.visit('/')
  t.match(title(html), stops)
  t.match(html, /Pools <span class="n warn">1 down<\/span>/)
  const pools = await again.visit('/pools')
  t.equal(title(pools.html), 'One pool sends nothing.')
  const looked = await again.visit('/queue/order?verb=hold')
  await again.send(looked, 'order', { reason: 'until it is mended' })
  const held = await again.visit('/queue')
  t.equal(title(held.html), 'Everything is held: 1 recipient.')
  t.match(held.html, /No upstream of pool \S+ answers: 1 recipient is held\./)
  t.equal(title((await again.visit('/')).html), 'Everything is held: 1 recipient.')
  t.match((await postern.cli('status')).stdout, /^Everything is held: 1 recipient\.\n/)
  const { state } = (await postern.api('GET', '/v1/queue', key)).body
  t.match(state, { live: { waiting: 0, held: 1 } }, 'a key of a workspace counts the same')
})
