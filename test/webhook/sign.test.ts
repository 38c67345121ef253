/** Signatures, as receivers check them: with standardwebhooks and with the resend client, also while a secret is rotated. */
import { Resend } from 'resend'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { newSigningSecret, signatureHeaders } from '../../src/webhook/formats.js'

const body = JSON.stringify({ type: 'email.delivered', data: { subject: 'Grüße ✓' } })
const resend = new Resend('re_123')

const verified = (headers: Readonly<Record<string, string>>, secret: string, payload = body): boolean => {
  const one = { id: '', timestamp: '', signature: '' }
  for (const [name, value] of Object.entries(headers)) one[name.slice(8) as keyof typeof one] = value
  try {
    t.strictSame(new Webhook(secret).verify(payload, { ...headers }), JSON.parse(payload))
    t.strictSame(
      resend.webhooks.verify({ payload, headers: one, webhookSecret: secret }),
      JSON.parse(payload),
    )
    return true
  } catch (error) {
    t.match(error, { name: 'WebhookVerificationError' })
    return false
  }
}

t.test('a secret is 32 random bytes', async (t) => {
  const secret = newSigningSecret()
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.not(secret, newSigningSecret())
})

t.test('verified by both libraries, with either secret of a rotation', async (t) => {
  const [old, young, other] = [newSigningSecret(), newSigningSecret(), newSigningSecret()]
  const at = Date.now()
  const one = signatureHeaders([old], { id: 'evt_1', at, body })
  t.equal(one['webhook-timestamp'], String(Math.floor(at / 1000)))
  t.match(one['webhook-signature'], /^v1,\S+$/)
  t.ok(verified(one, old))
  t.notOk(verified(one, other))
  t.notOk(verified(one, old, `${body} `), 'the very octets count')
  t.notOk(verified({ ...one, 'webhook-id': 'evt_2' }, old))
  const two = signatureHeaders([young, old], { id: 'evt_1', at, body })
  t.match(two['webhook-signature'], /^v1,\S+ v1,\S+$/)
  t.ok(verified(two, old))
  t.ok(verified(two, young))
  t.notOk(verified(two, other))
  t.notOk(
    verified(signatureHeaders([old], { id: 'evt_1', at: at - 600_000, body }), old),
    'an old post is not taken again',
  )
})
