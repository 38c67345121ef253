/**
 * NAME      dialect - what another provider's API says, in our words
 *   Applications that were written for another provider send here when one URL is changed. A dialect is a pure translation:
 *   the body of a request to mails as POST /v1/emails takes them, what was accepted or refused to the answer that the
 *   provider's own clients read. It knows no store and no HTTP beside that; routes.ts does the rest, the same for all.
 *   Nothing is dropped in silence: a member that means nothing here is refused, with its name, unless it says "no".
 *   A member that is null, or a list or text that is empty, is one that was left out.
 */
import type { IncomingMessage } from 'node:http'
import type { Fault, FieldError } from '../../base/fault.js'
import type { Config } from '../../config/config.js'
import type { HeaderTag } from '../../mail/control-headers.js'
import type { EmailRecord } from '../../store/port/mail.js'
import type { BatchFailure } from '../../submission/draft.js'
import type { Syntax } from '../../submission/merge.js'

/** One mail of a request. */
export interface Translated {
  /** A body as POST /v1/emails takes it; not checked yet. */
  readonly wire: Readonly<Record<string, unknown>>
  /** As the header fields of that provider make them: names may repeat. */
  readonly tags: readonly HeaderTag[]
  /** What cannot be translated, by the provider's own names. */
  readonly errors: readonly FieldError[]
  /** It may go on under verified TLS only (RFC 8689). */
  readonly requireTls?: boolean
  /** One mail for each of `to`, with what is its own in it. */
  readonly merge?: MailMerge | null
  /** Which of them this one is for. */
  readonly place?: number
  /** True of a message that came whole where its header says more than `wire`, as at the SMTP door. */
  readonly heedsHeader?: boolean
  /** True where a mail may have nobody in To, but others. */
  readonly needsNoTo?: boolean
}

export interface MailMerge {
  readonly syntax: Syntax
  /** A mail for each: where it stands in `to`, and what its values are called. */
  readonly values: readonly {
    readonly to: string
    readonly place: number
    readonly at: string
    readonly texts: ReadonlyMap<string, string>
  }[]
  /** What a part of a mail is called there. */
  readonly field: (part: string) => string
}

interface DialectAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One endpoint of a provider. */
export interface DialectCall {
  /** Below `/v1/as/{name}`; a `{domain}` in it is the one of who sends. */
  readonly path: string
  readonly summary: string
  /** Mails that one request may hold. */
  readonly most: number
  /** True: what is good is accepted, and each mail is answered for itself. */
  readonly each: boolean
  /** Throws the Fault of a body that is none at all. */
  translate(body: unknown): readonly Translated[]
  /** Whether it is one mail, whose answer is short. */
  isPlain?(body: unknown): boolean
  /** Whether it takes long to read, however few octets it has. */
  isLong?(body: unknown): boolean
  /** True where the request asks that nothing is sent: it is checked, and that is all. */
  isTrial?(body: unknown): boolean
  /** What such a request is answered; nothing without it. */
  tried?(requestId: string): string
  /** Kept for repeated requests; `failures` only where each mail is answered for itself. Kept too: what `answer` needs. */
  keep(accepted: readonly EmailRecord[], failures: readonly Failure[], requestId: string): string
  answer(kept: string): DialectAnswer
}

/** A mail that was not accepted. */
export interface Failure extends Pick<BatchFailure, 'index' | 'code' | 'message'> {
  readonly errors: readonly FieldError[]
}

export interface Dialect {
  readonly name: Config['http']['dialects'][number]
  readonly provider: string
  /** True where bodies are forms, and in place of JSON lists of their parts. */
  readonly forms?: true
  readonly calls: readonly DialectCall[]
  /** True where requests are signed (AWS Signature Version 4), and bring no key. */
  readonly signs?: true
  /** The key of a request; null when there is none. Throws a Fault for one in the wrong form. */
  credential(req: IncomingMessage): string | null
  /** A mistake in `wire` by the provider's names; it stands at `to[0]`, say, of the mail at `index`. */
  told(error: FieldError, index: number, wire: Translated['wire']): FieldError
  /** A tag that each mail of a request gets, so that it is found by what the request was answered. */
  tagOf?(requestId: string): HeaderTag
  /** The header field in which its clients look for the id of a request. */
  readonly idHeader?: string
  /** Of a request without an Idempotency-Key: what stands in its place. */
  repeatOf?(req: IncomingMessage): string | null
  /** JSON, unless it says another type. */
  refuse(fault: Fault): DialectAnswer & { readonly type?: string }
}

/** Of a tag; what is longer would be cut. */
export const LONGEST_TAG = 256

type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Nothing that a client meant to say. */
export const isEmpty = (value: unknown): boolean =>
  value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)

/** A mail while it is translated. */
export class Making implements Translated {
  readonly wire: Record<string, unknown> = {}
  readonly tags: HeaderTag[] = []
  readonly errors: FieldError[] = []
  requireTls = false
  merge: MailMerge | null = null
  heedsHeader = false
  needsNoTo = false

  wrong(field: string, kind: FieldError['kind'], message: string): void {
    this.errors.push({ field, kind, message })
  }

  refuse(field: string, why: string): void {
    this.wrong(field, 'unsupported', why)
  }
}

const UNKNOWN = 'is not known here'

/** What a member does to a mail; `field` is its name in full. */
export type Taker = (mail: Making, value: unknown, field: string) => void

/** A member whose value goes into another one of ours as it is; our own check judges it. */
export const as =
  (name: string): Taker =>
  (mail, value) => {
    mail.wire[name] = value
  }

export const refused =
  (why: string): Taker =>
  (mail, _, field) =>
    mail.refuse(field, why)

/** Hands each member to its taker; one that has none is refused. */
export const takeMembers = (
  mail: Making,
  members: Members,
  takers: Readonly<Record<string, Taker>>,
  at = '',
): void => {
  for (const [name, value] of Object.entries(members)) {
    if (isEmpty(value)) continue
    const field = `${at}${name}`
    const take = Object.hasOwn(takers, name) ? takers[name] : undefined
    if (take === undefined) mail.refuse(field, UNKNOWN)
    else take(mail, value, field)
  }
}

const CLOSERS: Readonly<Record<string, string>> = { '"': '"', '<': '>', '(': ')' }
const LINE_END = /[\n\r\u2028\u2029]/

/** How far what opens at `at` goes: to what closes it, or to where it is certain that nothing does. */
const spanFrom = (text: string, at: number): { readonly end: number; readonly isClosed: boolean } => {
  const opener = text[at]
  const closer = CLOSERS[opener ?? '']
  for (let end = at + 1; end < text.length; end++) {
    const letter = text[end]
    if (letter === closer) return { end, isClosed: true }
    if (letter === opener) return { end, isClosed: false }
    if (opener !== '"' || letter !== '\\') continue
    // a backslash makes no letter of the end of a line
    if (LINE_END.test(text[end + 1] ?? '\n')) return { end, isClosed: false }
    end++
  }
  return { end: text.length, isClosed: false }
}

/**
 * Several addresses in one text, between commas that are in no quotes, brackets or comments. In one pass: how far one that is never closed
 * went is remembered, since none of its kind before that place is closed either.
 */
export const addressesIn = (text: string): readonly string[] => {
  const items: string[] = []
  const openTo = new Map<string, number>()
  let begin = 0
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string
    if (letter === ',') {
      items.push(text.slice(begin, at))
      begin = at + 1
    } else if (Object.hasOwn(CLOSERS, letter) && at >= (openTo.get(letter) ?? 0)) {
      const { end, isClosed } = spanFrom(text, at)
      if (isClosed) at = end
      else openTo.set(letter, end)
    }
  }
  return [...items, text.slice(begin)].map((one) => one.trim()).filter((one) => one !== '')
}

/** A list of objects, with what is wrong about it; `names` are the members that they may have, `place` where one stands. */
export const objectsIn = (
  mail: Making,
  value: unknown,
  field: string,
  names: readonly string[] | null = null,
  place: (index: number) => string = (index) => `${field}[${index}]`,
): readonly Members[] => {
  if (Array.isArray(value) && value.every(isObject)) {
    for (const [i, one] of value.entries())
      for (const name of names === null ? [] : Object.keys(one))
        if (!names?.includes(name)) mail.refuse(`${place(i)}.${name}`, UNKNOWN)
    return value
  }
  mail.wrong(field, 'type', 'must be a list of objects')
  return []
}

/** A header that is there already, in whatever letters, is a mistake; which of them is meant is not ours to guess. */
export const addHeader = (mail: Making, name: unknown, value: unknown, field: string): void => {
  mail.wire.headers ??= {}
  const headers = mail.wire.headers as Record<string, unknown>
  if (typeof name !== 'string' || typeof value !== 'string') {
    mail.wrong(field, 'type', 'must be a text')
    return
  }
  const isThere = Object.keys(headers).some((one) => one.toLowerCase() === name.toLowerCase())
  if (isThere) mail.wrong(field, 'not_unique', `${name} is there already`)
  else headers[name] = value
}

/** A list of `{Name, Value}`. */
export const headersOfPairs: Taker = (mail, value, field) => {
  for (const [i, { Name, Value }] of objectsIn(mail, value, field, ['Name', 'Value']).entries())
    addHeader(mail, Name, Value, `${field}[${i}]`)
}

/** The first mistake as a sentence. */
export const sentence = ({ field, message }: FieldError): string =>
  message.startsWith('"') ? message : `${field} ${message}`
