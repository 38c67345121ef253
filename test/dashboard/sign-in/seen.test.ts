/** Which ways are good for a password, and what a bad one is told. */
import t from 'tap'
import { Form } from '../../../src/dashboard/form.js'
import { type SignInRequest, wrongWay } from '../../../src/dashboard/sign-in/deps.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { openSite } from './site.js'

const asked = (headers: Record<string, string>, peer = '127.0.0.1', isTls = false): SignInRequest => ({
  ...{ headers, peer, address: peer, isTls, params: {}, query: new URLSearchParams(), form: new Form('') },
  cookie: () => null,
})

const HERE = 'http://127.0.0.1:8080'
const SITE = 'https://mail.acme.test'

const WAYS: readonly (readonly [name: string, base: string, way: SignInRequest, change: string | null])[] = [
  ['loopback', HERE, asked({ host: '127.0.0.1:8080' }), null],
  ['by name', HERE, asked({ host: 'localhost:8080' }), null],
  ['a tunnel', HERE, asked({ host: 'localhost:9000' }), null],
  ['another name here', HERE, asked({ host: 'mail.acme.test' }), 'base_url: https://mail.acme.test'],
  ['another machine', HERE, asked({ host: '10.0.0.5:8080' }, '10.0.0.9'), 'http: { tls: true }'],
  [
    'a proxy with TLS, and nobody said so',
    HERE,
    asked({ host: 'x', 'x-forwarded-host': 'mail.acme.test', 'x-forwarded-proto': 'https' }),
    'base_url: https://mail.acme.test',
  ],
  ['TLS here', SITE, asked({ host: 'mail.acme.test' }, '10.0.0.9', true), null],
  ['behind a proxy', SITE, asked({ host: 'mail.acme.test', 'x-forwarded-proto': 'https' }), null],
  ['behind one that says nothing', SITE, asked({ host: '127.0.0.1:8080' }), null],
  [
    'a proxy without TLS',
    SITE,
    asked({ host: 'mail.acme.test', 'x-forwarded-proto': 'http' }),
    'open https://mail.acme.test instead',
  ],
  [
    'plain from elsewhere',
    SITE,
    asked({ host: 'mail.acme.test' }, '10.0.0.9'),
    'open https://mail.acme.test instead',
  ],
  [
    'a hostile host',
    HERE,
    asked({ host: '"><script>alert(1)</script>' }),
    'base_url: https://scriptalert1script',
  ],
]

for (const [name, base, way, change] of WAYS) t.equal(wrongWay(way, base)?.change ?? null, change, name)

t.test('the page has no form, and names what was seen', async (t) => {
  const site = await openSite({ office: null })
  t.teardown(() => site.stop())
  const way = { 'x-forwarded-host': 'mail.acme.test', 'x-forwarded-proto': 'https' }
  const shown = await site.get(new CookieClient(), '/sign-in', { headers: way })
  t.match(shown, { status: 403, text: /https:\/\/mail\.acme\.test/ })
  t.match(shown.text, /base_url/)
  t.notMatch(shown.text, /<form|password"/)
  const posted = await site.get(new CookieClient(), '/sign-in', { headers: way, form: { email: 'a@b.test' } })
  t.equal(posted.status, 403)
})

t.test('over https the cookies are of this host alone', async (t) => {
  const site = await openSite({ office: null, baseUrl: SITE })
  t.teardown(() => site.stop())
  const client = new CookieClient()
  const shown = await site.get(client, '/sign-in', { headers: { 'x-forwarded-proto': 'https' } })
  t.equal(shown.status, 200)
  const line = client.lines.find((one) => one.startsWith('__Host-postern_guest='))
  t.match(line, /; Secure/)
  t.match(line, /; Path=\//)
  t.match(line, /; HttpOnly/)
  t.notMatch(line, /Domain/)
  const [form] = [/name="_form" value="([^"]+)"/.exec(shown.text)?.[1] ?? '']
  const here = { form: { _form: form, email: 'a@b.test', password: 'x' } }
  t.equal(
    (await site.get(client, '/sign-in', here)).status,
    403,
    'the origin is that of base_url, never of the request',
  )
  const own = { ...here, headers: { origin: SITE } }
  t.equal((await site.get(client, '/sign-in', own)).status, 422)
})
