/**
 * NAME      verbs - what this engine can do
 * DESCRIPTION
 *   Shared verbs as they are in store/sql/, and its own. Each is work that yields statements (sql/query.ts).
 */
import type { Store } from '../port/store.js'
import { type NamesOf, VERBS } from '../port/verbs.js'
import { identityReads } from '../sql/identity/reads.js'
import { identityWrites } from '../sql/identity/writes.js'
import type { Places } from '../sql/insert.js'
import { jobReads, jobWrites } from '../sql/jobs.js'
import { logReads } from '../sql/log/reads.js'
import { mailReads } from '../sql/mails/email.js'
import { emailReads } from '../sql/mails/emails.js'
import { type Asked, type Asking, first } from '../sql/query.js'
import { tenantReads } from '../sql/tenants/reads.js'
import { logEnds, MAIL } from './mails.js'
import { lightVerbs } from './write/light.js'
import { tenantVerbs } from './write/tenants.js'

const body = {
  *body(emailId: string): Asking<Uint8Array | null> {
    const found = 'SELECT b.raw FROM emails e JOIN bodies b ON b.n = e.body WHERE e.id = ?'
    return ((yield* first(found, emailId))?.raw as Uint8Array | undefined) ?? null
  },
}

/** Verbs that one connection answers for itself, without a writer. */
export const READS = {
  ...body,
  ...mailReads(MAIL),
  ...emailReads(MAIL),
  ...logReads(MAIL, logEnds),
  ...lightVerbs,
  ...tenantReads,
  ...identityReads,
  ...jobReads,
} satisfies Partial<Asked<Pick<Store, NamesOf<'read' | 'write'>>>>

export const writesOf = (places: Places) =>
  ({ ...tenantVerbs(places), ...identityWrites(places), ...jobWrites(places) }) satisfies Partial<
    Asked<Pick<Store, NamesOf<'write' | 'steps'>>>
  >

export type AnyVerb = (...args: readonly unknown[]) => Asking<unknown>

/** Those of the port that are not here yet say so. */
export const missing = (known: object): Partial<Store> =>
  Object.fromEntries(
    Object.keys(VERBS)
      .filter((name) => !(name in known))
      .map((name) => [
        name,
        async () => {
          throw new Error(`${name} is not done by PostgreSQL yet`)
        },
      ]),
  )
