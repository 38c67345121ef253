/**
 * NAME      reading - the mails of a request in another provider's words
 *   Translated, checked and composed, with every mistake under the provider's names. It runs where the request is small, and
 *   in the bodies' thread where it is not; so a call is named by text, and what is asked for can be handed over.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { domainOf } from '../../mail/address.js'
import type { HeaderTag } from '../../mail/control-headers.js'
import type { Draft, WireDraft } from '../../submission/draft.js'
import { type MergeSource, Room, readTemplate } from '../../submission/merge.js'
import { type Prepared, prepare, type Wrong } from '../../submission/prepare.js'
import { checkSend, type DraftRules } from '../../submission/validate.js'
import { type DraftItem, filesIn, readDraft } from '../drafts.js'
import { parseForm, parseJson } from '../wire/body.js'
import { type Dialect, type DialectCall, LONGEST_TAG, type Translated } from './dialect.js'
import { mailgun } from './mailgun.js'
import { postmark } from './postmark.js'
import { sendgrid } from './sendgrid.js'
import { ses } from './ses.js'

export const DIALECTS: Readonly<Record<Dialect['name'], Dialect>> = { mailgun, postmark, sendgrid, ses }

/** Which call the body of a request is for. */
export interface Spoken {
  readonly dialect: Dialect['name']
  readonly path: string
  /** Each mail gets them. */
  readonly tags: readonly HeaderTag[]
  /** The domain that its path names, of which each sender must be; null where paths name none. */
  readonly domain: string | null
  /** The Content-Type of a form; null for JSON. */
  readonly form: string | null
}

const callOf = ({ calls }: Dialect, path: string): DialectCall => {
  const call = calls.find((one) => one.path === path)
  if (call === undefined) throw new Error(`no ${path} in this dialect`)
  return call
}

/** What its octets say. */
export const parseSpoken = (bytes: Uint8Array, { form }: Pick<Spoken, 'form'>): unknown =>
  form === null ? parseJson(bytes) : parseForm(bytes, form)

/** Who else has written it than the domain of the path; a mistake, since that decides for whom it is sent. */
const foreign = ({ senders }: Prepared, { domain }: Spoken): readonly FieldError[] => {
  if (domain === null) return []
  const own = domainOf(`_@${domain}`)
  const message = `must be an address of ${domain}, the domain in the path of this request`
  return senders.every((one) => domainOf(one) === own) ? [] : [{ field: 'from', kind: 'forbidden', message }]
}

const PLACE = /^body\.?/
/** Some messages begin with it. */
const OUR_NAME = /^"\w+" /

const readOne = async (
  { told }: Dialect,
  { wire, tags, errors, requireTls, place, heedsHeader = false, needsNoTo = false }: Translated,
  spoken: Spoken,
  rules: DraftRules,
  index: number,
): Promise<DraftItem> => {
  const placed = (field: string): string =>
    place === undefined ? field : field.replace(/^to(?:\[0\])?$/, `to[${place}]`)
  const theirs = (wrong: readonly FieldError[]) =>
    wrong.map(({ field, message, kind }) => {
      const bare = { field: placed(field.replace(PLACE, '')), message: message.replace(OUR_NAME, ''), kind }
      return told(bare, index, wire)
    })
  const read = readDraft(wire, rules)
  const foundTags = [...spoken.tags, ...tags]
  const draft = 'errors' in read ? read : { ...read, foundTags, heedsHeader, needsNoTo }
  // what is refused anyway is not composed, but judged for all that is wrong
  const judged = (one: Draft): Wrong => ({ errors: checkSend(one, rules).errors ?? [] })
  const made = 'errors' in draft ? draft : errors.length > 0 ? judged(draft) : await prepare(draft, rules)
  if (!('errors' in made)) {
    const strange = foreign(made, spoken)
    return strange.length > 0 ? { errors: strange } : requireTls ? { ...made, requireTls } : made
  }
  return { ...made, errors: [...errors, ...theirs(made.errors)] }
}

/** A mail for each of those whom it is merged for; as it is where it is for all. */
const spread = async (mail: Translated, rules: DraftRules): Promise<readonly Translated[]> => {
  const { merge, wire, tags } = mail
  if (!merge || mail.errors.length > 0) return [mail]
  const { from = null, subject = null, html = null, text = null } = wire as Partial<MergeSource>
  const { headers = {}, reply_to = [] } = wire as Partial<MergeSource>
  const parts = { from, subject, html, text, headers, reply_to, tags }
  const read = await readTemplate(parts, merge.syntax, merge.field)
  if ('errors' in read) return [{ ...mail, errors: read.errors }]
  const room = new Room(rules.messageSize)
  const files = filesIn(wire as WireDraft)
  return merge.values.map(({ to, place, at, texts }) => {
    room.take(read.sizeWith(texts) + files)
    const errors: FieldError[] = []
    const { tags: own, ...filled } = read.fill(texts, at, errors)
    const kept = own.filter(({ value }) => value !== '')
    if (kept.some(({ value }) => value.length > LONGEST_TAG))
      errors.push({
        field: at,
        kind: 'length',
        message: `makes a tag of more than ${LONGEST_TAG} characters`,
      })
    return {
      ...{ ...mail, errors, place },
      wire: { ...wire, ...filled, to: [to] },
      tags: kept,
    }
  })
}

interface Read {
  readonly items: readonly DraftItem[]
  readonly isTrial: boolean
  /** What was said, as it is fingerprinted: of forms the mails, since a message that came whole counts as it is read. */
  readonly said: unknown
}

/** Throws what no waiting mends. */
const demandCount = (translated: readonly Translated[], { most }: DialectCall, perMinute: number): void => {
  const count = translated.reduce(
    (sum, { merge, errors }) => sum + (merge && errors.length === 0 ? merge.values.length : 1),
    0,
  )
  if (count > most)
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${most} mails` }])
  if (count <= perMinute) return
  const detail = `This key sends ${perMinute} mails a minute, so a request of ${count} is never taken; send it in parts`
  throw new Fault('request.body_too_large', { detail })
}

/** Throws the Fault of a body that holds no mails at all, or too many: none of them is filled or composed then. */
export const readSpoken = async (
  spoken: Spoken,
  body: unknown,
  rules: DraftRules,
  perMinute: number,
): Promise<Read> => {
  const own = DIALECTS[spoken.dialect]
  const call = callOf(own, spoken.path)
  const translated = call.translate(body)
  demandCount(translated, call, perMinute)
  const mails: Translated[] = []
  for (const one of translated) mails.push(...(await spread(one, rules)))
  const items: DraftItem[] = []
  for (const [index, one] of mails.entries()) items.push(await readOne(own, one, spoken, rules, index))
  const said =
    spoken.form === null
      ? body
      : mails.map(({ wire, tags, requireTls }) => ({ ...wire, found: [tags, requireTls] }))
  return { items, isTrial: call.isTrial?.(body) ?? false, said }
}
