/**
 * NAME      emails - sending and reading, and what happens to an email after it was accepted
 *   POST /v1/emails is the hot path: the body is parsed once, the record is rendered once, and the very text that is stored for
 *   a replay is what goes out. A batch is a list, or one template with what is each recipient's own: `strict` accepts all or
 *   nothing, `permissive` the good ones, either way by one verb of the store. Each item counts as one send: the first when the
 *   request came in, the rest after validation, all or none.
 *   Changing and cancelling scheduled mail compare and set against the dispatcher: exactly one of them wins. What was written is
 *   kept for `retention.bodies`, what came back for `retention.reports`; after that their octets answer 409, reason `body_gone`
 *   or `report_gone`, while the record lives on.
 */
import {
  Fault,
  type FieldError,
  invalid,
  orFault,
  readValid,
  throwInvalid,
  wrongBy,
} from '../../base/fault.js'
import { parseTime } from '../../base/moments.js'
import { ALL_EXTRAS } from '../../lifecycle/extras.js'
import type { Tag } from '../../lifecycle/facts.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import { parseQuery, type Query, readTag, type Term, termText } from '../../mail/query.js'
import type { Status } from '../../mail/status.js'
import { readKept } from '../../outcome/report.js'
import {
  acceptedRecord,
  emailRecord,
  lastWordsOf,
  listedEmail,
  NO_CONTENT,
  readContent,
} from '../../record/email.js'
import { event } from '../../record/event.js'
import { waitingInFull, waitingInShort } from '../../record/queue.js'
import { dayIn, zoneNamed } from '../../statistics/ask.js'
import type {
  EmailFilter,
  EmailRecord,
  EmailRow,
  FoundPage,
  RescheduleResult,
} from '../../store/port/mail.js'
import { nullWhenMissing } from '../../store/port/upkeep.js'
import { readSchedule, toDraft, type WireDraft } from '../../submission/draft.js'
import { demandReadable } from '../../submission/own-mail.js'
import type { BatchItem } from '../../submission/prepare.js'
import { rulesOf } from '../../submission/submit.js'
import { readMode, requireSession, seesBodies, seesSubjects, sendingAs } from '../../tenant/principal.js'
import { waitingOf } from '../../tenant/waiting.js'
import type { HttpDeps } from '../deps.js'
import { alsoWrong, isMerge, readDraft, readMerge } from '../drafts.js'
import {
  ANYBODY,
  type Answer,
  asSeenBy,
  type Call,
  GET,
  listAnswer,
  listing,
  PATCH,
  POST,
  param,
  type RouteRow,
  scopeOf,
} from '../endpoint.js'
import { contentOf, idempotencyOf, REPLAYED, readLarge } from '../sends.js'
import type { TypeOf } from '../shapes/common.js'
import {
  acceptedEmailShape,
  attachmentListShape,
  attachmentQuery,
  batchBody,
  batchShape,
  type EmailQuery,
  emailListShape,
  emailQuery,
  emailShape,
  type MergeBody,
  nothingShape,
  oneQuery,
  rescheduleShape,
  resendShape,
  type SendQuery,
  sendBody,
  sendQuery,
  sourceShape,
} from '../shapes/emails.js'
import { headerValue, readTime } from '../wire/values.js'
import { eventShape } from './events.js'

const isPermissive = (call: Call): boolean => {
  const value = headerValue(call.req, 'x-batch-validation') ?? 'strict'
  if (value === 'strict' || value === 'permissive') return value === 'permissive'
  const message = '"x-batch-validation" must be strict or permissive'
  throw invalid([{ field: 'header.x-batch-validation', message, kind: 'unsupported' }])
}

type BatchBody = readonly unknown[] | MergeBody

/** Its items: read here, or composed already in the bodies' thread. */
const itemsOf = async (deps: HttpDeps, call: Call<SendQuery, BatchBody>, variant: string) => {
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
  body: batchBody,
  headers: {
    'Idempotency-Key': 'Any unique string of 1 to 256 bytes',
    'X-Batch-Validation': 'strict (default) or permissive',
  },
  answers: { 202: batchShape },
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
    throwInvalid(errors)
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

const findEmail = async ({ store }: HttpDeps, call: Call): Promise<EmailRecord> =>
  orFault(await store.email(scopeOf(call), param(call, 'id')), 'email.not_found')

/** Why mails wait, and how this caller is told. */
const waitingFor = async (deps: HttpDeps, { principal }: Call, rows: readonly EmailRow[]) => {
  const { store, clock, relay } = deps
  const view = relay?.view() ?? null
  const show = principal.scope === 'platform' ? waitingInFull : waitingInShort
  return { of: await waitingOf({ store, clock, view }, principal.accountId, rows), show }
}

/** An email in full, as every endpoint that answers one shows it. */
const fullEmail = async (deps: HttpDeps, call: Call, record: EmailRecord, withContent = true) => {
  const { of, show } = await waitingFor(deps, call, [record])
  const mayRead = seesBodies(call.principal, deps.config.identity.viewers_see)
  const content =
    withContent && mayRead ? await readContent(deps.store, record, (raw) => contentOf(deps, raw)) : NO_CONTENT
  const full = asSeenBy(deps, call)(emailRecord(record, content, of(record.id), show))
  return mayRead ? full : { ...full, attachments: null }
}

/** What is to be sent: read here, or composed already in the bodies' thread. */
const draftOf = async (deps: HttpDeps, call: Call<SendQuery, WireDraft>) => {
  const { large } = call
  if (large === null) return { draft: toDraft(call.body), idempotency: await idempotencyOf(call) }
  const { items, idempotency } = await readLarge(deps, { ...call, large }, 'one')
  const [draft] = items
  if (draft === undefined || 'errors' in draft) throw new Error('the thread gave no email')
  return { draft, idempotency }
}

const tagOf = (text: string | undefined): Tag | null => {
  if (text === undefined) return null
  const { name, value } = readTag(text)
  return { name, value: value ?? '' }
}

const readFilter = (
  { principal, workspace }: Pick<Call, 'principal' | 'workspace'>,
  query: EmailQuery,
  errors: FieldError[],
): EmailFilter => ({
  accountId: principal.accountId,
  workspaceId: workspace?.id ?? null,
  mode: readMode(principal, query.mode, errors),
  status: (query.status as Status | undefined) ?? null,
  to: query.to?.toLowerCase() ?? null,
  tag: tagOf(query.tag),
  createdAfter: readTime('query.created_after', query.created_after, errors),
  createdBefore: readTime('query.created_before', query.created_before, errors),
})

interface Asked {
  readonly filter: EmailFilter
  /** Null where nothing is searched for. */
  readonly query: Query | null
}

/** The filters and the text of a search field together; adds to `errors` all that is wrong. */
export const readAsked = (
  call: Pick<Call, 'principal' | 'workspace'>,
  asked: EmailQuery,
  errors: FieldError[],
): Asked => {
  const filter = readFilter(call, asked, errors)
  const zone = asked.tz === undefined ? 'UTC' : zoneNamed(asked.tz)
  if (zone === null)
    errors.push({
      field: 'query.tz',
      message: 'must be a time zone such as Europe/Berlin',
      kind: 'unsupported',
    })
  if (asked.q === undefined || asked.q.trim() === '') return { filter, query: null }
  const parsed = parseQuery(asked.q, { day: (text) => dayIn(zone ?? 'UTC', text), time: parseTime })
  if ('query' in parsed) return { filter, query: parsed.query }
  errors.push({ field: 'query.q', ...parsed.mistake })
  return { filter, query: null }
}

/** Of a file; the counts of recipients are in the records of NDJSON. */
const COLUMNS = [
  ...[
    'id',
    'created_at',
    'status',
    'last_event',
    'mode',
    'source',
    'workspace_id',
    'from',
    'to',
    'cc',
    'bcc',
  ],
  ...['subject', 'tags', 'message_id', 'scheduled_at', 'updated_at', ...ALL_EXTRAS.map(({ name }) => name)],
]

/** A page of mails, searched or listed. Who does not see subjects does not find by them. */
const pageOfMails = (
  { store, config }: Pick<HttpDeps, 'store' | 'config'>,
  { principal }: Pick<Call, 'principal'>,
  { filter, query }: Asked,
  page: Page,
): Promise<Rows<EmailRow> & Partial<FoundPage<EmailRow>>> =>
  query === null
    ? store.emails(filter, page)
    : store.searchEmails(
        {
          ...filter,
          query,
          subjects: seesSubjects(principal, config.identity.viewers_see),
        },
        page,
      )

export const emails: readonly RouteRow[] = [
  POST<SendQuery, WireDraft>('/v1/emails', {
    id: 'sendEmail',
    cli: 'send',
    summary: 'Send an email, now or later',
    description:
      'Accepted mail is stored before this answers, then relayed by the pool of the workspace. Counts as one send, also when it is refused. With an Idempotency-Key, the same request within 24 hours gives the same answer and no second mail. Mail of a test-mode key ends in the sandbox. Suppressed recipients are accepted, and bounce with the reason `suppressed`. In `headers`, tags of other providers are read and their control fields cut; one that asks for another time, other people or no mail at all is refused.',
    access: 'any',
    workspace: 'required',
    sends: true,
    large: true,
    locates: true,
    query: sendQuery,
    body: sendBody,
    headers: { 'Idempotency-Key': 'Any unique string of 1 to 256 bytes' },
    answers: { 202: acceptedEmailShape },
    faults: [
      'email.sender_not_allowed',
      'workspace.suspended',
      'idempotency.key_invalid',
      'idempotency.in_progress',
      'idempotency.body_mismatch',
    ],
    alsoWrong({ body, query }, told, { principal, workspace }, deps) {
      const errors: FieldError[] = []
      sendingAs(principal, query.mode, errors)
      return [...errors, ...alsoWrong(body, told, rulesOf(deps, workspace))]
    },
    async handle(call, deps) {
      const sender = readValid((errors) => sendingAs(call.principal, call.query.mode, errors))
      const { draft, idempotency } = await draftOf(deps, call)
      const answer = await deps.submission.submit(sender, call.workspace, draft, {
        idempotency,
        trace: call.trace,
        render: (records) => ({ status: 202, body: JSON.stringify(records.map(acceptedRecord)[0]) }),
      })
      const id = answer.records[0]?.id ?? (JSON.parse(answer.body) as { id: string }).id
      return {
        status: answer.status,
        body: answer.body,
        headers: { location: `/v1/emails/${id}`, ...(answer.replayed && REPLAYED) },
      }
    },
  }),
  GET('/v1/emails/{id}', {
    id: 'getEmail',
    cli: 'email show',
    summary: 'One email with its live delivery status',
    description:
      'The record with the state of every recipient and, while the body is kept, what was written. A key sees mail of its own mode only; an email of another mode or workspace is not found.',
    ...ANYBODY,
    query: oneQuery,
    answers: { 200: emailShape },
    faults: ['email.not_found'],
    handle: async (call, deps) => ({
      status: 200,
      body: await fullEmail(deps, call, await findEmail(deps, call), call.query.content !== 'false'),
    }),
  }),

  /** They are few, so they are paged here; as the client of another API asks for them. */
  GET<TypeOf<typeof attachmentQuery>, unknown>('/v1/emails/{id}/attachments', {
    id: 'listEmailAttachments',
    cli: 'email show',
    summary: 'What is attached to an email',
    description:
      'As the record of the email has it, in the order of the mail; what is in them stands in its `source`.',
    ...ANYBODY,
    query: attachmentQuery,
    answers: { 200: attachmentListShape },
    faults: ['email.not_found'],
    async handle(call, deps) {
      const full = await fullEmail(deps, call, await findEmail(deps, call))
      const all = (full.attachments ?? []).map((one, i) => ({
        id: String(i + 1),
        object: 'attachment',
        ...one,
      }))
      const { limit = '20', after, before } = call.query
      const index = (id: string): number => all.findIndex((one) => one.id === id)
      const [from, to] = [
        after === undefined ? 0 : index(after) + 1,
        before === undefined ? all.length : index(before),
      ]
      const wrong = after !== undefined && from === 0 ? 'after' : to < 0 ? 'before' : null
      if (wrong !== null)
        throw invalid([
          {
            field: `query.${wrong}`,
            kind: 'format',
            message: 'must be the id of an attachment of this email',
          },
        ])
      const wanted = all.slice(from, Math.max(from, to))
      const isBack = before !== undefined && after === undefined
      const data = isBack ? wanted.slice(-Number(limit)) : wanted.slice(0, Number(limit))
      return { status: 200, body: { object: 'list', data, has_more: wanted.length > data.length } }
    },
  }),
  GET<EmailQuery, unknown>('/v1/emails', {
    id: 'listEmails',
    cli: 'email list',
    summary: 'Emails, newest first',
    description:
      'Rows without bodies, attachments and recipients; with `q`, those that a search finds. Filters go together, and stay as they are while a cursor is followed. `prev_cursor` of the first page gives what was accepted since, however often it is asked.',
    ...ANYBODY,
    query: emailQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: emailListShape },
    faults: ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    alsoWrong: ({ query }, _, call) => wrongBy((errors) => readAsked(call, query, errors)),
    async handle(call, deps) {
      const asked = readValid((errors) => readAsked(call, call.query, errors))
      const { accountId: _, tag, ...rest } = asked.filter
      const searched = asked.query && { q: call.query.q ?? null, tz: call.query.tz ?? null }
      let unknown: readonly Term[] = []
      return listAnswer(deps, 'emails', call, COLUMNS, {
        query: call.query,
        filters: { ...rest, tag: tag && `${tag.name}:${tag.value}`, ...searched },
        fetch: async (page) => {
          const found = await pageOfMails(deps, call, asked, page)
          unknown = found.unknown ?? unknown
          const [{ of, show }, words] = await Promise.all([
            waitingFor(deps, call, found.rows),
            lastWordsOf(deps.store, found.rows),
          ])
          const rows = found.rows.map((row) => ({
            waiting: of(row.id).first,
            words: words.get(row.id),
            show,
            ...row,
          }))
          return { ...found, rows }
        },
        render: (row) => asSeenBy(deps, call)(listedEmail(row, row.waiting, row.words, row.show)),
        beside: () => (unknown.length === 0 ? {} : { unknown: unknown.map(termText) }),
      })
    },
  }),
]

const answer = async (deps: HttpDeps, call: Call, result: RescheduleResult): Promise<Answer> => {
  if (result === 'not_found') throw new Fault('email.not_found')
  if (result === 'not_scheduled') throw new Fault('resource.conflict', { reason: 'not_scheduled' })
  return { status: 200, body: await fullEmail(deps, call, await findEmail(deps, call)) }
}

const shared = {
  ...ANYBODY,
  answers: { 200: emailShape },
  faults: ['email.not_found', 'resource.conflict'],
} as const

export const emailActions: readonly RouteRow[] = [
  PATCH('/v1/emails/{id}', {
    ...shared,
    id: 'rescheduleEmail',
    cli: 'email reschedule',
    summary: 'Send a scheduled email at another time',
    description:
      'At most 30 days ahead. Mail whose time has come is no longer scheduled: 409 `resource.conflict`, reason `not_scheduled`.',
    body: rescheduleShape,
    alsoWrong: ({ body }, _, __, deps) =>
      wrongBy((errors) =>
        readSchedule(body.scheduled_at ?? null, deps.clock.now(), 'body.scheduled_at', errors),
      ),
    async handle(call, deps) {
      const now = deps.clock.now()
      const at = readValid(
        (errors) => readSchedule(call.body.scheduled_at, now, 'body.scheduled_at', errors) ?? now,
      )
      return answer(deps, call, await deps.store.reschedule(scopeOf(call), param(call, 'id'), at, now))
    },
  }),
  POST('/v1/emails/{id}/cancel', {
    ...shared,
    id: 'cancelEmail',
    cli: 'email cancel',
    summary: 'Do not send a scheduled email',
    description:
      'Asking again gives the same answer. Mail whose time has come is no longer scheduled: 409 `resource.conflict`, reason `not_scheduled`.',
    body: nothingShape,
    handle: async (call, deps) =>
      answer(deps, call, await deps.store.cancel(scopeOf(call), param(call, 'id'), deps.clock.now())),
  }),
  listing({
    id: 'listEmailEvents',
    cli: 'email events',
    path: '/v1/emails/{id}/events',
    summary: 'What happened to an email, newest first',
    description:
      'Acceptance, each attempt, and each report that came back, also those that changed nothing (`applied: false`).',
    ...ANYBODY,
    of: eventShape,
    faults: ['email.not_found'],
    async rows(call, deps) {
      const { id } = await findEmail(deps, call)
      return { name: `events ${id}`, fetch: (page) => deps.store.events(id, page), render: event }
    },
  }),
]

/** Somebody else wrote it: a browser must not show it as ours. */
const octets = (raw: Uint8Array, name: string) => ({
  status: 200,
  body: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength),
  headers: {
    'content-type': 'message/rfc822',
    'content-disposition': `attachment; filename="${name}.eml"`,
    'x-content-type-options': 'nosniff',
  },
})

export const keptMail: readonly RouteRow[] = [
  GET('/v1/emails/{id}/events/{event}/report', {
    id: 'getEventReport',
    cli: 'bounce show',
    summary: 'The bounce or other report behind an event, as it came',
    description:
      'The first 64 KiB of the mail that led to this event. It was written by somebody else, and may hold anything. Where none led to it, or it is older than `retention.reports`: 409 `resource.conflict`, reason `report_gone`; about the mail of an invitation, which nobody is shown, reason `invitation`.',
    ...ANYBODY,
    media: 'message/rfc822',
    answers: { 200: sourceShape },
    faults: ['email.not_found', 'event.not_found', 'resource.conflict'],
    async handle(call, deps) {
      const record = await findEmail(deps, call)
      demandReadable(record)
      const { id } = record
      const event = await deps.store.loggedEvent(call.principal.accountId, param(call, 'event'))
      if (event === null || event.emailId !== id) throw new Fault('event.not_found')
      return octets(await readKept(deps.store, id, event), event.id)
    },
  }),
  GET('/v1/emails/{id}/source', {
    id: 'getEmailSource',
    cli: 'email source',
    summary: 'The octets of an email, as they are relayed',
    description:
      'The message (RFC 5322) as it is handed to the upstream, before our own DKIM-Signature, and before the header is rewritten for a server without SMTPUTF8. There is no Bcc in it. Once the body is no longer kept: 409 `resource.conflict`, reason `body_gone`; of the mail of an invitation, which nobody is shown, reason `invitation`.',
    ...ANYBODY,
    media: 'message/rfc822',
    answers: { 200: sourceShape },
    faults: ['email.not_found', 'resource.conflict'],
    async handle(call, deps) {
      const record = await findEmail(deps, call)
      demandReadable(record)
      const { id } = record
      const raw = await deps.store.body(id).catch(nullWhenMissing)
      if (raw === null) throw new Fault('resource.conflict', { reason: 'body_gone' })
      return octets(raw, id)
    },
  }),
  POST('/v1/emails/{id}/resend', {
    id: 'resendEmail',
    cli: 'email resend',
    summary: 'Send an email once more',
    description:
      'A new mail of the same content, with `resent_from`, and with an id, a Message-ID, a Date and return paths of its own; a DKIM-Signature of the client over one of these is taken out. It goes to the recipients that bounced, or else to all of them; `to` names some of them, and for a session any address. Mode, workspace, pool and sender are those of the first mail, whoever asks; but with `release` true, for sessions alone, a mail of test mode becomes a live one, to addresses that `identity.release_to` of the settings names. The sender, the suspension of the workspace and suppressions are checked again. Counts as one send; Idempotency-Key as for a send. 409 `resource.conflict` with the reason `body_gone` when the body is no longer kept, `under_way` while one of those recipients still waits for the first mail, `system_mail` for a report of the gateway itself, `not_test` where a live mail is to be released.',
    ...ANYBODY,
    sends: true,
    locates: true,
    body: resendShape,
    headers: { 'Idempotency-Key': 'Any unique string of 1 to 256 bytes' },
    answers: { 202: acceptedEmailShape },
    faults: [
      'email.not_found',
      'auth.session_required',
      'resource.conflict',
      'email.sender_not_allowed',
      'workspace.suspended',
      'idempotency.key_invalid',
      'idempotency.in_progress',
      'idempotency.body_mismatch',
    ],
    async handle(call, deps) {
      const isRelease = call.body?.release === true
      if (isRelease) requireSession(call.principal)
      const record = await findEmail(deps, call)
      const wish = {
        record,
        store: deps.store,
        to: call.body?.to ?? null,
        toAnyone: call.principal.via === 'session',
        release: isRelease ? deps.config.identity.release_to : null,
      }
      const answer = await deps.submission.resend(wish, {
        idempotency: await idempotencyOf(call, record.id),
        trace: call.trace,
        render: (records) => ({ status: 202, body: JSON.stringify(records.map(acceptedRecord)[0]) }),
      })
      const { id } = answer.records[0] ?? (JSON.parse(answer.body) as { id: string })
      return {
        status: answer.status,
        body: answer.body,
        headers: { location: `/v1/emails/${id}`, ...(answer.replayed && REPLAYED) },
      }
    },
  }),
]
