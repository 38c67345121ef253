/**
 * NAME      state - how a sending domain stands, as a sentence
 */
import type {
  CheckedRecord,
  Domain as DomainRecord,
  DnsRecord as Published,
} from '../../../resource/domain.js'

/** What was seen is told of a check just now only. */
export type DnsRecord = Published & Partial<CheckedRecord>
export type Domain = Omit<DomainRecord, 'records'> & { readonly records: readonly DnsRecord[] }

interface State {
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly title: string
  readonly says: string
}

const needed = ({ records }: Domain) => records.filter(({ state }) => state === 'active')

export const stateOf = (row: Domain): State => {
  const fresh = row.keys.some(({ state }) => state === 'next')
  const lost = needed(row).filter(({ seen }) => seen === 'missing' || seen === 'different').length
  const deaf = row.records.some(({ seen }) => seen === 'unknown')
  if (deaf)
    return {
      tone: 'wait',
      title: 'A name server did not answer.',
      says: 'That proves nothing: what was verified stays so. Check again later.',
    }
  if (row.verified)
    return fresh
      ? {
          tone: 'wait',
          title: 'Signed and verified; new keys wait to be published.',
          says: 'Publish the records of the new keys beside the old ones, then check: they sign once they are found.',
        }
      : { tone: 'ok', title: 'Signed and verified.', says: 'Every active key was found in DNS.' }
  if (row.checked_at === null)
    return {
      tone: 'wait',
      title: 'Signed, and not checked yet.',
      says: 'Publish the records below, then check. Until then receivers cannot verify the signatures.',
    }
  return {
    tone: 'bad',
    title: lost === 1 ? 'One record is not as it should be.' : 'Not verified: its keys are not found in DNS.',
    says: 'Receivers cannot verify the signatures. A new record may take as long as the old one was allowed to be kept.',
  }
}
