/**
 * NAME      submit - from the doors into the queue
 * DESCRIPTION
 *   One path for a draft, a batch of them and a message of SMTP: prepare all, then claim the idempotency
 *   key, then suppress, route and accept in a single verb. A mistake in a draft
 *   is found before the key is claimed, so that a corrected request may use it.
 */
import { andThen } from '../base/and-then.js'
import { Fault, type FieldError, invalid, MOST_ERRORS } from '../base/fault.js'
import { submissionFingerprint } from '../mail/parse.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { Login, Principal } from '../tenant/principal.js'
import { authorise, decide, demand, demandAccepting, type SubmissionDeps } from './deps.js'
import {
  type Answer,
  type BatchFailure,
  type BatchOptions,
  type Draft,
  demandSize,
  type SubmitOptions,
} from './draft.js'
import { checkIdempotencyKey } from './idempotency.js'
import {
  type BatchItem,
  type EnvelopedMessage,
  type Prepared,
  prepare,
  submitterOf,
  toRecord,
} from './prepare.js'
import { demandSenders, type Job, storeMails } from './store-mails.js'
import type { Rules } from './validate.js'

/** What a draft from this workspace must fulfil. */
export const rulesOf = (
  { config, clock }: Pick<SubmissionDeps, 'config' | 'clock'>,
  workspace: WorkspaceRow | null,
): Rules => ({
  hostname: config.hostname,
  lineEndings: workspace?.lineEndings ?? 'normalize',
  defaultFrom: workspace?.defaultFrom ?? config.default_from,
  recipients: config.limits.recipients,
  messageSize: config.limits.message_size,
  now: clock.now(),
})

/** Those of a caller, once they are prepared. */
const jobOf = (
  deps: SubmissionDeps,
  principal: Principal,
  workspace: WorkspaceRow,
  mails: readonly Prepared[],
): Pick<Job, 'workspace' | 'mode' | 'submittedBy' | 'decide' | 'make'> => ({
  workspace,
  mode: principal.mode,
  submittedBy: submitterOf(principal),
  decide: () => decide(deps, principal, workspace),
  make: () => mails,
})

/** As a door of the API answers it. */
export const rendering =
  (render: SubmitOptions['render']): Job['render'] =>
  (mails) => {
    const records = mails.map(toRecord)
    return { records, ...render(records) }
  }

type Begun = Pick<Job, 'workspace' | 'standing'>

/** Without a key its standing, too: a large body is read for seconds, so what its workspace allows is asked after that. */
const begin = (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  { idempotency }: Pick<SubmitOptions, 'idempotency'>,
): Begun | Promise<Begun> => {
  demandAccepting(deps)
  return andThen(authorise(deps, principal, place), (at): Begun | Promise<Begun> => {
    if (idempotency !== null) return { workspace: at, standing: null }
    return andThen(decide(deps, principal, at), (decided) => {
      const standing = demand(decided)
      return { workspace: standing.workspace, standing }
    })
  })
}

/** One draft; resolves when the mail is on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const submit = async (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  draft: Draft | Prepared,
  { idempotency, trace, render }: SubmitOptions,
): Promise<Answer> => {
  const beginning = begin(deps, principal, place, { idempotency })
  const { workspace, standing } = beginning instanceof Promise ? await beginning : beginning
  const preparing = 'raw' in draft ? draft : prepare(draft, rulesOf(deps, workspace))
  const made = preparing instanceof Promise ? await preparing : preparing
  if ('errors' in made) throw invalid(made.errors, made.omitted)
  if (workspace.restrictSenders) await demandSenders(deps, workspace, [made])
  const job = jobOf(deps, principal, workspace, [made])
  return storeMails(deps, { ...job, standing, idempotency, trace, render: rendering(render) })
}

export interface MessageAnswer {
  /** The email id for `250 … queued as`. */
  readonly id: string
  readonly replayed: boolean
}

/** All that is wrong, as one reply of SMTP says it. */
const inOneLine = (errors: readonly FieldError[]): Fault => {
  const detail = errors.map(({ message }) => message).join('; ')
  return new Fault('validation.request_invalid', { ...invalid(errors).options, detail })
}

/** Resolves when the mail is on disk, or was there before under the same key; throws the Fault to answer with. */
export const submitMessage = async (
  deps: SubmissionDeps,
  login: Login,
  message: EnvelopedMessage,
): Promise<MessageAnswer> => {
  demandAccepting(deps)
  demandSize(deps.config.limits.message_size, message.raw.length)
  // the session may have begun before its workspace got another pool, or took mail of its own senders alone
  const deciding = decide(deps, login, login.workspace)
  const decided = deciding instanceof Promise ? await deciding : deciding
  const workspace = decided instanceof Fault ? login.workspace : decided.workspace
  const preparing = prepare(message, rulesOf(deps, workspace))
  const made = preparing instanceof Promise ? await preparing : preparing
  if ('errors' in made) throw inOneLine(made.errors)
  if (workspace.restrictSenders) await demandSenders(deps, workspace, [made])
  const { keyed } = made
  const normals = made.recipients.map(({ normal }) => normal)
  const idempotency = keyed && {
    key: checkIdempotencyKey(keyed.key),
    fingerprint: await submissionFingerprint(keyed.raw, normals),
  }
  const { body: id, replayed } = await storeMails(deps, {
    ...jobOf(deps, login, workspace, [made]),
    standing: idempotency === undefined ? demand(decided) : null,
    idempotency: idempotency ?? null,
    trace: message.trace,
    render: ([mail]) => ({ status: 250, body: mail?.id ?? '', records: [] }),
  })
  return { id, replayed }
}

const MOST_IN_BATCH = 100
/** Mistakes of one email that a permissive batch tells in its answer. */
const MOST_IN_WORDS = 10

/** One mistake as a sentence; some messages name their field already. */
const inWords = ({ field, message }: FieldError): string =>
  message.startsWith('"') ? message : `"${field.replace(/^body\[\d+\]\./, '')}" ${message}`

/** All that is wrong with one item, in words. */
const allInWords = (errors: readonly FieldError[], count: number): string => {
  const words = errors.slice(0, MOST_IN_WORDS).map(inWords)
  return [...words, ...(count > words.length ? [`and ${count - words.length} more`] : [])].join('; ')
}

/** What is good in a batch and what is not, item by item. */
const judgeAll = async (deps: SubmissionDeps, workspace: WorkspaceRow, items: readonly BatchItem[]) => {
  const rules = rulesOf(deps, workspace)
  const mails: Prepared[] = []
  const errors: FieldError[] = []
  const failures: BatchFailure[] = []
  let omitted = 0
  const fail = (index: number, code: BatchFailure['code'], message: string) =>
    failures.push({ index, message, code })
  for (const [index, item] of items.entries()) {
    const isJudged = 'errors' in item || 'raw' in item
    const judged = isJudged ? item : await prepare(item, rules, `body[${index}]`)
    if ('errors' in judged) {
      const told = judged.errors.slice(0, MOST_ERRORS)
      const count = judged.errors.length + (judged.omitted ?? 0)
      errors.push(...told)
      omitted += count - told.length
      fail(index, 'validation.request_invalid', allInWords(told, count))
      continue
    }
    try {
      await demandSenders(deps, workspace, [judged])
      mails.push(judged)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      fail(index, error.code, error.message)
    }
  }
  return { mails, errors, omitted, failures }
}

/** Up to 100 drafts, all of them, or with `permissive` the good ones; else like submit. */
export const submitBatch = async (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  items: readonly BatchItem[],
  options: BatchOptions,
): Promise<Answer> => {
  const { workspace, standing } = await begin(deps, principal, place, options)
  const most = Math.min(MOST_IN_BATCH, principal.limitPerMinute)
  if (items.length === 0)
    throw invalid([{ field: 'body', kind: 'empty', message: 'must hold 1 email or more' }])
  if (items.length > most) {
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${most} emails` }])
  }
  const { mails, errors, omitted, failures } = await judgeAll(deps, workspace, items)
  if (failures.length > 0 && !(options.permissive && mails.length > 0)) {
    throw errors.length > 0 ? invalid(errors, omitted) : new Fault('email.sender_not_allowed')
  }
  if (mails.length > 1) await options.charge(mails.length - 1)
  const { idempotency, trace } = options
  const render = rendering((records) => options.render(records, failures))
  const job = jobOf(deps, principal, workspace, mails)
  return storeMails(deps, { ...job, standing, idempotency, trace, render })
}
