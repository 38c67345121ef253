/**
 * NAME      intake - what the bounce door asks, answered
 * DESCRIPTION
 *   `verifyRecipient` says at RCPT whether an address is a return path of ours,
 *   so that nothing is taken that would have to be sent back; `ingest` records
 *   the report and resolves when that is on disk. The door and the command line
 *   (`postern bounce ingest`) take reports in by the same two verbs.
 */
import { readReturnPath, verifyReturnPath } from '../mail/return-path.js'
import { type Recorded, type ReportParts, recordReport } from './report.js'

export interface Intake {
  verifyRecipient(address: string): Promise<boolean>
  ingest(address: string, raw: Uint8Array): Promise<Recorded>
}

export const createIntake = (parts: ReportParts): Intake => ({
  async verifyRecipient(address) {
    const token = readReturnPath(address)
    const owner = token === null ? null : await parts.store.recipient(token.recipientId)
    return token !== null && owner !== null && verifyReturnPath(parts.keys, token, owner, parts.clock.now())
  },
  ingest: (address, raw) => recordReport(parts, address, raw),
})
