import t from 'tap'
import { unseal } from '../../src/base/secret.js'
import { UPSTREAM_SEAL } from '../../src/tenant/pool.js'
import { type MemberWish, parseUpstream, serviceHost } from '../../src/tenant/upstream.js'
import { fieldsOf, openHouse } from './house.js'

const FILES: Readonly<Record<string, string>> = {
  '/ses': 'AKIAEXAMPLE:se/cr+et\n',
  '/csv': '\uFEFFAccess key ID,Secret access key\r\nAKIAEXAMPLE,se/cr+et\r\n',
  '/lines': 'AKIAEXAMPLE\nse/cr+et\n',
  '/mailgun': 'key-0123\n',
  '/odd': 'only-one',
  '/many': 'a b c',
  '/empty': '\n',
}
const parse = (text: string) => parseUpstream(text, async (path) => FILES[path] ?? '')

t.test('URLs of services', async (t) => {
  for (const file of ['/ses', '/csv', '/lines'])
    t.match(await parse(`ses+https://EU-west-1?access_key_file=${file}&weight=3`), {
      service: 'ses',
      port: undefined,
      tls: 'implicit',
      auth: { user: 'AKIAEXAMPLE', pass: 'se/cr+et' },
      weight: 3,
    })
  t.match(await parse('mailgun+https://mg.shop.example?region=eu&key_file=/mailgun'), {
    service: 'mailgun',
    host: 'mg.shop.example',
    region: 'eu',
    auth: { user: 'api', pass: 'key-0123' },
  })
  const wrong: readonly [string, readonly string[]][] = [
    ['gmail+https://a', ['upstream format']],
    ['ses+http://eu-west-1', ['upstream format']],
    ['ses+https://', ['upstream format']],
    ['ses+https://AKIA:secret@eu-west-1', ['upstream forbidden', 'upstream format']],
    ['ses+https://eu-west-1:8443', ['upstream format']],
    ['ses+https://eu-west-1/v2', ['upstream format']],
    [
      'ses+https://eu-west-1?tls=none&password_file=/ses&helo=a.b',
      ['upstream.tls unknown', 'upstream.password_file unknown', 'upstream.helo unknown'],
    ],
    ['ses+https://eu-west-1?region=eu', ['upstream.region unknown']],
    ['mailgun+https://mg.a.example?region=asia', ['upstream.region format']],
    ['smtp://mta.test?access_key_file=/ses', ['upstream.access_key_file unknown']],
    ['ses+https://eu-west-1?access_key_file=/odd', ['upstream.access_key_file format']],
    ['ses+https://eu-west-1?access_key_file=/many', ['upstream.access_key_file format']],
    ['mailgun+https://mg.a.example?key_file=/empty', ['upstream.key_file format']],
    ['mailgun+https://mg.a.example?key_file=/many', ['upstream.key_file format']],
  ]
  for (const [text, fields] of wrong) t.strictSame(await fieldsOf(parse(text)), fields, text)
})

t.test('hosts come from a table', (t) => {
  t.equal(serviceHost({ service: 'ses', host: 'us-gov-west-1' }), 'email.us-gov-west-1.amazonaws.com')
  t.equal(serviceHost({ service: 'mailgun', host: 'a.example' }), 'api.mailgun.net')
  t.equal(serviceHost({ service: 'mailgun', host: 'a.example', region: 'eu' }), 'api.eu.mailgun.net')
  t.end()
})

t.test('members by the API', async (t) => {
  const { tenants, account, pepper } = await openHouse(t)
  const auth = { user: 'AKIAEXAMPLE', pass: 's3cret' }
  const ses: MemberWish = { service: 'ses', host: 'eu-west-1', auth }
  const made = await tenants.createPool(account.id, { name: 'main', members: [ses] })
  const [row] = made.upstreams
  t.match(row, { service: 'ses', host: 'eu-west-1', port: 443, tls: 'implicit', user: 'AKIAEXAMPLE' })
  t.equal(unseal(pepper, UPSTREAM_SEAL, row?.sealedPassword ?? ''), 's3cret')
  const change = (member: MemberWish) => tenants.updatePool(account.id, 'main', { members: [member] })
  const id = row?.id
  t.match((await change({ id, host: 'eu-west-1', weight: 5 })).upstreams, [
    { service: 'ses', weight: 5, sealedPassword: row?.sealedPassword },
  ])
  const wrong: readonly [MemberWish, string][] = [
    [{ ...ses, host: 'evil.example.com' }, 'host format'],
    [{ ...ses, host: 'eu-west-1.evil.example' }, 'host format'],
    [{ ...ses, host: '127.0.0.1' }, 'host format'],
    [{ ...ses, port: 8443 }, 'port range'],
    [{ ...ses, tls: 'none' }, 'tls forbidden'],
    [{ ...ses, region: 'eu' }, 'region forbidden'],
    [{ ...ses, auth: null }, 'auth missing'],
    [{ ...ses, auth: { ...auth, user: '\u0410KIATEST' } }, 'auth.user format'],
    [{ ...ses, auth: { ...auth, user: 'AK"é' } }, 'auth.user format'],
    [{ ...ses, auth: { ...auth, user: 'AKIA:TEST' } }, 'auth.user format'],
    [{ ...ses, auth: { ...auth, pass: 'b c' } }, 'auth.pass format'],
    [{ ...ses, auth: { ...auth, pass: '' } }, 'auth.pass format'],
    [{ service: 'mailgun', host: 'mg.a.example', auth: { user: 'api', pass: 'k\r\nx' } }, 'auth.pass format'],
    [{ ...ses, helo: 'mta.example.com' }, 'helo forbidden'],
    [{ ...ses, authMechanism: 'PLAIN' }, 'auth_mechanism forbidden'],
    [
      {
        ...ses,
        auth: { user: 'a', oauth: { tokenUrl: 'https://a.example/t', clientId: 'c', clientSecret: 's' } },
      },
      'auth missing',
    ],
    [{ service: 'mailgun', host: 'localhost', auth }, 'host format'],
    [{ service: 'mailgun', host: '10.0.0.1', auth }, 'host format'],
    [{ host: 'mta.test', region: 'eu' }, 'region forbidden'],
  ]
  for (const [member, field] of wrong) {
    const fields = await fieldsOf(tenants.createPool(account.id, { name: 'other', members: [member] }))
    t.ok(fields.includes(`body.members[0].${field}`), `${field}: ${fields}`)
  }
  const moved = {
    id,
    service: null,
    host: 'mta.evil.example',
    port: 25,
    tls: 'required',
    auth: { user: 'AKIAEXAMPLE' },
  } as const
  t.strictSame(
    await fieldsOf(change(moved)),
    ['body.members[0].auth.pass missing'],
    'the key of a service goes to no mail server',
  )
})
