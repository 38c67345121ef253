/**
 * NAME      routes - the endpoints of other providers, below /v1/as
 *   As POST /v1/emails and its batch, in other words: the same rates, keys for repeated requests, limits and rules. All mails
 *   of a request count, or the request is refused. They are in no document of ours, since their contract is the provider's;
 *   config/DIALECTS.md says of each member what becomes of it.
 */
import { type FieldError, throwInvalid } from '../../base/fault.js'
import { rulesOf } from '../../submission/submit.js'
import type { HttpDeps } from '../deps.js'
import type { DraftItem } from '../drafts.js'
import { type Call, POST, type RouteRow } from '../endpoint.js'
import { idempotencyOf, REPLAYED, readLarge } from '../sends.js'
import type { Dialect, DialectCall, Failure } from './dialect.js'
import { DIALECTS, readSpoken, type Spoken } from './reading.js'

const readAll = async (deps: HttpDeps, given: Call, spoken: Spoken) => {
  const { repeatOf } = DIALECTS[spoken.dialect]
  const call = { ...given, ...(repeatOf && { repeatOf }) }
  const { large, sent, workspace, principal } = call
  if (large !== null) return readLarge(deps, { ...call, large }, spoken)
  const read = await readSpoken(spoken, sent, rulesOf(deps, workspace), principal.limitPerMinute)
  return { ...read, idempotency: await idempotencyOf({ ...call, sent: read.said }) }
}

/** What is wrong with all of them; what each says of what they share, once. */
const mistakesIn = (items: readonly DraftItem[]): readonly FieldError[] => {
  const errors = items.flatMap((one) => ('errors' in one ? one.errors : []))
  return [...new Map(errors.map((one) => [`${one.field} ${one.message}`, one])).values()]
}

const idOf = ({ idHeader }: Dialect, requestId: string) =>
  idHeader === undefined ? {} : { [idHeader]: requestId }

const sendAs = (dialect: Dialect, shape: DialectCall): RouteRow =>
  POST<unknown, unknown>(`/v1/as/${dialect.name}${shape.path}`, {
    id: shape.most === 1 ? 'sendEmail' : 'sendBatch',
    cli: { none: 'for clients of other providers' },
    summary: shape.summary,
    description: `In the words of ${dialect.provider}.`,
    access: 'workspace',
    workspace: 'required',
    dialect,
    // a trial is stored by nobody, so nothing would compare the rows that it was let in by
    ...(shape.isPlain && { isPlain: (body) => shape.isPlain?.(body) === true && !shape.isTrial?.(body) }),
    ...(shape.isLong && { isLong: shape.isLong }),
    sends: true,
    large: true,
    answers: {},
    async handle(call, deps) {
      const { requestId, principal, workspace } = call
      const tags = dialect.tagOf === undefined ? [] : [dialect.tagOf(requestId)]
      const spoken = {
        ...{ dialect: dialect.name, path: shape.path, tags },
        domain: call.params.domain ?? null,
        form: dialect.forms ? (call.req.headers['content-type'] ?? '') : null,
      }
      const { items, idempotency, isTrial } = await readAll(deps, call, spoken)
      throwInvalid(shape.each ? [] : mistakesIn(items))
      if (isTrial) return { status: 200, body: shape.tried?.(requestId) ?? '' }
      const errorsOf = (index: number): Failure['errors'] => {
        const item = items[index]
        return item !== undefined && 'errors' in item ? item.errors : []
      }
      const answer = await deps.submission.submitBatch(principal, workspace, items, {
        idempotency,
        most: shape.most,
        permissive: shape.each,
        mayBeEmpty: shape.each,
        trace: call.trace,
        charge: call.spend,
        render: (records, failures) => {
          const failed = failures.map((one) => ({ ...one, errors: errorsOf(one.index) }))
          return { status: 200, body: shape.keep(records, failed, requestId) }
        },
      })
      const said = shape.answer(answer.body)
      const told = { ...said.headers, ...idOf(dialect, requestId), ...(answer.replayed && REPLAYED) }
      return { ...said, headers: told }
    },
  })

export const dialects = (names: readonly Dialect['name'][]): readonly RouteRow[] =>
  names.map((name) => DIALECTS[name]).flatMap((one) => one.calls.map((call) => sendAs(one, call)))
