/**
 * NAME      read-domain-report - the report about a domain that a mail brings
 * DESCRIPTION
 *   It is read as a whole, or refused with the reason (UnreadableReportError); a mail that has none in it is null. Rows are
 *   added up by their source as they come, so that a report of a hundred thousand takes no more memory than one of a
 *   hundred; where there are too many sources, the rest counts without its source.
 */
import type { DomainReport } from './domain-report.js'
import { attachmentsIn } from './mime.js'
import { formOf, unpacked } from './unpack.js'

/** Null: the mail has no report in it. */
export const readDomainReport = async (raw: Uint8Array): Promise<DomainReport | null> => {
  for (const octets of attachmentsIn(raw)) {
    const form = formOf(octets)
    if (form === null) continue
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
  }
  return null
}
