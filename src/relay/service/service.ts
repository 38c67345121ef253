/**
 * NAME      service - what a service that takes mail by HTTPS is to the relay
 * DESCRIPTION
 *   How a mail is asked for there, and what an answer means: taken, refused for good, not now, nothing that this mail is
 *   to blame for, or unclear. Only words of the service itself refuse a mail: what stands before it (a proxy, a gateway, a
 *   page of HTML) says nothing about one. Unclear is what may have come after the mail was taken.
 */
import type { Reply } from '../../mail/reply.js'

interface ServiceMail {
  /** The address of its From field. */
  readonly from: string
  readonly recipient: string
  /** Where reports are wanted; null where the service is to keep them. */
  readonly reportsTo: string | null
  readonly message: Uint8Array
}

interface Login {
  readonly user: string
  readonly secret: string
}

/** Where it is asked, and as whom. */
export interface Place {
  /** Of a service: a region, or a domain. */
  readonly name: string
  /** What its host may have before the path. */
  readonly prefix: string
  /** As the field Host has it. */
  readonly host: string
  readonly login: Login
}

export interface ServiceRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface ServiceAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Null when it was too long to be read. */
  readonly body: string | null
}

export type Meaning =
  | { readonly kind: 'taken'; readonly id: string }
  /** This mail is refused, for good. */
  | { readonly kind: 'refused'; readonly reply: Reply }
  /** It does not take mail from us, whichever. */
  | { readonly kind: 'failing'; readonly stage: 'auth' | 'greeting'; readonly text: string }
  /** We are too fast for it. */
  | { readonly kind: 'busy'; readonly text: string; readonly waitMs: number }
  | { readonly kind: 'unclear'; readonly text: string }

export interface Service {
  /** As people know it. */
  readonly title: string
  /** The largest message that it takes, in bytes. */
  readonly maxSize: number
  /** Fields of a message that it writes anew. */
  readonly rewrites: readonly string[]
  ask(mail: ServiceMail, place: Place, now: number): ServiceRequest
  /** A request that lacks everything, so that nothing is sent: its answer shows whether we are let in. */
  knock(place: Place, now: number): ServiceRequest
  read(answer: ServiceAnswer): Meaning
}

/** When a service that is too busy does not say. */
const USUAL_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

export const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Of an id that may be stored and shown. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : null

export const jsonOf = (body: string | null): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(body ?? '')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

const waitOf = (asked: unknown): number => {
  if (typeof asked !== 'string') return USUAL_WAIT_MS
  const ms = /^\d{1,9}$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - Date.now()
  return ms > 0 ? Math.min(ms, LONGEST_WAIT_MS) : USUAL_WAIT_MS
}

export const busy = ({ headers }: ServiceAnswer, text: string): Meaning => {
  const waitMs = waitOf(headers['retry-after'])
  return { kind: 'busy', waitMs, text: `${text} (retry after ${Math.ceil(waitMs / 1_000)} s)` }
}

/** Of an answer that is none of the service's own. */
export const strange = (answer: ServiceAnswer, title: string): Meaning => {
  const { status } = answer
  const text = `answered ${status}, and not as ${title} does`
  if (status === 429) return busy(answer, text)
  if (status === 401 || status === 403) return { kind: 'failing', stage: 'auth', text }
  // 303 tells where the outcome of something done is to be seen
  if (status >= 300 && status < 400 && status !== 303)
    return {
      kind: 'failing',
      stage: 'greeting',
      text: `answered ${status}: it redirects, which is not followed`,
    }
  return status >= 400 && status < 500
    ? { kind: 'failing', stage: 'greeting', text }
    : { kind: 'unclear', text }
}
