/**
 * NAME      email - a mail as the wire has it, what was written in it, and what is done to many mails at once
 *   A send answers the accepted record without bodies; a list row leaves out recipients and attachments, too. Members stand in
 *   the order of the contract; one that it does not print (a reason) is there only when it says something. A mail that was
 *   composed here keeps what the client sent. One that came whole, over SMTP or as `raw`, is read from its octets when somebody
 *   asks, attachments included. After retention both are gone, and all is null. Reports of our own are not read.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { AttachmentSummary } from '../lifecycle/facts.js'
import { eventName } from '../mail/status.js'
import type {
  EmailRecord,
  EmailRow,
  JobAction,
  JobRow,
  LastWords,
  Ledger,
  Queue,
  RecipientRow,
} from '../store/port/mail.js'
import { nullWhenMissing } from '../store/port/upkeep.js'
import { metOf } from '../store/rules/operations.js'
import type { MailWaiting, ShowWaiting, Waiting } from './queue.js'

/** Exact, or as many as were counted before counting ended. */
const matchedOf = ({ matched, isCapped }: Pick<JobRow, 'matched' | 'isCapped'>) =>
  isCapped ? { at_least: matched } : matched

/** Mails a second since it was made; null before it has met one. */
const speedOf = (row: JobRow): number | null => {
  const seconds = (row.updatedAt - row.createdAt) / 1000
  const met = metOf(row)
  return met === 0 ? null : Math.round((10 * met) / Math.max(1, seconds)) / 10
}

const secondsLeft = (row: JobRow): number | null => {
  const speed = speedOf(row)
  if (row.state !== 'running' || row.isCapped || speed === null || speed === 0) return null
  return Math.ceil((row.matched - metOf(row)) / speed)
}

export const job = (row: JobRow) => ({
  id: row.id,
  object: 'job' as const,
  action: row.action,
  state: row.state,
  reason: row.reason,
  q: row.q,
  workspace_id: row.workspaceId,
  matched: matchedOf(row),
  done: row.done,
  skipped: row.skipped,
  failed: row.failed,
  per_second: speedOf(row),
  seconds_left: secondsLeft(row),
  last_error: row.lastError,
  created_by: row.createdBy,
  created_by_name: row.createdByName,
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
  finished_at: timeOrNull(row.finishedAt),
})

export const jobPreview = (
  action: JobAction,
  counted: { readonly matched: number; readonly isCapped: boolean },
) => ({
  object: 'job_preview' as const,
  action,
  matched: matchedOf(counted),
  dry_run: true as const,
})

export type Job = ReturnType<typeof job>
export type JobMatched = Job['matched']

/** `2,750`, or `at least 10,000`. */
export const matchedWords = (matched: JobMatched, figure: (n: number) => string = String): string =>
  typeof matched === 'number' ? figure(matched) : `at least ${figure(matched.at_least)}`

/** By mail; only those that bounced or are deferred. */
export const lastWordsOf = async (
  { lastWords }: Pick<Ledger, 'lastWords'>,
  rows: readonly EmailRow[],
): Promise<ReadonlyMap<string, LastWords>> => {
  const failed = rows.filter(({ status }) => status === 'bounced' || status === 'deferred')
  if (failed.length === 0) return new Map()
  return new Map((await lastWords(failed.map(({ id }) => id))).map((words) => [words.emailId, words]))
}

export interface Content {
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>> | null
  /** Absent where the record has them. */
  readonly attachments?: readonly AttachmentSummary[]
}

export const NO_CONTENT: Content = { html: null, text: null, headers: null }

type ContentStore = Pick<Ledger, 'content'> & Pick<Queue, 'body'>

const parse = async (raw: Uint8Array): Promise<Content> => {
  const { parseContent } = await import('../mail/parse.js')
  return parseContent(raw)
}

/** `read` may do the reading elsewhere: a large message takes a second. */
export const readContent = async (
  store: ContentStore,
  record: EmailRecord,
  read: (raw: Uint8Array) => Promise<Content> = parse,
): Promise<Content> => {
  const stored = await store.content(record.id)
  if (stored !== null) return JSON.parse(stored) as Content
  const raw = record.source === 'system' ? null : await store.body(record.id).catch(nullWhenMissing)
  return raw === null ? NO_CONTENT : read(raw)
}

/** Before its time a mail counts as scheduled; a count that most mails never have shows only then. */
const countsOf = ({ scheduled, ...rest }: EmailRow['counts']) =>
  scheduled === 0 ? rest : { scheduled, ...rest }

/** After its id. A spread that comes first makes V8 a hundred times slower with the members after it. */
const heading = (row: EmailRow) => ({
  object: 'email' as const,
  status: row.status,
  last_event: eventName(row.status),
  workspace_id: row.workspaceId,
  mode: row.mode,
  source: row.source,
  from: row.from,
  to: row.to,
  cc: row.cc,
  bcc: row.bcc,
  reply_to: row.replyTo,
  subject: row.subject,
  tags: row.tags,
})

const passage = (row: EmailRow) => ({
  message_id: row.messageId,
  scheduled_at: timeOrNull(row.scheduledAt),
  ...row.extras,
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

export const emailSummary = (row: EmailRow) => ({
  id: row.id,
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
})

export const listedEmail = (
  row: EmailRow,
  waiting: Waiting | null,
  words: LastWords | undefined,
  show: ShowWaiting,
) => ({
  id: row.id,
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
  ...(words !== undefined && {
    last_response: words.lastResponse,
    ...(words.reason !== null && { reason: words.reason }),
  }),
  waiting: show(waiting),
})

const recipient = (row: RecipientRow) => ({
  address: row.address,
  kind: row.kind,
  status: row.status,
  attempts: row.attempts,
  last_response: row.lastResponse,
  ...(row.reason !== null && { reason: row.reason }),
  updated_at: toRfc3339(row.updatedAt),
})

export const acceptedRecord = (row: EmailRecord) => ({
  id: row.id,
  ...heading(row),
  attachments: row.attachments,
  ...passage(row),
  recipients: row.recipients.map(recipient),
  counts: countsOf(row.counts),
})

export const emailRecord = (
  row: EmailRecord,
  { html, text, headers, attachments = row.attachments }: Content,
  waiting: MailWaiting,
  show: ShowWaiting,
) => ({
  ...acceptedRecord(row),
  attachments,
  waiting: show(waiting.first),
  recipients: row.recipients.map((one) => ({
    ...recipient(one),
    waiting: show(waiting.recipients.get(one.id) ?? null),
  })),
  html,
  text,
  headers,
})
