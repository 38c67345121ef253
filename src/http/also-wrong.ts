/**
 * NAME      also-wrong - the other mistakes of a malformed draft
 * DESCRIPTION
 *   A draft whose types are wrong is not judged by submission/, so a client would
 *   hear of a bad address only after mending a bad type. Here what is well-formed
 *   is judged by itself, and both go into one answer: a field of the wrong type is
 *   left out, a bad item of a list gives way to one that nobody could object to.
 */
import type { FieldError } from '../base/fault.js'
import type { Config } from '../config/config.js'
import type { WorkspaceRow } from '../store/port-tenants.js'
import { toDraft } from '../submission/draft.js'
import { checkDraft } from '../submission/validate.js'
import { check } from './check.js'
import { sendBody } from './shapes/email.js'

const HARMLESS: Record<string, (index: number) => unknown> = {
  to: (index) => `a${index}@b.invalid`,
  cc: (index) => `c${index}@b.invalid`,
  bcc: (index) => `b${index}@b.invalid`,
  reply_to: () => 'r@b.invalid',
  tags: (index) => ({ name: `_${index}_harmless`, value: '' }),
  attachments: () => ({ content: '' }),
}

/** `.to[3]`, `.attachments[0].content`, `.headers.X-Order`: the field, and which part of it. */
const PLACE = /^\.(\w+)(?:\[(\d+)\]|\.(.+))?/

/** The draft without what was found wrong with it; `gone` are the fields that had to go as a whole. */
const mend = (sent: object, places: readonly string[]) => {
  const draft: Record<string, unknown> = { ...sent }
  const gone = new Set<string>()
  for (const place of places) {
    const [, name = '', index, part] = PLACE.exec(place) ?? []
    const value = draft[name]
    const harmless = HARMLESS[name]
    if (index !== undefined && Array.isArray(value) && harmless) {
      draft[name] = value.with(Number(index), harmless(Number(index)))
    } else if (part !== undefined && typeof value === 'object' && value !== null) {
      draft[name] = Object.fromEntries(Object.entries(value).filter(([key]) => key !== part))
    } else {
      delete draft[name]
      gone.add(name)
    }
  }
  return { draft, gone }
}

export const alsoWrong = (
  sent: unknown,
  found: readonly FieldError[],
  workspace: WorkspaceRow | null,
  { config, now }: { readonly config: Pick<Config, 'default_from' | 'limits'>; readonly now: number },
  at = 'body',
): readonly FieldError[] => {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return []
  const { draft, gone } = mend(
    sent,
    found.map(({ field }) => field.slice(at.length)),
  )
  // `to` must be there to get past its own schema; what is said of this one is dropped below.
  const { value } = check('body', sendBody, gone.has('to') ? { ...draft, to: 'a@b.invalid' } : draft)
  if (value === null) return []
  const rules = {
    defaultFrom: workspace?.defaultFrom ?? config.default_from,
    recipients: config.limits.recipients,
    now,
  }
  const { errors } = checkDraft(toDraft(value), rules, at)
  return (errors ?? []).filter(({ field }) => !gone.has(PLACE.exec(field.slice(at.length))?.[1] ?? ''))
}
