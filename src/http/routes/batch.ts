/**
 * NAME      batch - up to a hundred emails in one request
 * DESCRIPTION
 *   `x-batch-validation: strict` (the default) accepts all or nothing; `permissive`
 *   accepts the good ones and lists the others by their index. Either way one verb
 *   of the store. Each item counts as one send: the first when the request came in,
 *   the rest after validation, all or none.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import { toDraft, type WireDraft } from '../../submission/draft.js'
import type { BatchFailure } from '../../submission/submission.js'
import { check } from '../check.js'
import { type Call, type Endpoint, endpoint, headerValue } from '../endpoint.js'
import { spend } from '../gate.js'
import type { Ground } from '../ground.js'
import { idempotencyOf, REPLAYED } from '../idempotency.js'
import { sendBody } from '../shapes/email.js'
import * as shapes from '../shapes/email-action.js'

const isPermissive = (call: Call): boolean => {
  const value = headerValue(call.req, 'x-batch-validation') ?? 'strict'
  if (value === 'strict' || value === 'permissive') return value === 'permissive'
  const message = '"x-batch-validation" must be strict or permissive'
  throw invalid([{ field: 'header.x-batch-validation', message, kind: 'unsupported' }])
}

interface Sorted {
  readonly good: readonly { readonly index: number; readonly body: WireDraft }[]
  readonly bad: readonly BatchFailure[]
  readonly errors: readonly FieldError[]
}

/** The items with the right shape, and what is wrong with the others. */
const sort = (items: readonly unknown[]): Sorted => {
  const checked = items.map((item) => check('body', sendBody.required(), item))
  const errors: FieldError[] = []
  const bad: BatchFailure[] = []
  const good: { index: number; body: WireDraft }[] = []
  checked.forEach((one, index) => {
    if (one.errors === null) {
      good.push({ index, body: one.value })
      return
    }
    errors.push(
      ...one.errors.map((error) => ({ ...error, field: error.field.replace(/^body/, `body[${index}]`) })),
    )
    const message = one.errors.map((error) => error.message).join('; ')
    bad.push({ index, message, code: 'validation.request_invalid' })
  })
  return { good, bad, errors }
}

export const batch = (ground: Ground): Endpoint =>
  endpoint<unknown, readonly unknown[]>({
    id: 'sendBatch',
    method: 'POST',
    path: '/v1/emails/batch',
    summary: 'Send up to 100 emails',
    access: 'any',
    workspace: 'required',
    sends: true,
    body: shapes.batchBody,
    headers: {
      'Idempotency-Key': 'Any unique string of 1 to 256 bytes',
      'X-Batch-Validation': 'strict (default) or permissive',
    },
    answers: { 202: shapes.batch },
    faults: [
      'email.sender_not_allowed',
      'idempotency.key_invalid',
      'idempotency.in_progress',
      'idempotency.body_mismatch',
    ],
    async handle(call) {
      const permissive = isPermissive(call)
      const cap = Math.min(shapes.BATCH_MAX, call.principal.limitPerMinute)
      if (call.body.length > cap) {
        throw invalid([{ field: 'body', message: `at most ${cap} emails in one batch`, kind: 'too_many' }])
      }
      const { good, bad, errors } = sort(call.body)
      if (errors.length > 0 && (!permissive || good.length === 0)) throw invalid(errors)
      const answer = await ground.submission.submitBatch(
        call.principal,
        call.workspace,
        good.map(({ body }) => toDraft(body)),
        {
          idempotency: idempotencyOf(call, permissive ? 'permissive' : 'strict'),
          permissive,
          charge: (n) => spend(ground.tenants, call.request, call.principal, n),
          render: (records, failures) => {
            const failed = failures.map((one) => ({ ...one, index: good[one.index]?.index ?? one.index }))
            const listed = [...bad, ...failed].sort((a, b) => a.index - b.index)
            const data = records.map(({ id }) => ({ id }))
            return {
              status: 202,
              body: JSON.stringify({ object: 'batch', data, ...(permissive && { errors: listed }) }),
            }
          },
        },
      )
      return { status: answer.status, body: answer.body, headers: answer.replayed ? REPLAYED : {} }
    },
  })
