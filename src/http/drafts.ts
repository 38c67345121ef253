/**
 * NAME      drafts - one send as submission/ takes it
 * DESCRIPTION
 *   A draft, or all that is wrong with it. A draft whose types are wrong is not
 *   judged by submission/, so a client would hear of a bad address only after
 *   mending a bad type. Here what is left of it is judged by itself, and both go
 *   into one answer: a bad item of a list gives way to one that nobody could
 *   object to, so that the others keep their places.
 */
import type { FieldError } from '../base/fault.js'
import { type Draft, toDraft, type WireDraft } from '../submission/draft.js'
import type { Prepared, Wrong } from '../submission/prepare.js'
import { checkSend, type DraftRules } from '../submission/validate.js'
import { check } from './check.js'
import { sendBody } from './shapes/emails.js'

type Made = (index: number) => unknown

const address = (index: number): string => `a${index}@b.invalid`
const HARMLESS: Readonly<Record<string, Made>> = {
  to: address,
  cc: address,
  bcc: address,
  reply_to: address,
  tags: (index) => ({ name: `_${index}_harmless`, value: '' }),
  attachments: () => ({ content: '' }),
}

/** Lists without holes, and items without gaps. */
const mend = (rest: object): WireDraft =>
  Object.fromEntries(
    Object.entries(rest).map(([name, value]) => {
      const harmless = HARMLESS[name]
      if (!harmless || !Array.isArray(value)) return [name, value]
      const whole = (one: unknown, index: number) => ({ ...(harmless(index) as object), ...(one as object) })
      const plain = (one: unknown, index: number) => one ?? harmless(index)
      return [name, value.map(name === 'tags' || name === 'attachments' ? whole : plain)]
    }),
  )

/** `rest` is what check() leaves of a bad body, `told` the fields that it told; `at` is where it stands. */
export const alsoWrong = (
  rest: unknown,
  told: ReadonlySet<string>,
  rules: DraftRules,
  at = 'body',
): readonly FieldError[] => {
  if (typeof rest !== 'object' || rest === null) return []
  // who sends stands in it
  const sender = told.has(`${at}.raw`) ? { from: address(0) } : {}
  const { errors } = checkSend(toDraft(mend({ ...sender, ...rest })), rules, at)
  return (errors ?? []).filter(({ field }) => !told.has(field))
}

/** A mail that is ready to be stored, or what is wrong with it. */
export type Item = Prepared | Wrong

type Read = Draft | { readonly errors: readonly FieldError[]; readonly omitted: number }

export const readDraft = (value: unknown, rules: DraftRules, at = 'body'): Read => {
  const checked = check(at, sendBody, value)
  if (checked.errors === null) return toDraft(checked.value)
  const { errors, omitted, rest } = checked
  const told = new Set(errors.map(({ field }) => field))
  return { errors: [...errors, ...alsoWrong(rest, told, rules, at)], omitted }
}
