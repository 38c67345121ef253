/**
 * NAME      submit - from the doors into the queue
 *   One path for a draft, a batch of them and a message of SMTP: prepare all, then claim the idempotency key, then
 *   suppress, route and accept in a single verb. A mistake in a draft is found before the key is claimed, so that a
 *   corrected request may use it.
 *   The last step of every door. Where rows are at hand nothing is waited for before the store has the mail. It is
 *   stored only under the rules by which it was decided: if these are others by then, it is decided again, and not
 *   prepared again; nor is a rate counted or a lock taken a second time. An answer that is kept for its key must be
 *   written before the mail is, so lists of suppressions are asked first; if they say something else by then, it is
 *   written anew. Any other is written once it is known who was on a list. Stands round `store.accept`, the one verb by
 *   which mail comes in, whatever the door: it times the verb as a span under that of the request, and counts what was
 *   taken.
 */
import { andThen } from '../base/and-then.js'
import { Fault, type FieldError, invalid, invalidField, MOST_ERRORS } from '../base/fault.js'
import type { Spans } from '../base/trace.js'
import {
  type Acceptance,
  type AcceptResult,
  type IdempotentAnswer,
  isStored,
  type NewEmail,
} from '../lifecycle/facts.js'
import { entriesAgainst, entryOf, suppressionList } from '../lifecycle/suppress.js'
import { submissionFingerprint } from '../mail/parse.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { Login, Principal } from '../tenant/principal.js'
import {
  authorise,
  decide,
  demand,
  demandAccepting,
  demandSender,
  type SendStanding,
  type SubmissionDeps,
  type SubmissionStore,
} from './deps.js'
import {
  type BatchFailure,
  type BatchOptions,
  type Draft,
  demandSize,
  type IdempotencyWish,
  type Rendered,
  type SubmitAnswer,
  type SubmitOptions,
} from './draft.js'
import { checkIdempotencyKey, once } from './idempotency.js'
import {
  type BatchItem,
  type EnvelopedMessage,
  type MailOwner,
  type Prepared,
  prepare,
  submitterOf,
  toEmail,
  toRecord,
} from './prepare.js'
import { linked } from './unsubscribe.js'
import type { DraftRules, Listed } from './validate.js'

interface Job extends MailOwner {
  /** Whether its workspace and whoever sends may send now. */
  readonly decide: () => SendStanding | Fault | Promise<SendStanding | Fault>
  /** As decided just now, senders and all; null: not yet. With a key it is decided once that is claimed. */
  readonly standing: SendStanding | null
  readonly idempotency: IdempotencyWish | null
  readonly make: () => readonly Prepared[] | Promise<readonly Prepared[]>
  /** In place of that of the workspace. */
  readonly poolId?: string | undefined
  readonly render: (mails: readonly NewEmail[]) => Rendered & Pick<SubmitAnswer, 'records'>
}

type Ticket = Omit<IdempotentAnswer, keyof Rendered>

const NONE: Listed = new Set()
/** Tries that are compared, and all of them: lists of suppressions may move under each. */
const COMPARED = 3
const MOST = 10

/** Throws email.sender_not_allowed. */
const demandSenders = async (
  deps: SubmissionDeps,
  workspace: WorkspaceRow,
  mails: readonly Prepared[],
): Promise<void> => {
  if (!workspace.restrictSenders) return
  for (const { senders } of mails) for (const one of senders) await demandSender(deps, workspace, one)
}

const listedIn = async (
  { store }: SubmissionDeps,
  { workspace, mode }: Job,
  mails: readonly Prepared[],
  now: number,
): Promise<Listed> => {
  const minded = mails.filter(({ ignoreSuppressions }) => !ignoreSuppressions)
  const entries = minded.flatMap(({ recipients, extras }) =>
    recipients.flatMap(({ normal }) => entriesAgainst(entryOf(normal, extras?.unsubscribe_list ?? null))),
  )
  return new Set(await store.suppressed(suppressionList(workspace.id, mode), entries, now))
}

/** As it was stored. */
const found = (mail: NewEmail, suppressed: readonly string[]): NewEmail => ({
  ...mail,
  recipients: mail.recipients.map((one) =>
    suppressed.includes(one.id) ? { ...one, suppressed: true } : one,
  ),
})

/** Null when its lock was lost. */
const attempt = async (
  deps: SubmissionDeps,
  job: Job,
  ticket: Ticket | null,
): Promise<SubmitAnswer | null> => {
  const { store, clock } = deps
  const now = clock.now()
  let prepared: readonly Prepared[] | null = null
  for (let tries = 0; tries < MOST; tries++) {
    const given = tries === 0 && ticket === null ? job.standing : null
    const decided = given ?? job.decide()
    const { workspace, rules } = demand(decided instanceof Promise ? await decided : decided)
    const made: ReturnType<Job['make']> = prepared ?? job.make()
    prepared = made instanceof Promise ? await made : made
    if (given === null && workspace.restrictSenders) await demandSenders(deps, workspace, prepared)
    const listed: Listed = ticket === null ? NONE : await listedIn(deps, job, prepared, now)
    const route = deps.route(workspace, job.mode)
    const routed = route instanceof Promise ? await route : route
    const routing = job.poolId === undefined ? routed : { poolId: job.poolId, routes: routed.routes }
    const mails = prepared.map((one) => linked(deps, toEmail(one, job, routing, listed, now)))
    const early = ticket === null ? null : job.render(mails)
    const idempotency = ticket && early && { ...ticket, status: early.status, body: early.body }
    const result = await store.accept({ mails, idempotency, rules: tries < COMPARED - 1 ? rules : null, now })
    if (result === 'lock_lost') return null
    if (result !== 'stale') {
      const stored = result === 'accepted' ? mails : mails.map((mail) => found(mail, result.suppressed))
      return { replayed: false, ...(early ?? job.render(stored)) }
    }
    await store.known?.look()
  }
  throw new Fault('service.unavailable', { retryAfter: 1 })
}

/** Resolves when all of them are on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const storeMails = (deps: SubmissionDeps, job: Job): Promise<SubmitAnswer> => {
  const { mode, idempotency: wish } = job
  const place = { workspaceId: job.workspace.id, mode }
  return deps.inTurn(mode, () =>
    wish === null
      ? (attempt(deps, job, null) as Promise<SubmitAnswer>) // none has a lock to lose
      : once(deps.store, wish, place, deps.clock.now, (ticket) => attempt(deps, job, ticket)),
  )
}

/** What a draft from this workspace must fulfil. */
export const rulesOf = (
  { config, clock }: Pick<SubmissionDeps, 'config' | 'clock'>,
  workspace: WorkspaceRow | null,
): DraftRules => ({
  hostname: config.hostname,
  lineEndings: workspace?.lineEndings ?? 'normalize',
  defaultFrom: workspace?.defaultFrom ?? config.default_from,
  recipients: config.limits.recipients,
  messageSize: config.limits.message_size,
  now: clock.now(),
  baseUrl: config.base_url,
})

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
): Promise<SubmitAnswer> => {
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
  message.startsWith('"') ? message : `"${field.replace(/^body(?:\.recipients)?\[\d+\]\./, '')}" ${message}`

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

/** Several drafts, all of them, or with `permissive` the good ones; else like submit. */
export const submitBatch = async (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  items: readonly BatchItem[],
  options: BatchOptions,
): Promise<SubmitAnswer> => {
  const { workspace, standing } = await begin(deps, principal, place, options)
  const { permissive, mayBeEmpty = false } = options
  const most = Math.min(options.most ?? MOST_IN_BATCH, principal.limitPerMinute)
  if (items.length === 0) throw invalidField('body', 'empty', 'must hold 1 email or more')
  if (items.length > most) throw invalidField('body', 'too_many', `must hold at most ${most} emails`)
  const { mails, errors, omitted, failures } = await judgeAll(deps, workspace, items)
  if (failures.length > 0 && !(permissive && (mails.length > 0 || mayBeEmpty)))
    throw errors.length > 0 ? invalid(errors, omitted) : new Fault('email.sender_not_allowed')
  if (mails.length === 0) return { replayed: false, records: [], ...options.render([], failures) }
  if (mails.length > 1) await options.charge(mails.length - 1)
  const { idempotency, trace } = options
  const render = rendering((records) => options.render(records, failures))
  const job = jobOf(deps, principal, workspace, mails)
  return storeMails(deps, { ...job, standing, idempotency, trace, render })
}

export interface SubmissionWatch {
  /** null without an OpenTelemetry SDK. */
  readonly spans?: Spans | null | undefined
  /** Told after the commit. */
  readonly accepted?: ((mails: Acceptance['mails']) => void) | undefined
}

const timed = async (
  spans: Spans,
  system: string,
  { mails }: Acceptance,
  accept: () => Promise<AcceptResult>,
): Promise<AcceptResult> => {
  const span = spans.start({
    name: 'store accept',
    kind: 'producer',
    parent: mails[0]?.trace ?? null,
    attributes: {
      'db.system.name': system,
      'db.operation.name': 'accept',
      'messaging.system': 'postern',
      'messaging.batch.message_count': mails.length,
      ...(mails.length === 1 && mails[0] && { 'postern.email_id': mails[0].id }),
    },
  })
  try {
    const result = await accept()
    span.end(typeof result === 'string' && result !== 'accepted' ? result : null)
    return result
  } catch (error) {
    span.end('store failed')
    throw error
  }
}

/** The store's verbs of a submission, with `accept` watched. */
export const watched = (store: SubmissionStore, { spans, accepted }: SubmissionWatch): SubmissionStore => ({
  system: store.system,
  ...(store.known && { known: store.known }),
  workspace: (accountId, ref) => store.workspace(accountId, ref),
  pool: (accountId, ref) => store.pool(accountId, ref),
  suppressed: (workspaceId, emails, now) => store.suppressed(workspaceId, emails, now),
  claimKey: (claim) => store.claimKey(claim),
  releaseKey: (claim) => store.releaseKey(claim),
  accept(batch) {
    const accept = () => store.accept(batch)
    return (spans == null ? accept() : timed(spans, store.system, batch, accept)).then((result) => {
      if (isStored(result)) accepted?.(batch.mails)
      return result
    })
  },
})
