/**
 * NAME      jobs - many mails at once
 *   All that a search finds, with a reason, as a job that goes on by itself and
 *   tells how far it is. It is about mail that was there when it was made.
 */
import { Fault, type FieldError, throwInvalid } from '../../base/fault.js'
import * as record from '../../record/email.js'
import type { JobRow } from '../../store/port/mail.js'
import { type BulkWish, beginJob, countMatched } from '../../submission/job-runner.js'
import { wrongReason } from '../../tenant/orders.js'
import { requirePlatform, seesSubjects } from '../../tenant/principal.js'
import type { HttpDeps } from '../deps.js'
import { type Call, GET, listing, POST, param, type RouteRow, WORKSPACES_TOO } from '../endpoint.js'
import { readAsked } from './emails.js'
import { type BulkBody, bulkBody, jobShape, previewShape } from './queue.js'

/** As this caller may see it: words that are searched are words of subjects. */
const seen =
  ({ config }: HttpDeps, { principal }: Pick<Call, 'principal'>) =>
  (row: JobRow): object =>
    record.job(seesSubjects(principal, config.identity.viewers_see) ? row : { ...row, q: null })

type Asking = Pick<Call, 'principal' | 'workspace'>

/** Which mails are meant; adds to `errors` all that is wrong. */
const filterOf = (call: Asking, body: Partial<BulkBody>, errors: FieldError[]): BulkWish['filter'] => {
  const wrong: FieldError[] = []
  const { filter, query } = readAsked(call, body, wrong)
  errors.push(...wrong.map((one) => ({ ...one, field: one.field.replace(/^query\./, 'body.') })))
  const { status, to, tag, created_after: after, created_before: before, mode } = body
  const isNarrow = query !== null || [status, to, tag, after, before, mode].some((one) => one != null)
  if (!isNarrow && wrong.length === 0 && body.all !== true)
    errors.push({
      field: 'body.q',
      kind: 'missing',
      message: 'must say which mails; all of them need "all": true',
    })
  const { accountId: _, ...rest } = filter
  return { ...rest, query: query ?? { terms: [], from: null, before: null }, subjects: true }
}

const wrongBulk = (call: Asking, body: Partial<BulkBody>): readonly FieldError[] => {
  const errors: FieldError[] = []
  filterOf(call, body, errors)
  return body.reason === undefined ? errors : [...errors, ...wrongReason(body.reason)]
}

const by = ({ principal: { actor } }: Call): BulkWish['by'] => ({ id: actor.id, name: actor.name })

/** The job that is named, when this caller may see it. */
const findJob = async ({ store }: HttpDeps, call: Call): Promise<JobRow> => {
  const job = await store.job(call.principal.accountId, param(call, 'id'))
  if (job === null || (call.workspace !== null && job.workspaceId !== call.workspace.id))
    throw new Fault('job.not_found')
  return job
}

export const jobs: readonly RouteRow[] = [
  POST<unknown, BulkBody>('/v1/emails/bulk', {
    ...WORKSPACES_TOO,
    id: 'bulkEmails',
    cli: 'email bulk',
    summary: 'Do something to all mails that a search finds',
    description:
      'Takes the `q` and the filters of the list of mails, in its body. Mail that comes later is not met, whenever the job comes to its end. With `dry_run` it only counts, up to 100,000 and for three seconds. Each mail is met once, also over a restart; what cannot be done to one is counted, and the others go on. Releasing is for live platform keys and sessions; the key of a workspace reaches its own mail.',
    locates: true,
    body: bulkBody,
    answers: { 200: previewShape, 202: jobShape },
    faults: ['auth.scope_forbidden'],
    alsoWrong: ({ body }, _, call) => wrongBulk(call, body),
    async handle(call, deps) {
      const { action, reason, q = null, dry_run: dryRun = false } = call.body
      if (action === 'release') requirePlatform(call.principal)
      throwInvalid(wrongBulk(call, call.body))
      const { accountId } = call.principal
      const wish: BulkWish = {
        accountId,
        action,
        reason,
        filter: filterOf(call, call.body, []),
        q,
        by: by(call),
      }
      if (dryRun) return { status: 200, body: record.jobPreview(action, await countMatched(deps, wish)) }
      const job = await beginJob(deps, wish)
      return { status: 202, body: record.job(job), headers: { location: `/v1/jobs/${job.id}` } }
    },
  }),
  listing({
    ...WORKSPACES_TOO,
    id: 'listJobs',
    cli: 'job list',
    path: '/v1/jobs',
    summary: 'What was done to many mails at once, newest first',
    description: 'Jobs that ended are kept for 30 days. The key of a workspace sees those of its own.',
    of: jobShape,
    rows(call, deps) {
      const workspaceId = call.workspace?.id ?? null
      return {
        filters: { workspaceId },
        fetch: (page) => deps.store.jobs(call.principal.accountId, page, workspaceId),
        render: seen(deps, call),
      }
    },
  }),
  GET('/v1/jobs/{id}', {
    ...WORKSPACES_TOO,
    id: 'getJob',
    cli: 'job show',
    summary: 'How far a job is',
    description:
      'The counts go on while it runs, after each step of 25 to 400 mails. Where `matched` is `at_least`, it counts on beside its work.',
    answers: { 200: jobShape },
    faults: ['job.not_found'],
    handle: async (call, deps) => ({ status: 200, body: seen(deps, call)(await findJob(deps, call)) }),
  }),
  POST('/v1/jobs/{id}/cancel', {
    ...WORKSPACES_TOO,
    id: 'cancelJob',
    cli: 'job cancel',
    summary: 'End a job that runs',
    description:
      'What it has done stays done, and the mails of the step that is under way (25 to 400) may be met. One that has ended answers as it is.',
    answers: { 200: jobShape },
    faults: ['job.not_found'],
    async handle(call, deps) {
      const { accountId, id } = await findJob(deps, call)
      await deps.store.cancelJob(accountId, id, deps.clock.now())
      return { status: 200, body: seen(deps, call)(await findJob(deps, call)) }
    },
  }),
]
