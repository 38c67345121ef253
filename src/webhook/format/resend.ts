/**
 * NAME      resend - posts as Resend's webhooks make them
 * DESCRIPTION
 *   Our own text has Resend's members already; here types have its names, and the headers of the signature the names that
 *   its receivers look for. Secret and signature are those of Standard Webhooks, so that a rotation is verified by either.
 */
import { signatureHeaders } from '../signature.js'
import type { Format } from './format.js'

export const resend: Format = {
  service: 'Resend',
  counterparts: {
    'email.scheduled': 'email.scheduled',
    'email.sent': 'email.sent',
    'email.deferred': 'email.delivery_delayed',
    'email.delivered': 'email.delivered',
    'email.bounced': 'email.bounced',
    'email.complained': 'email.complained',
  },
  mayBeThin: true,
  hasLogin: false,
  sign: (secrets, post) => ({
    body: post.body,
    headers: Object.fromEntries(
      Object.entries(signatureHeaders(secrets, post)).map(([name, value]) => [
        name.replace(/^webhook-/, 'svix-'),
        value,
      ]),
    ),
  }),
}
