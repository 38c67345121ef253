/**
 * NAME      kept-report - a report as it came, beside its event
 * DESCRIPTION
 *   The first 64 KiB of every mail that reached a recipient of ours, deflated, so that a
 *   person can read what a program did not understand, or did. Its name is a digest and stands
 *   in the detail of each event that it led to; the store keeps it for `retention.reports`.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { Fault } from '../base/fault.js'
import type { EventRow, KeptReport, Outcome } from '../lifecycle/facts.js'
import type { Ledger } from '../store/port/mail.js'

const MOST = 64 * 1024

export const keptOf = async (raw: Uint8Array): Promise<KeptReport> => {
  const octets = raw.subarray(0, MOST)
  return {
    name: createHash('sha256').update(octets).digest('base64url').slice(0, 22),
    octets: await promisify(deflateRaw)(octets),
  }
}

/** Each outcome names the report; one is enough to bring it. */
export const withReport = (report: KeptReport | null, outcomes: readonly Outcome[]): readonly Outcome[] =>
  report === null
    ? outcomes
    : outcomes.map((outcome, at) => ({
        ...outcome,
        detail: { ...outcome.detail, report: report.name },
        ...(at === 0 && { report }),
      }))

/** The octets behind an event; throws resource.conflict where there are none, or no longer. */
export const readKept = async (
  store: Pick<Ledger, 'report'>,
  emailId: string,
  { detail }: Pick<EventRow, 'detail'>,
): Promise<Buffer> => {
  const name = detail?.report
  const octets = typeof name === 'string' ? await store.report(emailId, name) : null
  if (octets !== null) return promisify(inflateRaw)(octets, { maxOutputLength: MOST })
  const why = name === undefined ? 'No report came with this event' : 'The report is not kept, or no longer'
  throw new Fault('resource.conflict', { reason: 'report_gone', detail: why })
}
