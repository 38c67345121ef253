/**
 * The house of tenant/ with a submission stage in it, a pool, and one key of each kind.
 */

import { isStored, type NewEmail } from '../../src/lifecycle/facts.js'
import type { EmailRecord, EmailScope } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import { type Draft, type Render, toDraft, type WireDraft } from '../../src/submission/draft.js'
import { createSubmission, type Submission, type SubmissionParts } from '../../src/submission/submission.js'
import type { Principal } from '../../src/tenant/principal.js'
import { limitsWith } from '../parts/settings.js'
import { type House, openHouse } from '../tenant/house.js'

export interface Office extends House {
  readonly submission: Submission
  /** A second stage on the same store, set up otherwise. */
  with(parts: Partial<SubmissionParts>): Submission
  readonly workspace: WorkspaceRow
  readonly live: Principal
  readonly test: Principal
  /** Everything that reached the store, in order. */
  readonly accepted: NewEmail[]
}

const LIMITS = limitsWith({ message_size: 100_000, recipients: 100 })

/** Hands all verbs on to the real store, and remembers what was accepted. */
const watched = (store: Store, accepted: NewEmail[]): SubmissionParts['store'] => ({
  system: store.system,
  ...(store.known && { known: store.known }),
  claimKey: (claim) => store.claimKey(claim),
  releaseKey: (claim) => store.releaseKey(claim),
  workspace: (accountId, ref) => store.workspace(accountId, ref),
  pool: (accountId, ref) => store.pool(accountId, ref),
  suppressed: (id, emails, now) => store.suppressed(id, emails, now),
  async accept(batch) {
    const result = await store.accept(batch)
    if (isStored(result)) accepted.push(...batch.mails)
    return result
  },
})

export const openOffice = async (...how: Parameters<typeof openHouse>): Promise<Office> => {
  const house = await openHouse(...how)
  const { tenants, account, store, clock } = house
  await tenants.createPool(account.id, { name: 'main', members: [{ host: 'mta.test' }] })
  const workspace = await tenants.updateWorkspace(account.id, 'default', { pool: 'main' })
  const principalOf = async (mode: 'live' | 'test') => {
    const { secret } = await tenants.createKey(account.id, { name: mode, mode, workspace: 'default' })
    return tenants.authenticateBearer(secret)
  }
  const accepted: NewEmail[] = []
  const config = { hostname: 'gw.test', limits: LIMITS, default_from: null }
  const parts = { store: watched(store, accepted), config, clock }
  return {
    ...house,
    workspace,
    live: await principalOf('live'),
    test: await principalOf('test'),
    accepted,
    submission: createSubmission(parts),
    with: (more) => createSubmission({ ...parts, ...more }),
  }
}

export const draft = (body: WireDraft = {}): Draft =>
  toDraft({ from: 'Acme <no-reply@acme.test>', to: 'ana@example.com', subject: 'Hi', text: 'Hello', ...body })

/** A body that tells what was accepted. */
export const render: Render = (records) => ({
  status: 202,
  body: JSON.stringify(records.map(({ id, status }) => ({ id, status }))),
})

export const plain = { idempotency: null, render }

export const scopeOf = ({ account, workspace }: Office, mode: 'live' | 'test' = 'live'): EmailScope => ({
  accountId: account.id,
  workspaceId: workspace.id,
  mode,
})

export const only = (records: readonly EmailRecord[]): EmailRecord => {
  const [record] = records
  if (record === undefined || records.length > 1)
    throw new Error(`expected one record, found ${records.length}`)
  return record
}
