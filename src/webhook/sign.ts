/**
 * NAME      sign - signatures by which a receiver knows that a post is ours
 * DESCRIPTION
 *   Standard Webhooks 1.0.0, symmetric: HMAC-SHA-256 over id, time and body. While
 *   a rotation is under way there are two secrets, and a signature under each, the
 *   newer first; a receiver that knows either is content.
 */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

/** `whsec_` and the base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

interface Signed {
  /** The id of the event, the same at each try. */
  readonly id: string
  /** When it is posted, epoch milliseconds. */
  readonly at: number
  readonly body: string
}

/** The three headers; `secrets` holds one or two. */
export const signatureHeaders = (
  secrets: readonly string[],
  { id, at, body }: Signed,
): Readonly<Record<string, string>> => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
})
