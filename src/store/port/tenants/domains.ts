/**
 * NAME      port/domains - the store's verbs about sending domains
 * DESCRIPTION
 *   A sending domain belongs to one workspace, or to all of its account. Its
 *   keys live in the row, their private halves sealed with the pepper by tenant/.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { Notice } from '../log.js'
import type { Written } from './tenants.js'

export interface DkimKeyRow {
  readonly selector: string
  readonly algorithm: 'rsa' | 'ed25519'
  /** PKCS #8 in PEM, sealed. */
  readonly sealed: string
  /** The TXT record to publish. */
  readonly record: string
  /** `next` waits to be published, `active` signs, `retired` stays published while its mail is under way. */
  readonly state: 'next' | 'active' | 'retired'
  readonly createdAt: number
  readonly retiredAt: number | null
}

export interface DomainRow {
  readonly id: string
  readonly accountId: string
  /** null: any workspace of the account. */
  readonly workspaceId: string | null
  /** Lower case, in A-labels. */
  readonly name: string
  readonly keys: readonly DkimKeyRow[]
  /** When DNS last showed every active key; null: never, or no longer. */
  readonly verifiedAt: number | null
  readonly checkedAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Domains {
  createDomain(row: DomainRow): Promise<Written>
  /**
   * Only over the row that was `updatedAt` then, with the event that tells what changed: false when it was
   * changed or removed since.
   */
  updateDomain(row: DomainRow, updatedAt: number, notice: Notice | null): Promise<boolean>
  removeDomain(accountId: string, id: string): Promise<boolean>
  /** By id or name, within an account. */
  domain(accountId: string, ref: string): Promise<DomainRow | null>
  /** Of one workspace alone, when that is named. */
  domains(accountId: string, page: Page, workspaceId?: string | null): Promise<Rows<DomainRow>>
  /** Every domain of every account, for relay/. */
  allDomains(): Promise<readonly DomainRow[]>
}
