/**
 * NAME      reading - the mails of a request in another provider's words
 * DESCRIPTION
 *   Translated, checked and composed, with every mistake under the provider's names. It runs where the request is small, and
 *   in the bodies' thread where it is not; so a call is named by text, and what is asked for can be handed over.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import type { HeaderTag } from '../../mail/control-headers.js'
import type { Draft } from '../../submission/draft.js'
import { prepare, type Wrong } from '../../submission/prepare.js'
import { checkSend, type Rules } from '../../submission/validate.js'
import { type Item, readDraft } from '../drafts.js'
import type { Dialect, DialectCall, Translated } from './dialect.js'
import { postmark } from './postmark.js'
import { sendgrid } from './sendgrid.js'

export const DIALECTS: Readonly<Record<Dialect['name'], Dialect>> = { postmark, sendgrid }

/** Which call the body of a request is for. */
export interface Spoken {
  readonly dialect: Dialect['name']
  readonly path: string
  /** Each mail gets them. */
  readonly tags: readonly HeaderTag[]
}

const callOf = ({ calls }: Dialect, path: string): DialectCall => {
  const call = calls.find((one) => one.path === path)
  if (call === undefined) throw new Error(`no ${path} in this dialect`)
  return call
}

const PLACE = /^body\.?/
/** Some messages begin with it. */
const OUR_NAME = /^"\w+" /

const readOne = async (
  { told }: Dialect,
  { wire, tags, errors }: Translated,
  more: readonly HeaderTag[],
  rules: Rules,
  index: number,
): Promise<Item> => {
  const theirs = (wrong: readonly FieldError[]) =>
    wrong.map(({ field, message, kind }) =>
      told({ field: field.replace(PLACE, ''), message: message.replace(OUR_NAME, ''), kind }, index, wire),
    )
  const read = readDraft(wire, rules)
  const draft = 'errors' in read ? read : { ...read, foundTags: [...more, ...tags] }
  // what is refused anyway is not composed, but judged for all that is wrong
  const judged = (one: Draft): Wrong => ({ errors: checkSend(one, rules).errors ?? [] })
  const made = 'errors' in draft ? draft : errors.length > 0 ? judged(draft) : await prepare(draft, rules)
  if (!('errors' in made)) return made
  return { ...made, errors: [...errors, ...theirs(made.errors)] }
}

/** Throws the Fault of a body that holds no mails at all, or too many: none of them is composed then. */
export const readSpoken = async (
  { dialect, path, tags }: Spoken,
  body: unknown,
  rules: Rules,
): Promise<{ readonly items: readonly Item[]; readonly isTrial: boolean }> => {
  const own = DIALECTS[dialect]
  const call = callOf(own, path)
  const mails = call.translate(body)
  if (mails.length > call.most)
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${call.most} mails` }])
  const items: Item[] = []
  for (const [index, one] of mails.entries()) items.push(await readOne(own, one, tags, rules, index))
  return { items, isTrial: call.isTrial?.(body) ?? false }
}
