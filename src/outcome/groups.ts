/**
 * NAME      groups - which group of a report is about our recipient
 * DESCRIPTION
 *   A report may speak of many recipients, a token only for one. Ours is the
 *   group whose Original-Recipient is our recipient, else whose
 *   Final-Recipient is; else the only one, when it names an address that we know nothing of:
 *   aliases and forwards rename recipients. A group that names somebody else
 *   we write to touches nobody. When nothing fits but all groups agree on what
 *   happened, that happened to ours too; otherwise the report is an event only.
 *   An address that was expanded to several has several groups, and each of them is heard: one
 *   failure is a failure, as it would be if every member were reported in a mail of its own.
 */
import { normalizeAddress } from '../mail/address.js'
import type { ReportRecipient } from '../mail/report/report.js'

/** Why no group is ours. */
export type NotOurs = 'other_recipient' | 'groups_disagree' | 'unclear'

export interface OurGroups {
  readonly groups: readonly ReportRecipient[]
  /** Null when some are ours. */
  readonly why: NotOurs | null
}

const same = (one: string | null, ours: string): boolean => one !== null && normalizeAddress(one) === ours

const ofOthers: OurGroups = { groups: [], why: 'other_recipient' }

const ofUs = (groups: readonly ReportRecipient[]): OurGroups =>
  groups.length > 0 ? { groups, why: null } : ofOthers

/** Any of them would do, since they agree; none, when they do not. */
const agreed = (groups: readonly ReportRecipient[]): OurGroups => {
  const [first] = groups
  const one = first !== undefined && groups.every(({ action }) => action === first.action)
  if (first === undefined) return { groups: [], why: 'unclear' }
  return one ? ofUs([first]) : { groups: [], why: 'groups_disagree' }
}

/** Those that name this very address. */
export const groupsNaming = (
  groups: readonly ReportRecipient[],
  address: string,
): readonly ReportRecipient[] => {
  const ours = normalizeAddress(address)
  const original = groups.filter((group) => same(group.originalRecipient, ours))
  if (original.length > 0) return original
  return groups.filter(
    ({ originalRecipient, finalRecipient, address: named }) =>
      originalRecipient === null && (same(finalRecipient, ours) || same(named, ours)),
  )
}

/**
 * The groups that speak for `address`. `isOther` tells whether an address is a
 * recipient of ours, but another one.
 */
export const groupsFor = async (
  groups: readonly ReportRecipient[],
  address: string,
  isOther: (address: string) => Promise<boolean>,
): Promise<OurGroups> => {
  const ours = normalizeAddress(address)
  const original = groups.filter((group) => same(group.originalRecipient, ours))
  if (original.length > 0) return ofUs(original)
  for (const field of ['finalRecipient', 'address'] as const) {
    const named = groups.filter((group) => same(group[field], ours))
    // the original recipient comes first: when that is another one of ours, so is the group
    const others = await Promise.all(
      named.map(async ({ originalRecipient: one }) => one !== null && (await isOther(normalizeAddress(one)))),
    )
    if (named.length > 0) return ofUs(named.filter((_, i) => others[i] !== true))
  }
  for (const { originalRecipient, finalRecipient, address: named } of groups) {
    // we said who the original recipient is (ORCPT), so another one there is somebody else
    if (originalRecipient !== null) return ofOthers
    const name = finalRecipient ?? named
    if (name !== null && (await isOther(normalizeAddress(name)))) return ofOthers
  }
  return agreed(groups)
}
