/**
 * NAME      submission - one pipeline from every door into the queue, and a mail of before, sent once more
 *   authorise → prepare (check, compose) → suppress → route → accept. Both doors come through here and meet the same
 *   limits. The promise of the pipeline is that of `store.accept`: when it answers, the mail, its recipients, its first
 *   events and the idempotent answer are on disk together, or nothing is.
 *   A resend is a new mail of the same octets: with an id, a Message-ID, a Date and return paths of its own, and
 *   without a client's signature over what was made anew. Workspace, mode, pool and sender are those of the first one,
 *   whoever asks; whether its sender may send, its workspace is suspended and its recipients are suppressed is asked
 *   again, as of now. It goes to those that bounced, or else to all; or to some that are named. Only a person may name
 *   somebody who did not get the first one.
 * NOTES
 *   What a recipient still waits for is not sent again: it would come twice. So the state of those who are chosen
 *   counts, and not that of the whole mail.
 *   What was asked of reports (RFC 3461) is not asked again; that it may travel under TLS only is, and what came from
 *   the null sender leaves from it. Released, a mail of test mode goes out for real: only to addresses that the
 *   settings name, and none is named by default.
 */
import type { Clock } from '../base/clock.js'
import { Fault, type FieldError, invalidField, orFault, throwInvalid } from '../base/fault.js'
import { createGiveWay, type GiveWay } from '../base/give-way.js'
import { newId } from '../base/id.js'
import type { Config } from '../config/config.js'
import type { RecipientKind } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import {
  domainOf,
  isAscii,
  normalizeAddress,
  parseAddress,
  parseRecipient,
  wireAddress,
} from '../mail/address.js'
import { formatDate, receivedOverHttp } from '../mail/header.js'
import type { Status } from '../mail/status.js'
import { prepareAgain, readSubmitted } from '../mail/submitted.js'
import type { EmailRecord, Ledger, Queue } from '../store/port/mail.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { nullWhenMissing } from '../store/port/upkeep.js'
import {
  createTurns,
  decideWorkspace,
  demandAccepting,
  demandSender,
  type SenderAllowed,
  type SubmissionDeps,
  type SubmissionStore,
} from './deps.js'
import type { SubmitAnswer, SubmitOptions } from './draft.js'
import { createRoute, type Prepared } from './prepare.js'
import {
  rendering,
  rulesOf,
  type SubmissionWatch,
  storeMails,
  submit,
  submitBatch,
  submitMessage,
  watched,
} from './submit.js'
import { UNSUBSCRIBE_FIELDS } from './unsubscribe.js'
import { type DraftRules, FORM } from './validate.js'

interface Resend {
  readonly record: EmailRecord
  /** Where its octets are kept. */
  readonly store: Pick<Queue, 'body'> & Pick<Ledger, 'content'>
  /** null: those that bounced, or else all. */
  readonly to: readonly string[] | null
  /** True for a person: also to others than before. */
  readonly toAnyone: boolean
  /** A mail of test mode becomes a live one, to these addresses and no others; null: it keeps its mode. */
  readonly release?: readonly string[] | null
}

interface Chosen {
  /** Wire form. */
  readonly address: string
  readonly normal: string
  readonly kind: RecipientKind
  /** As the record shows it. */
  readonly text: string
  /** Of the first mail; null for somebody who did not get it. */
  readonly status: Status | null
}

const UNDER_WAY: ReadonlySet<Status> = new Set(['scheduled', 'queued', 'deferred'])

const recipientsOf = ({ recipients, to, cc, bcc }: EmailRecord): ReadonlyMap<string, Chosen> => {
  const texts = new Map<string, string>()
  for (const text of [...to, ...cc, ...bcc]) {
    const { address = text } = parseRecipient(text) ?? {}
    texts.set(normalizeAddress(address), text)
  }
  return new Map(
    recipients.map(({ address, kind, status }) => {
      const normal = normalizeAddress(address)
      return [normal, { address, normal, kind, status, text: texts.get(normal) ?? address }]
    }),
  )
}

const choose = ({ record, to, toAnyone, release }: Resend, most: number): readonly Chosen[] => {
  const known = recipientsOf(record)
  if (to === null) {
    const all = [...known.values()]
    // what the sandbox made of it says nothing
    if (release != null) return all
    const bounced = all.filter(({ status }) => status === 'bounced')
    return bounced.length > 0 ? bounced : all
  }
  const errors: FieldError[] = []
  const chosen = new Map<string, Chosen>()
  for (const [i, text] of to.entries()) {
    const field = to.length === 1 ? 'body.to' : `body.to[${i}]`
    const mailbox = parseRecipient(text)
    const normal = mailbox && normalizeAddress(mailbox.address)
    const before = normal === null ? undefined : known.get(normal)
    if (mailbox === null || normal === null) errors.push({ field, kind: 'format', message: FORM })
    else if (before !== undefined) chosen.set(normal, before)
    else if (toAnyone) {
      const address = wireAddress(mailbox.address)
      chosen.set(normal, { address, normal, kind: 'to', text: text.trim(), status: null })
    } else {
      const message = 'is no recipient of this mail; only the session of a person may send it to others'
      errors.push({ field, kind: 'forbidden', message })
    }
  }
  if (to.length === 0) errors.push({ field: 'body.to', kind: 'empty', message: 'must name somebody' })
  if (to.length > most)
    errors.push({ field: 'body.to', kind: 'too_many', message: `at most ${most} recipients` })
  throwInvalid(errors)
  return [...chosen.values()]
}

/** Throws unless the mail may go out to all of these. */
const demandRelease = ({ record, release }: Resend, chosen: readonly Chosen[]): void => {
  if (release == null) return
  if (record.mode !== 'test') throw conflict('not_test', `${record.id} is no mail of test mode`)
  const allowed = new Set(release.map(normalizeAddress))
  const others = chosen.filter(({ normal }) => !allowed.has(normal))
  if (others.length === 0) return
  const message =
    allowed.size === 0
      ? 'no address may get a mail of test mode: identity.release_to names none'
      : `${others[0]?.address} is not among the addresses of identity.release_to`
  throw invalidField('body.release', 'forbidden', message)
}

const conflict = (reason: string, detail: string): Fault => new Fault('resource.conflict', { reason, detail })

/** Its octets; throws what keeps it from being sent again. */
const keptOf = async ({ record, store, release }: Resend, chosen: readonly Chosen[]): Promise<Uint8Array> => {
  if (record.source === 'system')
    throw conflict('system_mail', `${record.id} is a report of this gateway, which is sent once`)
  const waiting = chosen.find(({ status }) => status !== null && UNDER_WAY.has(status))
  // a mail of test mode never comes to anybody
  if (waiting !== undefined && release == null)
    throw conflict('under_way', `${record.id} is still on its way to ${waiting.address}`)
  const raw = await store.body(record.id).catch(nullWhenMissing)
  if (raw === null) throw conflict('body_gone', `What was written in ${record.id} is no longer kept`)
  return raw
}

const NONE: ReadonlySet<string> = new Set()

const modeOf = ({ mode }: EmailRecord, release: Resend['release']): Mode => (release == null ? mode : 'live')

const prepareResend = async (
  { record, store }: Resend,
  { hostname, now }: DraftRules,
  chosen: readonly Chosen[],
  old: Uint8Array,
): Promise<Prepared> => {
  const { from, replyTo, subject, tags, attachments } = record
  const id = newId('em', now)
  const messageId = `<${id}@${hostname}>`
  const receivedLine = receivedOverHttp({ host: hostname, id, now })
  const { needsSmtpUtf8, authors } = readSubmitted(old)
  const textsOf = (wanted: RecipientKind) =>
    chosen.filter(({ kind }) => kind === wanted).map(({ text }) => text)
  return {
    ...{ from, replyTo, subject, tags, attachments, id, messageId },
    source: 'api',
    to: textsOf('to'),
    cc: textsOf('cc'),
    bcc: textsOf('bcc'),
    scheduledAt: null,
    extras: { ...record.extras, resent_from: record.id },
    senders: authors.map(({ address }) => address),
    ignoreSuppressions: false,
    recipients: chosen,
    raw: prepareAgain(old, {
      ...{ messageId, date: formatDate(now), oldId: record.id, receivedLine },
      // it opens for its old reader; a mail to one gets its own
      without: record.extras?.unsubscribe_list === undefined ? NONE : UNSUBSCRIBE_FIELDS,
    }),
    needsSmtpUtf8: needsSmtpUtf8 || chosen.some(({ address }) => !isAscii(wireAddress(address))),
    content: await store.content(record.id),
    envid: null,
    ret: null,
    requireTls: record.requireTls ?? false,
    mailFrom: record.mailFrom === '' ? '' : null,
  }
}

/** Resolves when the new mail is on disk, or with the first answer under the same key. Throws the Fault to answer with. */
const resend = async (deps: SubmissionDeps, wish: Resend, options: SubmitOptions): Promise<SubmitAnswer> => {
  demandAccepting(deps)
  const { accountId, workspaceId, poolId } = wish.record
  const mode = modeOf(wish.record, wish.release)
  const workspace = orFault(await deps.store.workspace(accountId, workspaceId), 'email.not_found')
  const chosen = choose(wish, deps.config.limits.recipients)
  demandRelease(wish, chosen)
  // one that was deleted since has left its workspace another; a sandbox sends nothing out
  const pool = mode === wish.record.mode ? await deps.store.pool(accountId, poolId) : null
  return storeMails(deps, {
    ...{ workspace, mode, submittedBy: null, poolId: pool?.id },
    ...{ idempotency: options.idempotency, trace: options.trace, standing: null },
    decide: () => decideWorkspace(deps, workspace),
    make: async () => {
      const old = await keptOf(wish, chosen)
      return [await prepareResend(wish, rulesOf(deps, workspace), chosen, old)]
    },
    render: rendering(options.render),
  })
}

export interface SubmissionParts extends SubmissionWatch {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'> & Partial<Pick<Config, 'base_url'>>
  /** What links to unsubscribe are sealed under. */
  readonly pepper?: Uint8Array | undefined
  readonly clock: Clock
  /** False while draining or without disk: sends are refused with service.unavailable. */
  readonly accepting?: (() => boolean) | undefined
  /** Hears of live mail. */
  readonly way?: GiveWay | undefined
  /** Asked for workspaces that restrict their senders; the domain of their default sender is always theirs. */
  readonly senderAllowed?: SenderAllowed | undefined
}

/** Only the account sets a workspace's default sender, so its domain needs no other proof. */
const ownDomain = ({ defaultFrom }: WorkspaceRow, address: string): boolean => {
  const own = defaultFrom === null ? null : parseAddress(defaultFrom)
  return own !== null && domainOf(own.address) === domainOf(address)
}

export const createSubmission = (parts: SubmissionParts) => {
  const deps: SubmissionDeps = {
    store: watched(parts.store, parts),
    config: parts.config,
    pepper: parts.pepper,
    clock: parts.clock,
    route: createRoute(parts.store),
    inTurn: createTurns(parts.way ?? createGiveWay()),
    accepting: parts.accepting ?? (() => true),
    senderAllowed: async (workspace, address) =>
      ownDomain(workspace, address) || ((await parts.senderAllowed?.(workspace, address)) ?? false),
  }
  const bind =
    <Rest extends unknown[], Answer>(verb: (deps: SubmissionDeps, ...rest: Rest) => Answer) =>
    (...rest: Rest): Answer =>
      verb(deps, ...rest)
  return {
    /** True while mail can be taken; a door may say so before it takes the bytes. */
    accepting: () => deps.accepting(),
    checkSender: bind(demandSender),
    submit: bind(submit),
    submitBatch: bind(submitBatch),
    submitMessage: bind(submitMessage),
    resend: bind(resend),
  }
}

export type Submission = Readonly<ReturnType<typeof createSubmission>>
