/**
 * NAME      incident - the store's verbs for hard bounces that may be the fault of a server
 * DESCRIPTION
 *   An address that bounced for good is listed by a verb of its own, which counts who else was refused in
 *   the same words. What looks like a fault of the server becomes an incident: its suppressions are
 *   pending, which suppresses nobody, until a person accepts or dismisses them.
 *   An incident is of one workspace, which decides for itself; what is counted is of all the
 *   workspaces of the account, since they share the server.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { SuppressionRow } from './tenants.js'

export interface HardBounce {
  /** As it is listed. */
  readonly row: SuppressionRow
  readonly recipientId: string
  /** What the server said, without what names one mail. */
  readonly said: string
  /** Who said it; null when a report did: then whoever took the mail. */
  readonly upstreamId: string | null
}

export interface IncidentRow {
  readonly id: string
  readonly accountId: string
  readonly workspaceId: string
  /** null: nobody knows by which it left. */
  readonly upstreamId: string | null
  /** Of the recipients. */
  readonly domain: string
  readonly said: string
  /** As they were when it was opened: see Refusals. */
  readonly addresses: number
  readonly living: number
  readonly outcomes: number
  readonly createdAt: number
  readonly decidedAt: number | null
  readonly decision: Decision | null
}

export type Decision = 'accepted' | 'dismissed'

/** An incident, and how many suppressions still wait for it. */
export interface KnownIncident extends IncidentRow {
  readonly pending: number
}

export interface PendingSuppression extends SuppressionRow {
  readonly incidentId: string
}

export interface AddedHardBounce {
  readonly row: SuppressionRow
  /** `listed`: it was there already. */
  readonly as: 'added' | 'listed' | 'pending'
  /** Those that began with it. */
  readonly opened: readonly IncidentRow[]
}

export interface Incidents {
  addHardBounce(dead: HardBounce): Promise<AddedHardBounce>
  incident(accountId: string, id: string): Promise<KnownIncident | null>
  /** Newest first; of one workspace, when that is named; undecided ones alone, when `isOpen`. */
  incidents(
    accountId: string,
    workspaceId: string | null,
    isOpen: boolean,
    page: Page,
  ): Promise<Rows<KnownIncident>>
  /** Of a list, newest first. */
  pendingSuppressions(list: string, page: Page): Promise<Rows<PendingSuppression>>
  pendingSuppression(list: string, ref: string): Promise<PendingSuppression | null>
  /** Lists what was pending, or forgets it. Resolves with how many; `decided` when somebody did before. */
  decideIncident(
    accountId: string,
    id: string,
    decision: Decision,
    now: number,
  ): Promise<number | 'decided' | 'not_found'>
  /** Of all accounts. */
  openIncidents(): Promise<{ readonly incidents: number; readonly suppressions: number }>
}
