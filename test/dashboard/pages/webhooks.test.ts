/** Webhooks by hand: made, tested, looked at, rotated, switched off and on, deleted. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

const HOSTILE = '<script>alert(1)</script>'

t.test('an endpoint and its life', async (t) => {
  let answer = 200
  const server = createServer((req, res) => {
    req.resume()
    req.on('end', () => res.writeHead(answer).end(answer === 200 ? 'ok' : HOSTILE))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const postern = await new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } }).start()
  t.teardown(async () => {
    await postern.remove()
    server.closeAllConnections()
    server.close()
  })
  const browser = await signedIn(postern)
  t.match((await browser.visit('/webhooks')).html, 'No webhook yet')
  const form = await browser.visit('/webhooks/new')
  const wrong = await browser.submit(form, 'create', { endpoint: 'http://10.0.0.1/x', mode: 'test' })
  t.match(wrong.html, /id="create-endpoint-wrong"/)
  const made = await browser.submit(form, 'create', {
    endpoint: url,
    mode: 'test',
    events: ['email.delivered', 'email.bounced'],
  })
  t.match(made.html, /whsec_[\w+/=]{20,}/)
  const [path = ''] = /\/webhooks\/wh_[0-9a-z]{26}/.exec(made.html) ?? []

  const tested = await browser.send(await browser.visit(path), 'test')
  t.match(tested.html, 'The test event arrived. It answered 200')

  answer = 503
  const key = await postern.key('--mode', 'test')
  await postern.api('POST', '/v1/emails', key, { from: 'a@b.test', to: 'delivered@c.test', text: 'x' })
  const failed = await eventually('a post failed', async () => {
    const seen = await browser.visit(`${path}?failed=true`)
    return seen.html.includes('refused the last post: <bdi>answered 503') && seen
  })
  t.notMatch(failed.html, HOSTILE)
  t.match(failed.html, 'alert(1)')
  t.match(failed.html, /data-l="For".*\/emails\/em_\w+[^>]*>.*delivered@/s)
  const [, event = ''] = /event=(evt_[0-9a-z]{26})/.exec(failed.html) ?? []
  const full = await browser.visit(`${path}?event=${event}`)
  t.match(full.html, 'webhook-signature: v1,')
  t.match(full.html, '&quot;type&quot;: &quot;email.delivered&quot;')

  t.match(failed.html, /next <time/, 'a post that is tried again by itself')

  answer = 200
  const again = await browser.send(failed, 'again', {}, { event })
  t.match(again.html, 'It is posted again.')

  const counted = await browser.send(await browser.visit(path), 'replay', { since: '24', how: 'count' })
  t.match(counted.html, /1 event would be posted again\./)
  const rotated = await browser.submit(await browser.visit(path), 'rotate')
  t.match(rotated.html, /whsec_[\w+/=]{20,}/)
  t.match((await browser.visit(path)).html, 'The old secret signs until')

  t.match((await browser.send(await browser.visit(path), 'disable')).html, /is off: somebody switched it off/)
  t.match((await browser.send(await browser.visit(path), 'enable')).html, 'It is on again.')
  const edit = await browser.visit(`${path}/edit`)
  const changed = await browser.send(edit, 'change', {
    ...{ events: ['*'], fields: 'thin', max_in_flight: '1', tags: 'kind=receipt\norder : 12=3\nvip' },
  })
  t.match(changed.html, 'kind:receipt, order:12=3, vip')
  await browser.send(edit, 'change', { events: ['*'], fields: 'thin', max_in_flight: '1' })
  t.match(changed.html, 'without subject, addresses and tags')
  answer = 503
  await postern.api('POST', '/v1/emails', key, { from: 'a@b.test', to: 'delivered@c.test', text: 'x' })
  const waits = await eventually('its posts wait for the endpoint', async () => {
    const seen = await browser.visit(path)
    return /has failed.*The next try is <time/s.test(seen.html) && seen
  })
  t.notMatch(waits.html, /class="sub">next /, 'said once on top, not in each row')

  // one at a time: what is behind it in the log is no post yet, and waits all the same
  for (let n = 0; n < 3; n++)
    await postern.api('POST', '/v1/emails', key, { from: 'a@b.test', to: 'delivered@c.test', text: 'x' })
  await eventually('the lists count as the page does', async () => {
    const [, n = '0'] = /(\d+) events wait for it/.exec((await browser.visit(path)).html) ?? []
    const [, listed] = /data-l="Waiting">(\d+)</.exec((await browser.visit('/webhooks')).html) ?? []
    const { stdout } = await postern.cli('webhook', 'list')
    return Number(n) >= 12 && n === listed && stdout.includes(` ${n} `)
  })
  t.match(JSON.parse((await postern.cli('--json', 'webhook', 'list')).stdout), [
    { behind: { capped: false } },
  ])

  const page = await browser.visit(path)
  t.match((await browser.submit(page, 'delete', { confirm: 'x' })).html, 'must be the host')
  const gone = await browser.send(page, 'delete', { confirm: new URL(url).host })
  t.match(gone.html, 'No webhook yet')
  t.equal((await browser.visit(path)).status, 404)

  const blank = await browser.visit('/webhooks/new')
  const theirs = await browser.submit(blank, 'create', {
    ...{ endpoint: `${url}/sendgrid`, format: 'sendgrid', mode: 'test' },
    events: ['email.bounced', 'email.sent'],
  })
  t.match(theirs.html, 'Nothing is told of email.sent')
  t.match(theirs.html, /Public key.*MFkwEwYHKoZIzj0CAQYI/s)
  const [sendgrid = ''] = /\/webhooks\/wh_[0-9a-z]{26}/.exec(theirs.html) ?? []
  t.match((await browser.visit(sendgrid)).html, /As SendGrid posts.*MFkwEwYHKoZIzj0CAQYI/s)
  const login = { endpoint: `${url}/postmark`, format: 'postmark', auth: 'list:hush-hush', mode: 'test' }
  const refused = await browser.submit(blank, 'create', { ...login, events: ['email.sent'] })
  t.match(refused.html, /id="create-events-wrong"/)
  t.notMatch(refused.html, 'hush-hush')
  const kept = await browser.submit(blank, 'create', { ...login, events: ['email.bounced'] })
  const [postmark = ''] = /\/webhooks\/wh_[0-9a-z]{26}/.exec(kept.html) ?? []
  const editLogin = await browser.visit(`${postmark}/edit`)
  t.match(editLogin.html, 'Forget the login that is kept')
  t.notMatch(editLogin.html, /hush-hush|name="format"/)
  await browser.send(editLogin, 'change', { no_auth: 'on', events: ['email.bounced'] })
  t.notMatch((await browser.visit(postmark)).html, 'kept, and sent with each post')
})
