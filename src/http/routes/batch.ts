/**
 * NAME      batch - up to a hundred emails in one request
 * DESCRIPTION
 *   A list of them, or one template with what is each recipient's own.
 *   `x-batch-validation: strict` (the default) accepts all or nothing; `permissive`
 *   accepts the good ones and lists the others by their index. Either way one verb
 *   of the store. Each item counts as one send: the first when the request came in,
 *   the rest after validation, all or none.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import type { BatchItem } from '../../submission/prepare.js'
import { rulesOf } from '../../submission/submit.js'
import { sendingAs } from '../../tenant/principal.js'
import type { Deps } from '../deps.js'
import { readDraft } from '../drafts.js'
import { type Call, POST, type RouteRow } from '../endpoint.js'
import { isMerge, readMerge } from '../merge.js'
import { idempotencyOf, REPLAYED, readLarge } from '../sends.js'
import * as shapes from '../shapes/emails.js'
import { type SendQuery, sendQuery } from '../shapes/emails.js'
import { headerValue } from '../wire/values.js'

const isPermissive = (call: Call): boolean => {
  const value = headerValue(call.req, 'x-batch-validation') ?? 'strict'
  if (value === 'strict' || value === 'permissive') return value === 'permissive'
  const message = '"x-batch-validation" must be strict or permissive'
  throw invalid([{ field: 'header.x-batch-validation', message, kind: 'unsupported' }])
}

type BatchBody = readonly unknown[] | shapes.MergeBody

/** Its items: read here, or composed already in the bodies' thread. */
const itemsOf = async (deps: Deps, call: Call<SendQuery, BatchBody>, variant: string) => {
  const { large, body, workspace, principal } = call
  if (large !== null) return readLarge(deps, { ...call, large }, 'many', variant)
  const rules = rulesOf(deps, workspace)
  const items: readonly BatchItem[] = isMerge(body)
    ? await readMerge(body, rules, principal.limitPerMinute)
    : body.map((one, i) => readDraft(one, rules, `body[${i}]`))
  return { items, idempotency: await idempotencyOf(call, variant) }
}

export const batch: RouteRow = POST<SendQuery, BatchBody>('/v1/emails/batch', {
  id: 'sendBatch',
  cli: { none: 'a shell has loops, and one command sends one mail' },
  summary: 'Send up to 100 emails',
  description:
    'A list of emails, or one `template` with `recipients` and the variables of each: one mail for each of them. All or none by default; with `X-Batch-Validation: permissive` the good ones are accepted and `errors` names the others by their index. Each item counts as one send.',
  access: 'any',
  workspace: 'required',
  sends: true,
  large: true,
  query: sendQuery,
  body: shapes.batchBody,
  headers: {
    'Idempotency-Key': 'Any unique string of 1 to 256 bytes',
    'X-Batch-Validation': 'strict (default) or permissive',
  },
  answers: { 202: shapes.batch },
  faults: [
    'email.sender_not_allowed',
    'workspace.suspended',
    'idempotency.key_invalid',
    'idempotency.in_progress',
    'idempotency.body_mismatch',
  ],
  async handle(call, deps) {
    const permissive = isPermissive(call)
    const errors: FieldError[] = []
    const sender = sendingAs(call.principal, call.query.mode, errors)
    if (errors.length > 0) throw invalid(errors)
    const { items, idempotency } = await itemsOf(deps, call, permissive ? 'permissive' : 'strict')
    const answer = await deps.submission.submitBatch(sender, call.workspace, items, {
      idempotency,
      permissive,
      trace: call.trace,
      charge: call.spend,
      render: (records, errors) => {
        const data = records.map(({ id }) => ({ id }))
        return {
          status: 202,
          body: JSON.stringify({ object: 'batch', data, ...(permissive && { errors }) }),
        }
      },
    })
    return { status: answer.status, body: answer.body, headers: answer.replayed ? REPLAYED : {} }
  },
})
