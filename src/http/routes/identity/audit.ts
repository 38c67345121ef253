/**
 * NAME      audit - who changed what
 */
import { type FieldError, invalid } from '../../../base/fault.js'
import { auditEntry } from '../../../record/tenants/identity.js'
import type { AuditFilter } from '../../../store/port/tenants/audit.js'
import { type Deps, listing } from '../../deps.js'
import type { Endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/identity/audit.js'
import { readTime } from '../../wire/time.js'

/** What people call it, as its id; what nobody is called, as it stands. */
const actorFor = async ({ store }: Deps, accountId: string, ref: string): Promise<string> =>
  ref.includes('@') ? ((await store.user(accountId, ref.trim().toLowerCase()))?.id ?? ref) : ref

const targetFor = async (deps: Deps, accountId: string, ref: string): Promise<string> => {
  if (ref.includes('@')) return actorFor(deps, accountId, ref)
  const workspace = await deps.store.workspace(accountId, ref)
  return workspace?.id ?? (await deps.store.pool(accountId, ref))?.id ?? ref
}

const readFilter = (query: Partial<shapes.AuditQuery>, errors: FieldError[]): AuditFilter => ({
  action: query.action ?? null,
  actorId: query.actor ?? null,
  objectId: query.target ?? null,
  workspaceId: query.workspace ?? null,
  since: readTime('query.since', query.since, errors),
  until: readTime('query.until', query.until, errors),
})

export const audit = (deps: Deps): readonly Endpoint[] => [
  listing(deps, {
    id: 'listAudit',
    path: '/v1/audit',
    summary: 'Who changed what, when and from where, newest first',
    description:
      'By the API, the command line and the dashboard alike; kept for 400 days. An order over many mails is one entry with how many it `changed`. Sending mail is not in it: each mail is its own record. Never a secret.',
    access: 'session',
    workspace: 'none',
    query: shapes.auditQuery,
    of: shapes.entry,
    alsoWrong({ query }) {
      const errors: FieldError[] = []
      readFilter(query, errors)
      return errors
    },
    async rows({ principal: { accountId }, query }) {
      const errors: FieldError[] = []
      const said = readFilter(query, errors)
      if (errors.length > 0) throw invalid(errors)
      const { actorId: by, objectId: about } = said
      const filter = {
        ...said,
        ...(by !== null && { actorId: await actorFor(deps, accountId, by) }),
        ...(about !== null && { objectId: await targetFor(deps, accountId, about) }),
      }
      return {
        filters: { ...filter },
        fetch: (page) => deps.store.audit(accountId, filter, page),
        render: auditEntry,
      }
    },
  }),
]
