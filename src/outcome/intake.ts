/**
 * NAME      intake - what the bounce door asks, answered
 * DESCRIPTION
 *   `verifyRecipient` says at RCPT whether reports may come to an address, so that nothing is
 *   taken that would have to be sent back: a return path that we signed, the fixed one while
 *   a pool uses it, or `fbl@`, where feedback loops send complaints (reports to these two must
 *   carry a signed reference to be believed).
 *   `ingest` records
 *   the report and resolves when that is on disk. The door and the command line
 *   (`postern bounce ingest`) take reports in by the same two verbs.
 */
import { returnPathAt, roleAt, verifyReturnPath } from '../mail/return-path.js'
import { type Recorded, type ReportParts, recordReport } from './report.js'

export interface Intake {
  verifyRecipient(address: string): Promise<boolean>
  ingest(address: string, raw: Uint8Array): Promise<Recorded>
}

const isOpen = async ({ store, domain }: ReportParts, address: string): Promise<boolean> => {
  const role = roleAt(address, domain)
  if (role !== 'bounces') return role === 'fbl'
  return (await store.allPools()).some(({ returnPath }) => returnPath === 'fixed')
}

/** `note` hears what was made of each report. */
export const createIntake = (parts: ReportParts, note: (made: Recorded) => void = () => {}): Intake => ({
  async verifyRecipient(address) {
    const token = returnPathAt(address, parts.domain)
    if (token === null) return isOpen(parts, address)
    await parts.lookAtKeys?.()
    const owner = await parts.store.recipient(token.recipientId)
    return owner !== null && verifyReturnPath(parts.keys, token, owner, parts.clock.now())
  },
  async ingest(address, raw) {
    await parts.lookAtKeys?.()
    const made = await recordReport(parts, address, raw)
    note(made)
    return made
  },
})
