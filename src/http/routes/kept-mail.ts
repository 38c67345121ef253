/**
 * NAME      kept-mail - the octets of a mail: shown, and sent once more; those of a report about it
 * DESCRIPTION
 *   What was written is kept for `retention.bodies`, and what came back for `retention.reports`; after that
 *   they answer 409, reason `body_gone` or `report_gone`, while the record lives on.
 */
import { Fault } from '../../base/fault.js'
import { readKept } from '../../outcome/kept-report.js'
import { acceptedRecord } from '../../record/email.js'
import { nullWhenMissing } from '../../store/port/upkeep.js'
import { demandReadable } from '../../submission/own/invitation-mail.js'
import { requireSession } from '../../tenant/principal.js'
import type { Deps } from '../deps.js'
import { type Endpoint, endpoint, param } from '../endpoint.js'
import { idempotencyOf, REPLAYED } from '../idempotency.js'
import { acceptedEmail } from '../shapes/email.js'
import * as shapes from '../shapes/email-action.js'
import { findEmail } from './emails.js'

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

const report = (deps: Deps): Endpoint =>
  endpoint({
    id: 'getEventReport',
    method: 'GET',
    path: '/v1/emails/{id}/events/{event}/report',
    summary: 'The bounce or other report behind an event, as it came',
    description:
      'The first 64 KiB of the mail that led to this event. It was written by somebody else, and may hold anything. Where none led to it, or it is older than `retention.reports`: 409 `resource.conflict`, reason `report_gone`; about the mail of an invitation, which nobody is shown, reason `invitation`.',
    access: 'any',
    workspace: 'optional',
    media: 'message/rfc822',
    answers: { 200: shapes.source },
    faults: ['email.not_found', 'event.not_found', 'resource.conflict'],
    async handle(call) {
      const record = await findEmail(deps, call)
      demandReadable(record)
      const { id } = record
      const event = await deps.store.loggedEvent(call.principal.accountId, param(call, 'event'))
      if (event === null || event.emailId !== id) throw new Fault('event.not_found')
      return octets(await readKept(deps.store, id, event), event.id)
    },
  })

const source = (deps: Deps): readonly Endpoint[] => [
  report(deps),
  endpoint({
    id: 'getEmailSource',
    method: 'GET',
    path: '/v1/emails/{id}/source',
    summary: 'The octets of an email, as they are relayed',
    description:
      'The message (RFC 5322) as it is handed to the upstream, before our own DKIM-Signature, and before the header is rewritten for a server without SMTPUTF8. There is no Bcc in it. Once the body is no longer kept: 409 `resource.conflict`, reason `body_gone`; of the mail of an invitation, which nobody is shown, reason `invitation`.',
    access: 'any',
    workspace: 'optional',
    media: 'message/rfc822',
    answers: { 200: shapes.source },
    faults: ['email.not_found', 'resource.conflict'],
    async handle(call) {
      const record = await findEmail(deps, call)
      demandReadable(record)
      const { id } = record
      const raw = await deps.store.body(id).catch(nullWhenMissing)
      if (raw === null) throw new Fault('resource.conflict', { reason: 'body_gone' })
      return octets(raw, id)
    },
  }),
]

const resending = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    id: 'resendEmail',
    method: 'POST',
    path: '/v1/emails/{id}/resend',
    summary: 'Send an email once more',
    description:
      'A new mail of the same content, with `resent_from`, and with an id, a Message-ID, a Date and return paths of its own; a DKIM-Signature of the client over one of these is taken out. It goes to the recipients that bounced, or else to all of them; `to` names some of them, and for a session any address. Mode, workspace, pool and sender are those of the first mail, whoever asks; but with `release` true, for sessions alone, a mail of test mode becomes a live one, to addresses that `identity.release_to` of the settings names. The sender, the suspension of the workspace and suppressions are checked again. Counts as one send; Idempotency-Key as for a send. 409 `resource.conflict` with the reason `body_gone` when the body is no longer kept, `under_way` while one of those recipients still waits for the first mail, `system_mail` for a report of the gateway itself, `not_test` where a live mail is to be released.',
    access: 'any',
    workspace: 'optional',
    sends: true,
    locates: true,
    body: shapes.resend,
    headers: { 'Idempotency-Key': 'Any unique string of 1 to 256 bytes' },
    answers: { 202: acceptedEmail },
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
    async handle(call) {
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

export const keptMail = (deps: Deps): readonly Endpoint[] => [...source(deps), ...resending(deps)]
