/** The pages of pools and their upstreams, without scripts, over a real daemon. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)

t.test('a pool is made, tested, changed, paused and deleted', async (t) => {
  const form = await browser.visit('/pools/new')
  const wrong = await browser.submit(form, 'create', { name: 'my pool', host: 'mta 1', port: 'x' })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /must be 1 to 63 of/, 'beside the name')
  t.match(wrong.html, /value="mta 1"/, 'what was typed stays')
  const made = await browser.send(form, 'create', {
    ...{ name: 'spare', host: '127.0.0.1', port: '1', tls: 'none' },
    ...{ user: 'gw', pass: 's3cret-pass' },
  })
  t.match(made.html, /The pool spare is made/)
  t.match(made.html, /127\.0\.0\.1:1/)
  t.notMatch(made.html, /s3cret-pass/)

  const [, id = ''] = /\/pools\/(pool_[0-9a-z]+)/.exec(made.html) ?? []
  t.notMatch(made.html, 'verb=reroute', 'nothing is there that could be moved')
  const tested = await browser.submit(await browser.visit(`/pools/${id}`), 'test')
  t.match(tested.html, /A test failed/)
  t.match(tested.html, /It could not be reached/)
  t.match(tested.html, /REFUSED/)

  const page = await browser.visit(`/pools/${id}`)
  const bad = await browser.submit(page, 'save', { host: 'mta2.test', port: '99999' })
  t.equal(bad.status, 422)
  t.match(bad.html, /name="port"[^>]*aria-invalid/, 'beside its field')
  t.match((await browser.submit(page, 'save', { host: '127.0.0.1', port: '2' })).html, /127\.0\.0\.1:2/)
  const two = await postern.json('pool', 'show', 'spare')
  t.match(two.members, [
    { port: 1, has_auth: true },
    { port: 2, has_auth: false },
  ])

  const [first] = two.members
  const why = { reason: 'its disk is <full>' }
  const paused = await browser.send(page, 'state', why, { upstream_id: first.id, state: 'paused' })
  t.match(paused.html, /127\.0\.0\.1:1 is paused/)
  t.match(paused.html, /History.*its disk is &lt;full(?:&gt;|>)/s, 'why, in its history')
  t.match(paused.html, /Resume/)
  const change = await browser.visit(`/pools/${id}?change=${first.id}`)
  await browser.submit(change, 'save', { weight: '7' })
  const kept = (await postern.json('pool', 'show', 'spare')).members[0]
  t.match(kept, { id: first.id, weight: 7, has_auth: true, state: 'paused' }, 'password and state stay')
  const odd = await browser.submit(change, 'save', { warmup: 'fifty' })
  t.equal(odd.status, 422)
  t.match(odd.html, /name="warmup"[^>]*aria-invalid/)
  const warming = await browser.submit(change, 'save', { warmup: '50:14' })
  t.match(warming.html, /warm-up 50:14/)
  t.match(warming.html, /Day<\/dt><dd>1 of 14.*0 of 50 recipients.*begins with the first mail/s)
  t.match((await postern.json('pool', 'show', 'spare')).members[0], { warmup: { first: 50, days: 14 } })
  await browser.send(page, 'remove', {}, { upstream_id: first.id })
  t.equal((await postern.json('pool', 'show', 'spare')).members.length, 1)

  await postern.json('workspace', 'update', 'default', '--pool', 'spare')
  const used = await browser.submit(await browser.visit(`/pools/${id}`), 'delete')
  t.equal(used.status, 409)
  t.match(used.html, /A workspace uses this pool/)

  // its own sentence counts no mail that has a time of its own, and neither does what stands below it
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  const mail = { from: 'a@b.test', to: 'x@c.test', text: 'x', scheduled_at }
  const key = await postern.key()
  const later = (await postern.api('POST', '/v1/emails', key, mail)).body.id
  const waits = await eventually('the state of the queue has it', async () => {
    const { html } = await browser.visit(`/pools/${id}`)
    return /times? of (?:its|their) own/.test(html) && html
  })
  t.match(waits, /nothing waits/i)
  t.match(waits, />0 wait \(0 due now\)<\/a>, 1 for a time of its own, /)
  await postern.api('POST', `/v1/emails/${later}/cancel`, key)

  await postern.json('workspace', 'update', 'default', '--pool', 'default')
  t.match((await browser.send(await browser.visit(`/pools/${id}`), 'delete')).html, /The pool is deleted/)
})

t.test('tokens in place of a password', async (t) => {
  const form = await browser.visit('/pools/new')
  const tokens = { token_url: 'https://id.test/token', client_id: 'gw', auth_mechanism: 'XOAUTH2' }
  const wrong = await browser.submit(form, 'create', { name: 'office', host: 'mta.test', ...tokens })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /name="user"[^>]*aria-invalid/, 'for whom?')
  const made = await browser.send(form, 'create', {
    ...{ name: 'office', host: 'mta.test', user: 'gw@acme.test', ...tokens, client_secret: 's3cret-client' },
  })
  t.match(made.html, /signs in with tokens · by XOAUTH2 only/)
  t.notMatch(made.html, /s3cret-client/)
})

t.test('the list says how each does', async (t) => {
  const { status, html } = await browser.visit('/pools')
  t.equal(status, 200)
  t.match(html, /Pool default has no upstream: nothing waits for it/)
  t.match(html, /Test mail ends here, and nobody gets it/)
})
