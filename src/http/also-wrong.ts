/**
 * NAME      also-wrong - the other mistakes of a malformed draft
 * DESCRIPTION
 *   A draft whose types are wrong is not judged by submission/, so a client would
 *   hear of a bad address only after mending a bad type. Here what is left of it
 *   is judged by itself, and both go into one answer: a bad item of a list gives
 *   way to one that nobody could object to, so that the others keep their places.
 */
import type { FieldError } from '../base/fault.js'
import type { Config } from '../config/config.js'
import type { WorkspaceRow } from '../store/port-tenants.js'
import { toDraft, type WireDraft } from '../submission/draft.js'
import { checkDraft } from '../submission/validate.js'

type Made = (index: number) => unknown

const address: Made = (index) => `a${index}@b.invalid`
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
      const whole = (one: unknown, index: number) =>
        typeof one === 'string' ? one : { ...(harmless(index) as object), ...(one as object | undefined) }
      const plain = (one: unknown, index: number) => one ?? harmless(index)
      return [name, value.map(name === 'tags' || name === 'attachments' ? whole : plain)]
    }),
  )

/** `rest` and `found` are what check() says of a bad body; `at` is where it stands. */
export const alsoWrong = (
  rest: unknown,
  found: readonly FieldError[],
  workspace: WorkspaceRow | null,
  { config, now }: { readonly config: Pick<Config, 'default_from' | 'limits'>; readonly now: number },
  at = 'body',
): readonly FieldError[] => {
  if (typeof rest !== 'object' || rest === null) return []
  const rules = {
    defaultFrom: workspace?.defaultFrom ?? config.default_from,
    recipients: config.limits.recipients,
    now,
  }
  const told = new Set(found.map(({ field }) => field))
  const { errors } = checkDraft(toDraft(mend(rest)), rules, at)
  return (errors ?? []).filter(({ field }) => !told.has(field))
}
