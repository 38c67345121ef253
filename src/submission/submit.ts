/**
 * NAME      submit - drafts from the API into the queue
 * DESCRIPTION
 *   One path for one draft and for a batch: check all, then claim the idempotency
 *   key, then suppress, compose and accept in a single verb. A mistake in a draft
 *   is found before the key is claimed, so that a corrected request may use it.
 */
import { Fault, type FieldError, invalid, MOST_ERRORS } from '../base/fault.js'
import type { NewEmail } from '../lifecycle/facts.js'
import type { WorkspaceRow } from '../store/port/tenants/tenants.js'
import type { Principal } from '../tenant/principal.js'
import { type BatchItem, type Composed, compose, toEmail, toRecord } from './composed.js'
import { authorise, decide, demand, demandAccepting, type Standing, type SubmissionDeps } from './deps.js'
import type { Answer, BatchFailure, BatchOptions, Draft, Render, SubmitOptions } from './draft.js'
import { demandSenders, type Job, storeMails } from './store-mails.js'
import { type Checked, type CheckedMime, checkSend, type Rules } from './validate.js'

/** What may be stored, once its sender may send. */
type Ready = Checked | CheckedMime | Composed

interface Send extends Pick<Job, 'principal' | 'workspace' | 'standing' | 'idempotency'> {
  readonly drafts: readonly Ready[]
  readonly trace?: string | null | undefined
  readonly render: Render
}

/** Composes and accepts checked drafts, all or none, once per idempotency key. */
const acceptAll = (deps: SubmissionDeps, send: Send): Promise<Answer> => {
  const { hostname, limits } = deps.config
  const { drafts, render, trace, ...rest } = send
  const minded = drafts.filter(({ ignoreSuppressions }) => !ignoreSuppressions)
  return storeMails(deps, {
    ...rest,
    asked: minded.flatMap(({ recipients }) => recipients.map(({ normal }) => normal)),
    senders: drafts.flatMap(sendersOf),
    async make(routing, listed, now) {
      const mails: NewEmail[] = []
      for (const draft of drafts) {
        const made =
          'raw' in draft ? draft : compose(draft, { hostname, messageSize: limits.message_size, now })
        mails.push(toEmail(made instanceof Promise ? await made : made, send, routing, listed, trace))
      }
      return mails
    },
    render: (mails) => {
      const records = mails.map(toRecord)
      return { records, ...render(records) }
    },
  })
}

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

const sendersOf = (draft: Ready): readonly string[] => {
  if ('raw' in draft) return draft.senders
  return 'finished' in draft
    ? draft.finished.authors.map(({ address }) => address)
    : [draft.from.mailbox.address]
}

/** Without a key at once: a large body is read for seconds, so what its workspace allows is asked after that. */
const standingOf = async (
  deps: SubmissionDeps,
  principal: Principal,
  workspace: WorkspaceRow,
  { idempotency }: Pick<SubmitOptions, 'idempotency'>,
): Promise<Standing | null> =>
  idempotency === null ? demand(await decide(deps, principal, workspace)) : null

/** One draft; resolves when the mail is on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const submit = async (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  draft: Draft | Composed,
  options: SubmitOptions,
): Promise<Answer> => {
  demandAccepting(deps)
  const known = await authorise(deps, principal, place)
  const standing = await standingOf(deps, principal, known, options)
  const workspace = standing?.workspace ?? known
  const { checked, errors } =
    'raw' in draft ? { checked: draft, errors: null } : checkSend(draft, rulesOf(deps, workspace))
  if (errors !== null) throw invalid(errors)
  await demandSenders(deps, workspace, sendersOf(checked))
  return acceptAll(deps, { principal, workspace, standing, drafts: [checked], ...options })
}

const MOST_IN_BATCH = 100
/** Mistakes of one email that a permissive batch tells in its answer. */
const MOST_IN_WORDS = 10

/** One mistake as a sentence; some messages name their field already. */
const inWords = ({ field, message }: FieldError): string =>
  message.startsWith('"') ? message : `"${field.replace(/^body\[\d+\]\./, '')}" ${message}`

type Judged =
  | { readonly draft: Ready }
  | { readonly errors: readonly FieldError[]; readonly omitted?: number }

const judge = (item: BatchItem, rules: Rules, at: string): Judged => {
  if ('errors' in item) return item
  if ('raw' in item) return { draft: item }
  const { checked, errors } = checkSend(item, rules, at)
  return errors === null ? { draft: checked } : { errors }
}

/** All that is wrong with one item, in words. */
const allInWords = (errors: readonly FieldError[], count: number): string => {
  const words = errors.slice(0, MOST_IN_WORDS).map(inWords)
  return [...words, ...(count > words.length ? [`and ${count - words.length} more`] : [])].join('; ')
}

/** What is good in a batch and what is not, item by item. */
const judgeAll = async (deps: SubmissionDeps, workspace: WorkspaceRow, items: readonly BatchItem[]) => {
  const rules = rulesOf(deps, workspace)
  const drafts: Ready[] = []
  const errors: FieldError[] = []
  const failures: BatchFailure[] = []
  let omitted = 0
  const fail = (index: number, code: BatchFailure['code'], message: string) =>
    failures.push({ index, message, code })
  for (const [index, item] of items.entries()) {
    const judged = judge(item, rules, `body[${index}]`)
    if ('errors' in judged) {
      const told = judged.errors.slice(0, MOST_ERRORS)
      const count = judged.errors.length + (judged.omitted ?? 0)
      errors.push(...told)
      omitted += count - told.length
      fail(index, 'validation.request_invalid', allInWords(told, count))
      continue
    }
    try {
      await demandSenders(deps, workspace, sendersOf(judged.draft))
      drafts.push(judged.draft)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      fail(index, error.code, error.message)
    }
  }
  return { drafts, errors, omitted, failures }
}

/** Up to 100 drafts, all of them, or with `permissive` the good ones; else like submit. */
export const submitBatch = async (
  deps: SubmissionDeps,
  principal: Principal,
  place: WorkspaceRow | string | null,
  items: readonly BatchItem[],
  options: BatchOptions,
): Promise<Answer> => {
  demandAccepting(deps)
  const known = await authorise(deps, principal, place)
  const standing = await standingOf(deps, principal, known, options)
  const workspace = standing?.workspace ?? known
  const most = Math.min(MOST_IN_BATCH, principal.limitPerMinute)
  if (items.length === 0)
    throw invalid([{ field: 'body', kind: 'empty', message: 'must hold 1 email or more' }])
  if (items.length > most) {
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${most} emails` }])
  }
  const { drafts, errors, omitted, failures } = await judgeAll(deps, workspace, items)
  if (failures.length > 0 && !(options.permissive && drafts.length > 0)) {
    throw errors.length > 0 ? invalid(errors, omitted) : new Fault('email.sender_not_allowed')
  }
  if (drafts.length > 1) await options.charge(drafts.length - 1)
  const { idempotency, trace } = options
  const render: Render = (records) => options.render(records, failures)
  return acceptAll(deps, { principal, workspace, standing, drafts, idempotency, trace, render })
}
