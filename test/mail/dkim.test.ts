import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import { composeMessage } from '../../src/mail/compose.js'
import { dkimRecord, loadDkimKey, relaxedBody, signMessage } from '../../src/mail/dkim.js'
import { verifies } from '../parts/dkim-verify.js'

const NOW = 1_800_000_000_000
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const raw = [
  'Received: from x by y; now',
  'From: =?UTF-8?Q?Acm=C3=A9?= <no-reply@acme.test>',
  'To: ana@example.com,',
  '\tbob@example.com',
  'Subject:   spaces   and\ttabs  ',
  'X-Raw: voil\xc3\xa0',
  'List-Unsubscribe: <https://x.test/u>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  'Message-ID: <1@acme.test>',
  'Date: Fri, 20 Nov 2026 10:00:00 +0000',
  '',
  'Hi  there \t',
  '',
  '.dot \xff',
  '  ',
  '',
  '',
].join('\r\n')
const message = Buffer.from(raw, 'latin1')

for (const [name, pair] of [
  ['rsa', rsa],
  ['ed25519', ed25519],
] as const) {
  t.test(name, async (t) => {
    const key = { domain: 'acme.test', selector: 's1', privateKey: pair.privateKey }
    const field = await signMessage(message, key, NOW)
    t.match(
      field,
      new RegExp(`^DKIM-Signature: v=1; a=${name}-sha256; c=relaxed/relaxed; d=acme\\.test;\\r\\n`),
    )
    t.match(field, /\r\n {2}s=s1; t=1800000000;\r\n/)
    t.ok(field.split('\r\n').every((line) => line.length <= 78))
    const unfolded = field.replace(/\r\n\s+/g, '')
    t.match(unfolded, /h=[^;]*:from:from:|h=from:from:/, 'From is over-signed')
    t.match(unfolded, /:list-unsubscribe:list-unsubscribe-post/)
    t.notMatch(unfolded, /received/)
    const whole = field + raw
    t.ok(verifies(whole, pair.publicKey), 'holds')
    t.ok(verifies(`Received: later\r\n${whole}`, pair.publicKey), 'holds under more trace fields')
    t.ok(verifies(whole.replace('spaces   and\ttabs  ', 'spaces and tabs'), pair.publicKey), 'relaxed header')
    t.ok(verifies(whole.replace('Hi  there \t', 'Hi there'), pair.publicKey), 'relaxed body')
    t.notOk(verifies(whole.replace('Hi', 'Ho'), pair.publicKey), 'body changed')
    t.notOk(verifies(whole.replace('no-reply@', 'evil@'), pair.publicKey), 'From changed')
    t.notOk(
      verifies(whole.replace('Message-ID', 'From: evil@x.test\r\nMessage-ID'), pair.publicKey),
      'a second From',
    )
    t.notOk(verifies(whole.replace('x.test/u', 'x.test/v'), pair.publicKey), 'unsubscribe changed')
    const pem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const again = await signMessage(message, { ...key, privateKey: pem }, NOW)
    t.equal(again, field, 'a key in PEM')
  })
}

t.test('the record for DNS', async (t) => {
  const published = (record: string) => Buffer.from(record.split('p=')[1] ?? '', 'base64')
  const spki = createPublicKey({ key: published(dkimRecord(rsa.privateKey)), format: 'der', type: 'spki' })
  t.ok(spki.equals(rsa.publicKey))
  t.match(dkimRecord(rsa.privateKey), /^v=DKIM1; k=rsa; p=/)
  const jwk = ed25519.publicKey.export({ format: 'jwk' })
  t.equal(
    dkimRecord(ed25519.privateKey),
    `v=DKIM1; k=ed25519; p=${Buffer.from(jwk.x ?? '', 'base64url').toString('base64')}`,
  )
})

t.test('keys that will not do', async (t) => {
  const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' }).toString()
  t.throws(() => loadDkimKey('secret nonsense'), { name: 'DkimKeyError' })
  t.throws(() => loadDkimKey(pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)), {
    name: 'DkimKeyError',
  })
  try {
    loadDkimKey('-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----')
    t.fail('no key')
  } catch (error) {
    t.notMatch(String(error), /c2VjcmV0/, 'a key is never shown')
  }
})

t.test('bodies', async (t) => {
  t.equal(relaxedBody(''), '')
  t.equal(relaxedBody('\r\n\r\n'), '')
  t.equal(relaxedBody(' \t\r\n'), '')
  t.equal(relaxedBody('a'), 'a\r\n')
  t.equal(relaxedBody('a \t b\t\r\n\r\n c\r\n\r\n'), 'a b\r\n\r\n c\r\n')
  const composed = await composeMessage({
    messageId: '<a@b.c>',
    date: 0,
    from: { name: 'Zoë', address: 'a@b.c' },
    to: [{ name: null, address: 'd@e.f' }],
    cc: [],
    replyTo: [],
    subject: 'für '.repeat(40),
    html: '<p>ü</p>\n',
    text: 'x\n\n',
    headers: {},
    attachments: [],
  })
  const field = await signMessage(
    composed,
    { domain: 'b.c', selector: 's', privateKey: ed25519.privateKey },
    NOW,
  )
  t.ok(verifies(field + Buffer.from(composed).toString('latin1'), ed25519.publicKey))
})
