/**
 * NAME      listed - recipients of new mail as lists of suppressions have them
 */
import type { Acceptance, AcceptResult, NewEmail } from '../../lifecycle/facts.js'
import { suppressionList } from '../../lifecycle/suppress.js'

type IsListed = (list: string, normal: string) => boolean

const ask = (mail: NewEmail, isListed: IsListed): NewEmail => {
  const list = suppressionList(mail.workspaceId, mail.mode)
  const recipients = mail.recipients.map((one) =>
    one.normal === undefined ? one : { ...one, suppressed: isListed(list, one.normal) },
  )
  return { ...mail, recipients }
}

/** What is to be stored, and what accept answers then; null where an idempotent answer says something else. */
export const asListed = (
  batch: Acceptance,
  isListed: IsListed,
): { readonly batch: Acceptance; readonly result: AcceptResult } | null => {
  const asked = batch.mails.flatMap(({ recipients }) => recipients).filter((one) => one.normal !== undefined)
  if (asked.length === 0) return { batch, result: 'accepted' }
  const mails = batch.mails.map((mail) => ask(mail, isListed))
  const all = new Map(mails.flatMap(({ recipients }) => recipients.map((one) => [one.id, one] as const)))
  if (batch.idempotency !== null && asked.some((one) => all.get(one.id)?.suppressed !== one.suppressed))
    return null
  const suppressed = asked.map(({ id }) => id).filter((id) => all.get(id)?.suppressed)
  return { batch: { ...batch, mails }, result: suppressed.length === 0 ? 'accepted' : { suppressed } }
}
