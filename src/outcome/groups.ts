/**
 * NAME      groups - which groups of a report are about our recipient
 * DESCRIPTION
 *   A report that came to a signed return path (T1) is about that recipient, whomever its groups
 *   name: the path was given to nobody else, and aliases, forwards, lists and the client's
 *   own ORCPT make the names differ. Each group is heard, and one failure is a failure.
 *   Without the path, a report about one recipient speaks of it. Of several groups ours
 *   has our recipient as Original-Recipient, or what the client had us say there (ORCPT), else as
 *   Final-Recipient; else all agree on what happened. Otherwise the report is an event only.
 */
import { normalizeAddress } from '../mail/address.js'
import { addressOf } from '../mail/report/fields.js'
import type { ReportRecipient } from '../mail/report/report.js'
import type { RecipientOwner } from '../store/port/mail.js'

/** Why no group is ours. */
export type NotOurs = 'other_recipient' | 'groups_disagree' | 'unclear'

export interface OurGroups {
  readonly groups: readonly ReportRecipient[]
  /** Null when some are ours. */
  readonly why: NotOurs | null
}

/** Whom we wrote to, and what the client had us call him. */
export type Named = Pick<RecipientOwner, 'address' | 'orcpt'>

/** True for the recipient's address, and for the one that the client gave as its original. */
export const isNameOf = (one: string | null, { address, orcpt }: Named): boolean => {
  if (one === null) return false
  const name = normalizeAddress(one)
  if (name === normalizeAddress(address)) return true
  const given = addressOf(orcpt ?? undefined)
  return given !== null && name === normalizeAddress(given)
}

const isAddressOf = (one: string | null, { address }: Named): boolean =>
  one !== null && normalizeAddress(one) === normalizeAddress(address)

/** Any of them would do, since they agree; none, when they do not. */
const agreed = (groups: readonly ReportRecipient[]): OurGroups => {
  const [first] = groups
  if (first === undefined) return { groups: [], why: 'unclear' }
  const isOne = groups.every(({ action }) => action === first.action)
  return isOne ? { groups: [first], why: null } : { groups: [], why: 'groups_disagree' }
}

/** Those that name this very recipient. */
export const groupsNaming = (groups: readonly ReportRecipient[], ours: Named): readonly ReportRecipient[] => {
  const original = groups.filter((group) => isNameOf(group.originalRecipient, ours))
  if (original.length > 0) return original
  return groups.filter(
    ({ originalRecipient, finalRecipient, address }) =>
      originalRecipient === null && (isAddressOf(finalRecipient, ours) || isAddressOf(address, ours)),
  )
}

/** The groups that speak for `ours`, where the report is about nobody else of us. */
export const groupsFor = (
  groups: readonly ReportRecipient[],
  ours: Named,
  cameByPath: boolean,
): OurGroups => {
  if (groups.length > 0 && (cameByPath || groups.length === 1)) return { groups, why: null }
  const original = groups.filter((group) => isNameOf(group.originalRecipient, ours))
  const named =
    original.length > 0
      ? original
      : groups.filter(
          ({ finalRecipient, address }) => isAddressOf(finalRecipient, ours) || isAddressOf(address, ours),
        )
  return named.length > 0 ? { groups: named, why: null } : agreed(groups)
}

/** The first of those that tell the same; of those, who is `better`. */
export const distinct = (
  groups: readonly ReportRecipient[],
  better: (group: ReportRecipient) => boolean,
): readonly ReportRecipient[] => {
  const told = new Map<string, ReportRecipient>()
  for (const group of groups) {
    const key = `${group.action ?? group.unknownAction} ${group.status}`
    const found = told.get(key)
    if (found === undefined || (!better(found) && better(group))) told.set(key, group)
  }
  return [...told.values()]
}
