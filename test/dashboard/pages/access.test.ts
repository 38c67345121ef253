/** Keys and logins by hand: made, shown once, found by their beginning, revoked. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)

const secretIn = (html: string): string => /svc_(?:live|test)_[0-9A-Za-z]{44}/.exec(html)?.[0] ?? ''

t.test('an empty list says what fills it', async (t) => {
  const { html } = await browser.visit('/keys')
  t.match(html, 'No key yet')
  t.match(html, 'postern key create')
})

t.test('a key is made, shown once with ready lines, and dies when it is revoked', async (t) => {
  const made = await browser.submit(await browser.visit('/keys/new'), 'create', {
    name: 'shop <b>',
    workspace_id: 'default',
    mode: 'test',
  })
  t.equal(made.status, 200)
  const secret = secretIn(made.html)
  t.not(secret, '')
  t.match(made.html, `${postern.url}/v1/emails`)
  t.match(made.html, `--server 127.0.0.1:${postern.ports.submission[0]} --tls`)
  t.match(made.html, `$mail->Port = ${postern.ports.submission[0]};`)
  t.notMatch(made.html, 'shop <b>')
  t.equal((await postern.api('GET', '/v1/session', secret)).status, 200)

  const list = await eventually('where it was used from is seen', async () => {
    const seen = await browser.visit('/keys')
    return seen.html.includes('from 127.0.0.1') && seen
  })
  t.match(list.html, secret.slice(0, 21))
  t.notMatch(list.html, secret)
  t.notMatch(list.html, '_action" value="revoke"', 'the list links to the key, and its rows carry no forms')
  const one = await browser.visit(`/keys?prefix=${secret.slice(0, 21)}`)
  t.match(one.html, '<h1><bdi>shop &lt;b')
  const [, id = ''] = /name="id" value="(key_\w+)"/.exec(one.html) ?? []
  const after = await browser.send(one, 'revoke', { reason: 'it was in a chat' }, { id })
  t.match(after.html, 'is revoked: its next request is refused.')
  t.equal((await postern.api('GET', '/v1/session', secret)).status, 401)
  t.match((await browser.visit(`/settings/audit?target=${id}`)).html, 'it was in a chat')
  t.match(after.html, /History.*it was in a chat/s)
})

t.test('the next key is made in one step, and both work until the overlap is over', async (t) => {
  const first = await postern.key('--name', 'rotated', '--mode', 'test')
  const list = await browser.visit(`/keys?prefix=${first.slice(0, 21)}`)
  const [id = ''] = [...list.html.matchAll(/name="id" value="(key_\w+)"/g)].map(([, one]) => one)
  const made = await browser.submit(list, 'rotate', { overlap: '7d', reason: 'a year is over' }, { id })
  t.equal(made.status, 200)
  t.match(made.html, /has its next key; the one so far ends at \d{4}-/)
  const next = secretIn(made.html)
  t.not(next, '')
  t.not(next, first)
  for (const key of [first, next]) t.equal((await postern.api('GET', '/v1/session', key)).status, 200)
  const after = await browser.visit('/keys')
  t.notMatch(after.html, next)
  t.match(after.html, 'a year is over', 'the history says why')
  const wrong = await browser.submit(list, 'rotate', { overlap: '90d' }, { id })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /must be a time such as/)
  const cli = await postern.cli('key', 'rotate', id, '--overlap', '0')
  t.match(cli.stdout.trim(), /^svc_test_[0-9A-Za-z]{44}$/)
  t.match(cli.stderr, new RegExp(`${id} ends `))
  t.equal((await postern.api('GET', '/v1/session', first)).status, 401)
  t.match(await postern.cli('key', 'rotate', id, '--overlap', '90d'), { code: 64, stderr: /--overlap/ })
})

t.test('a mistake stands beside its field, and what was typed is still there', async (t) => {
  const seen = await browser.submit(await browser.visit('/keys/new'), 'create', {
    name: 'much',
    rate_limit_per_minute: '0',
  })
  t.equal(seen.status, 422)
  t.match(seen.html, /id="create-rate_limit_per_minute-wrong"/)
  t.match(seen.html, /name="name" value="much"|value="much"[^>]*name="name"/)
})

t.test('each row has fields of its own, with their labels', async (t) => {
  for (const name of ['one of two', 'two of two'])
    await browser.submit(await browser.visit('/credentials/new'), 'login', {
      username: name.replaceAll(' ', '-'),
      workspace_id: 'default',
    })
  const { html } = await browser.visit('/credentials')
  const ids = [...html.matchAll(/ id="([^"]+-reason)"/g)].map(([, id]) => id)
  t.ok(ids.length >= 2)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) t.match(html, `<label for="${id}">`)
})

t.test('the beginning of a key tells which it is; a whole one is refused', async (t) => {
  const secret = await postern.key('--name', 'printer')
  await postern.key('--name', 'other')
  const found = await browser.visit(`/keys?prefix=${secret.slice(0, 21)}`)
  t.match(found.html, 'printer')
  t.notMatch(found.html, '>other<')
  t.match((await browser.visit(`/keys?prefix=${secret.slice(0, 14)}`)).html, 'printer')
  t.match((await browser.visit('/keys?prefix=svc_live_000000000000')).html, 'No such key')
  const whole = await browser.visit(`/keys?prefix=${secret}`)
  t.match(whole.html, 'That was more than a beginning.')
  t.notMatch(whole.html, secret)
})

t.test('a login without a password gets one, shown once; a range needs none', async (t) => {
  const form = await browser.visit('/credentials/new')
  const made = await browser.submit(form, 'login', { username: 'scanner', workspace_id: 'default' })
  t.match(made.html, 'Password, shown once')
  t.match(made.html, "--auth-user 'scanner'")
  const ranged = await browser.send(form, 'range', { cidr: '192.168.7.0/24', workspace_id: 'default' })
  t.match(ranged.html, 'Machines of 192.168.7.0/24 may send now.')
  const [, id = ''] = /name="id" value="(cred_\w+)"/.exec(ranged.html) ?? []
  const after = await browser.send(ranged, 'revoke', {}, { id })
  t.match(after.html, 'is revoked.')
  t.match(after.html, /History.*192\.168\.7\.0/s)
  const shown = { certificate_fingerprint: 'AB:'.repeat(31).concat('AB'), workspace_id: 'default' }
  t.match((await browser.send(form, 'certificate', shown)).html, 'Who shows that certificate may send now.')
  const wrong = await browser.submit(form, 'range', { cidr: '8.8.8.0/24', workspace_id: 'default' })
  t.match(wrong.html, 'must lie within loopback or private address space')
})
