/**
 * NAME      format - the words of another service for what we post
 * DESCRIPTION
 *   Receivers that were written for another service read our events unchanged: an endpoint may have its format. A format is a
 *   translation, one file a service: which types have a counterpart there, the text that is posted of one, and the signature
 *   that its receivers check. Order, retries, health and lists are those of every endpoint, and so are the headers of Standard
 *   Webhooks. What services say of a bounce is made of `provider_types` (mail/report/category.ts).
 *   What of an event its formats have in common is here, too: tags named `tag` are plain ones, the others say something.
 */
import type { EventType } from '../../mail/event-type.js'
import type { Reply } from '../../mail/reply.js'
import type { LogRow } from '../../store/port/log.js'

export interface Signed {
  /** The id of the event, the same at each try. */
  readonly id: string
  /** When it is posted, epoch milliseconds. */
  readonly at: number
  readonly body: string
}

export interface SignedPost {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Format {
  /** As people call the service. */
  readonly service: string
  /** What it calls our types; the others are not posted. */
  readonly counterparts: Partial<Readonly<Record<EventType, string>>>
  /** False: its posts name address and subject, and mean nothing without. */
  readonly mayBeThin: boolean
  /** Whether its receivers ask for a login, since its posts have no signature. */
  readonly hasLogin: boolean
  /** base64 of the DER of the key by which receivers check what this secret signs. */
  publicKey?(secret: string): string
  /** Of a type that has a counterpart; the same text at each try. Absent: our own text, in which the type has its name. */
  body?(row: LogRow): unknown
  /** What one try adds to the text; `secret` is the newer one of a rotation. */
  sign?(secrets: readonly [string, ...string[]], post: Signed): SignedPost
}

const PLAIN = 'tag'
/** What /v1/as/sendgrid answered to the request that brought the mail. */
const REQUEST = 'x-message-id'

/** Whom and what an event is about; empty where its mail is no longer kept. */
export const aboutOf = ({ recipient, mail, emailId }: LogRow) => {
  const tags = mail?.tags ?? []
  return {
    recipient: recipient ?? '',
    emailId: emailId ?? '',
    from: mail?.from ?? '',
    to: mail?.to ?? [],
    subject: mail?.subject ?? '',
    messageId: mail?.messageId ?? '',
    request: tags.find(({ name }) => name === REQUEST)?.value ?? null,
    tags: tags.filter(({ name }) => name === PLAIN).map(({ value }) => value),
    said: Object.fromEntries(
      tags.filter(({ name }) => name !== PLAIN && name !== REQUEST).map(({ name, value }) => [name, value]),
    ),
  }
}

/** As it came over the wire: `550 5.1.1 no such user`. */
export const lineOf = ({ code, enhanced, text }: Reply): string =>
  [code, enhanced, text].filter((part) => part !== null && part !== '').join(' ')

/** What was said of a recipient; where nobody said anything, why it ended. */
export const saidOf = ({ reply, reason }: LogRow): string => (reply === null ? (reason ?? '') : lineOf(reply))

export const secondsOf = (at: number): number => Math.floor(at / 1000)
