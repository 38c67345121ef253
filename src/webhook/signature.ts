/**
 * NAME      signature - the secret of an endpoint, and the signature of Standard Webhooks
 * DESCRIPTION
 *   Standard Webhooks 1.0.0, symmetric: HMAC-SHA-256 over id, time and body. While a rotation is under way there are two
 *   secrets, and a signature under each, the newer first; a receiver that knows either is content.
 */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Signed } from './format/format.js'

/** `whsec_` and the base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The three headers; `secrets` holds one or two. */
export const signatureHeaders = (
  secrets: readonly string[],
  { id, at, body }: Signed,
): Readonly<Record<string, string>> => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
})
