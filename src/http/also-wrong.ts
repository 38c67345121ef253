/**
 * NAME      also-wrong - the other mistakes of a malformed draft
 * DESCRIPTION
 *   A draft whose types are wrong is not judged by submission/, so a client would
 *   hear of a bad address only after mending a bad type. Here the fields that are
 *   well-formed are judged by themselves, and both go into one answer.
 */
import type { FieldError } from '../base/fault.js'
import type { Config } from '../config/config.js'
import type { WorkspaceRow } from '../store/port-tenants.js'
import { toDraft } from '../submission/draft.js'
import { checkDraft } from '../submission/validate.js'
import { check } from './check.js'
import { sendBody } from './shapes/email.js'

/** `body.to[3]` and `body.to` are the same field of a draft. */
const nameOf = (field: string, at: string): string => /^\.(\w+)/.exec(field.slice(at.length))?.[1] ?? ''

export const alsoWrong = (
  sent: unknown,
  found: readonly FieldError[],
  workspace: WorkspaceRow | null,
  { config, now }: { readonly config: Pick<Config, 'default_from' | 'limits'>; readonly now: number },
  at = 'body',
): readonly FieldError[] => {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return []
  const known = new Set(found.map(({ field }) => nameOf(field, at)))
  const rest = Object.fromEntries(Object.entries(sent).filter(([name]) => !known.has(name)))
  // `to` must be there to get past its own schema; what is said of this one is dropped below.
  const { value } = check('body', sendBody, known.has('to') ? { ...rest, to: 'a@b.invalid' } : rest)
  if (value === null) return []
  const rules = {
    defaultFrom: workspace?.defaultFrom ?? config.default_from,
    recipients: config.limits.recipients,
    now,
  }
  const { errors } = checkDraft(toDraft(value), rules, at)
  return (errors ?? []).filter(({ field }) => !known.has(nameOf(field, at)))
}
