/**
 * NAME      domains - what the DNS says of the domains that mail is sent from
 * DESCRIPTION
 *   Mail signed with a key that DNS does not know is worse than unsigned, so a
 *   missing or different DKIM record of a key that signs is a failure; SPF and
 *   DMARC are advice. Nothing is written down: that is for `postern domain check`.
 */
import { type CheckedRecord, zoneLine } from '../../record/domain.js'
import { lookUp } from '../../tenant/domain/check.js'
import type { CliContext } from '../context.js'
import { collect } from '../rows.js'
import { type Facts, type Finding, fail, ok, warn } from './finding.js'
import { checkSpf, resolverOf } from './names.js'

const judge = ({ purpose, state, name, value, seen, found }: CheckedRecord): Finding => {
  const check = purpose.toUpperCase()
  if (seen === 'ok') return ok(check, `${name} is published`)
  if (seen === 'unknown')
    return warn(check, `${name} could not be looked up (${found})`, 'postern doctor --resolver HOST')
  const detail = seen === 'missing' ? `${name} has no such record` : `${name} says something else: ${found}`
  const remedy = `add to the DNS: ${zoneLine({ name, value })}`
  return state === 'active'
    ? fail(check, `${detail}: mail is signed in vain`, remedy, 78)
    : warn(check, detail, remedy)
}

export const checkDomains = async (
  { store, account }: CliContext,
  facts: Facts,
): Promise<readonly Finding[]> => {
  const resolver = resolverOf(facts)
  const found: Finding[] = []
  for (const row of await collect((page) => store.domains(account.id, page))) {
    const records = await lookUp(row, (name) => resolver.resolveTxt(name))
    found.push(
      ...records.filter(({ state }) => state !== 'retired').map(judge),
      ...(await checkSpf(resolver, row.name)),
    )
  }
  return found
}
