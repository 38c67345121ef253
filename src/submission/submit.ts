/**
 * NAME      submit - drafts from the API into the queue
 * DESCRIPTION
 *   One path for one draft and for a batch: check all, then claim the idempotency
 *   key, then suppress, compose and accept in a single verb. A mistake in a draft
 *   is found before the key is claimed, so that a corrected request may use it.
 */
import { Fault, type FieldError, invalid, MOST_ERRORS } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import { isAscii, wireAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import type { NewEmail } from '../store/port.js'
import type { WorkspaceRow } from '../store/port-tenants.js'
import type { Principal } from '../tenant/principal.js'
import { newRecipient, type Party } from './addresses.js'
import { summarize } from './attachments.js'
import type {
  Answer,
  BatchFailure,
  BatchItem,
  BatchOptions,
  Draft,
  IdempotencyWish,
  Render,
  SubmitOptions,
} from './draft.js'
import {
  authorise,
  demandAccepting,
  demandSender,
  demandSize,
  type SubmissionGround,
  suppressedOf,
} from './ground.js'
import { once } from './idempotency.js'
import { toRecord } from './record.js'
import { type Checked, checkDraft, type Rules } from './validate.js'

const textOf = ({ text }: Party): string => text
const mailboxOf = ({ mailbox }: Party) => mailbox

const needsSmtpUtf8 = (checked: Checked): boolean =>
  !(
    checked.recipients.every(({ address }) => isAscii(address)) &&
    [checked.from, ...checked.replyTo].every(({ mailbox }) => isAscii(wireAddress(mailbox.address)))
  )

/** Composes a checked draft into a mail for the store. */
const toEmail = async (
  ground: SubmissionGround,
  principal: Principal,
  workspace: WorkspaceRow,
  checked: Checked,
  suppressed: ReadonlySet<string>,
  trace: string | null | undefined,
  now: number,
): Promise<NewEmail> => {
  const { from, subject, html, text, headers, attachments } = checked
  const id = newId('em', now)
  const messageId = `<${id}@${ground.config.hostname}>`
  const raw = await composeMessage({
    messageId,
    date: now,
    from: from.mailbox,
    to: checked.to.map(mailboxOf),
    cc: checked.cc.map(mailboxOf),
    replyTo: checked.replyTo.map(mailboxOf),
    subject,
    html,
    text,
    headers,
    attachments,
  })
  demandSize(ground, raw.length)
  return {
    id,
    accountId: workspace.accountId,
    workspaceId: workspace.id,
    mode: principal.mode,
    source: 'api',
    from: from.text,
    to: checked.to.map(textOf),
    cc: checked.cc.map(textOf),
    bcc: checked.bcc.map(textOf),
    replyTo: checked.replyTo.map(textOf),
    subject,
    tags: checked.tags,
    attachments: attachments.map(summarize),
    messageId,
    scheduledAt: checked.scheduledAt,
    createdAt: now,
    poolId: await ground.route(workspace, principal.mode),
    recipients: checked.recipients.map((one) => newRecipient(one, newRecipientId(now), suppressed)),
    raw,
    ignoreSuppressions: checked.ignoreSuppressions,
    needsSmtpUtf8: needsSmtpUtf8(checked),
    content: JSON.stringify({ html, text, headers }),
    envid: null,
    ret: null,
    trace,
  }
}

const NONE: ReadonlySet<string> = new Set()

interface Job {
  readonly principal: Principal
  readonly workspace: WorkspaceRow
  readonly drafts: readonly Checked[]
  readonly idempotency: IdempotencyWish | null
  readonly trace?: string | null | undefined
  readonly render: Render
}

/** Composes and accepts checked drafts, all or none, once per idempotency key. */
const acceptAll = (ground: SubmissionGround, job: Job): Promise<Answer> => {
  const { store, clock } = ground
  const { principal, workspace, drafts } = job
  const place = { workspaceId: workspace.id, mode: principal.mode }
  return once(store, job.idempotency, place, clock.now, async (ticket) => {
    const now = clock.now()
    const minded = drafts.filter(({ ignoreSuppressions }) => !ignoreSuppressions)
    const addresses = minded.flatMap(({ recipients }) => recipients.map(({ normal }) => normal))
    const suppressed = await suppressedOf(ground, place, addresses, now)
    const mails: NewEmail[] = []
    for (const checked of drafts) {
      const listed = checked.ignoreSuppressions ? NONE : suppressed
      mails.push(await toEmail(ground, principal, workspace, checked, listed, job.trace, now))
    }
    const records = mails.map(toRecord)
    const { status, body } = job.render(records)
    const idempotency = ticket === null ? null : { ...ticket, status, body }
    const result = await store.accept({ mails, idempotency, now })
    return result === 'lock_lost' ? null : { status, body, replayed: false, records }
  })
}

const rulesOf = ({ config, clock }: SubmissionGround, workspace: WorkspaceRow): Rules => ({
  defaultFrom: workspace.defaultFrom ?? config.default_from,
  recipients: config.limits.recipients,
  now: clock.now(),
})

/** One draft; resolves when the mail is on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const submit = async (
  ground: SubmissionGround,
  principal: Principal,
  place: WorkspaceRow | string | null,
  draft: Draft,
  options: SubmitOptions,
): Promise<Answer> => {
  demandAccepting(ground)
  const workspace = await authorise(ground, principal, place)
  const { checked, errors } = checkDraft(draft, rulesOf(ground, workspace))
  if (errors !== null) throw invalid(errors)
  await demandSender(ground, workspace, checked.from.mailbox.address)
  return acceptAll(ground, { principal, workspace, drafts: [checked], ...options })
}

const MOST_IN_BATCH = 100
/** Mistakes of one email that a permissive batch tells in its answer. */
const MOST_IN_WORDS = 10

/** One mistake as a sentence; some messages name their field already. */
const inWords = ({ field, message }: FieldError): string =>
  message.startsWith('"') ? message : `"${field.replace(/^body\[\d+\]\./, '')}" ${message}`

/** What is good in a batch and what is not, item by item. */
const sift = async (ground: SubmissionGround, workspace: WorkspaceRow, items: readonly BatchItem[]) => {
  const rules = rulesOf(ground, workspace)
  const drafts: Checked[] = []
  const errors: FieldError[] = []
  const failures: BatchFailure[] = []
  let omitted = 0
  const fail = (index: number, code: BatchFailure['code'], message: string) =>
    failures.push({ index, message, code })
  for (const [index, item] of items.entries()) {
    const verdict =
      'errors' in item ? { checked: null, errors: item.errors } : checkDraft(item, rules, `body[${index}]`)
    if (verdict.errors !== null) {
      const count = verdict.errors.length + (('omitted' in item && item.omitted) || 0)
      const told = verdict.errors.slice(0, MOST_ERRORS)
      errors.push(...told)
      omitted += count - told.length
      const words = told.slice(0, MOST_IN_WORDS).map(inWords)
      if (count > words.length) words.push(`and ${count - words.length} more`)
      fail(index, 'validation.request_invalid', words.join('; '))
      continue
    }
    try {
      await demandSender(ground, workspace, verdict.checked.from.mailbox.address)
      drafts.push(verdict.checked)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      fail(index, error.code, error.message)
    }
  }
  return { drafts, errors, omitted, failures }
}

/** Up to 100 drafts, all of them, or with `permissive` the good ones; else like submit. */
export const submitBatch = async (
  ground: SubmissionGround,
  principal: Principal,
  place: WorkspaceRow | string | null,
  items: readonly BatchItem[],
  options: BatchOptions,
): Promise<Answer> => {
  demandAccepting(ground)
  const workspace = await authorise(ground, principal, place)
  const most = Math.min(MOST_IN_BATCH, principal.limitPerMinute)
  if (items.length === 0)
    throw invalid([{ field: 'body', kind: 'empty', message: 'must hold 1 email or more' }])
  if (items.length > most) {
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${most} emails` }])
  }
  const { drafts, errors, omitted, failures } = await sift(ground, workspace, items)
  if (failures.length > 0 && !(options.permissive && drafts.length > 0)) {
    throw errors.length > 0 ? invalid(errors, omitted) : new Fault('email.sender_not_allowed')
  }
  if (drafts.length > 1) await options.charge(drafts.length - 1)
  return acceptAll(ground, {
    principal,
    workspace,
    drafts,
    idempotency: options.idempotency,
    trace: options.trace,
    render: (records) => options.render(records, failures),
  })
}
