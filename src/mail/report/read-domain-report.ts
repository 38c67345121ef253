/**
 * NAME      read-domain-report - the report about a domain that a mail brings
 * DESCRIPTION
 *   The first part that holds is read as a whole; where none does, the reason is thrown (UnreadableReportError), and
 *   a mail that has none in it is null. Rows are
 *   added up by their source as they come, so that a report of a hundred thousand takes no more memory than one of a
 *   hundred; where there are too many sources, the rest counts without its source.
 */

import { attachmentsIn } from './attachments.js'
import type { DomainReport } from './domain-report.js'
import { type Form, formOf, UnreadableReportError, unpacked } from './unpack.js'

/** Parts that look like a report and are none, such as words that begin with a brace; each may cost as much as a report. */
const MOST_UNREADABLE = 3

const readOctets = async (octets: Buffer, form: Form): Promise<DomainReport | null> => {
  const text = unpacked(octets, form)
  const first = await text.next()
  const inner = first.done === true ? null : formOf(first.value)
  async function* all(): AsyncGenerator<Buffer> {
    if (first.done !== true) yield first.value
    yield* text
  }
  if (inner === 'xml') return (await import('./dmarc.js')).readDmarc(all())
  if (inner === 'json') return (await import('./tls-report.js')).readTlsReport(all())
  await text.return(undefined)
  return null
}

/** Null: the mail has no report in it. */
export const readDomainReport = async (raw: Uint8Array): Promise<DomainReport | null> => {
  const unreadable: UnreadableReportError[] = []
  for await (const octets of attachmentsIn(raw)) {
    const form = formOf(octets)
    if (form === null) continue
    try {
      const report = await readOctets(octets, form)
      if (report !== null) return report
    } catch (error) {
      if (!(error instanceof UnreadableReportError)) throw error
      unreadable.push(error)
      if (unreadable.length === MOST_UNREADABLE) break
    }
  }
  // the last: what comes before the report itself is words for people
  const last = unreadable.at(-1)
  if (last !== undefined) throw last
  return null
}
