/**
 * NAME      job - which mails a command is about, and what is done to many at once
 *   A job is stored here, and the daemon carries it out: while none runs, it waits.
 */
import { orFault } from '../base/fault.js'
import { parseTime } from '../base/moments.js'
import { parseQuery, type Query, readTag } from '../mail/query.js'
import { STATUSES } from '../mail/status.js'
import { jobPreview, job as jobRecord, matchedWords } from '../record/email.js'
import { dayIn } from '../statistics/ask.js'
import { type EmailFilter, JOB_ACTIONS, type JobRow } from '../store/port/mail.js'
import { type BulkWish, beginJob, countMatched } from '../submission/job-runner.js'
import { wrongReason } from '../tenant/orders.js'
import { findWorkspace } from '../tenant/workspace.js'
import type { OptionArgs, Subject } from './command.js'
import { type CliContext, cliActor, storeCommand } from './context.js'
import { badInput, usage } from './exit.js'
import { agreed, listing } from './list.js'
import { AT, readPast, spanText } from './table.js'

export const FILTERS = {
  workspace: { type: 'string', describe: 'Only this workspace, by id or slug' },
  status: { choices: STATUSES, describe: 'Only this status' },
  mode: { choices: ['live', 'test'], describe: 'Only live or only test mail' },
  to: { type: 'string', describe: 'Only mail to this address' },
  tag: { type: 'string', describe: 'Only mail with this tag, as name:value' },
  since: { type: 'string', describe: 'Only newer: 2h, or an RFC 3339 time' },
  until: { type: 'string', describe: 'Only older: 2h, or an RFC 3339 time' },
} as const

type FilterArgs = OptionArgs<typeof FILTERS>

export const filterOf = async ({ deps, account }: CliContext, args: FilterArgs): Promise<EmailFilter> => {
  const { name, value } = readTag(args.tag ?? '')
  if (args.tag !== undefined && (name === '' || value === null))
    throw badInput(`--tag: ${args.tag} is not name:value`)
  const workspace =
    args.workspace === undefined ? null : await findWorkspace(deps, account.id, args.workspace)
  return {
    accountId: account.id,
    workspaceId: workspace?.id ?? null,
    mode: args.mode ?? null,
    status: args.status ?? null,
    to: args.to ?? null,
    tag: args.tag === undefined ? null : { name, value: value ?? '' },
    createdAfter: readPast('since', args.since),
    createdBefore: readPast('until', args.until),
  }
}

export const SEARCH = {
  q: { type: 'string', describe: 'Words, addresses and terms, as the q of GET /v1/emails' },
} as const

/** Days are those of this computer. */
export const queryOf = (q: string): Query => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const parsed = parseQuery(q, { day: (text) => dayIn(zone, text), time: parseTime })
  if ('mistake' in parsed) throw badInput(`--q ${parsed.mistake.message}`)
  return parsed.query
}

const ID = { id: { type: 'string', demandOption: true, describe: 'Its id, job_…' } } as const

const progress = (row: JobRow): string => {
  const { matched, per_second, seconds_left } = jobRecord(row)
  const pace = row.state === 'running' && per_second !== null ? `, ${per_second} a second` : ''
  const left = seconds_left === null ? '' : `, about ${spanText(seconds_left * 1000)} left`
  return `${row.id} ${row.action} ${row.state}: ${row.done} done, ${row.skipped} skipped, ${row.failed} failed of ${matchedWords(matched)}${pace}${left}`
}

export const bulk = storeCommand({
  usage: 'bulk <action>',
  summary: 'Do something to all mails that a search finds, as a job of the daemon',
  positionals: {
    action: { choices: JOB_ACTIONS, demandOption: true, describe: 'What is done to each' },
  },
  options: {
    ...SEARCH,
    ...FILTERS,
    all: { type: 'boolean', describe: 'All mails, where nothing else says which' },
    reason: { type: 'string', demandOption: true, describe: 'Why; it stands with what is changed' },
  },
  destroys: true,
  examples: [
    [
      "$0 email bulk resend --q 'status:bounced domain:example.com after:2026-11-20' --reason 'their server was away'",
      'what bounced there since then, once more',
    ],
  ],
  run: async (context, args, terminal) => {
    const { store, deps, account } = context
    const { accountId: _, ...filter } = await filterOf(context, args)
    const isNarrow = args.q !== undefined || Object.values(filter).some((one) => one !== null)
    if (!isNarrow && args.all !== true) throw usage('say which mails: --q, a filter, or --all')
    const [wrong] = wrongReason(args.reason)
    if (wrong !== undefined) throw usage(`--reason ${wrong.message}`)
    const query = args.q === undefined ? { terms: [], from: null, before: null } : queryOf(args.q)
    const wish: BulkWish = {
      accountId: account.id,
      action: args.action as BulkWish['action'],
      reason: args.reason,
      filter: { ...filter, query, subjects: true },
      q: args.q ?? null,
      by: cliActor(),
    }
    const counted = await countMatched({ store, clock: deps.clock }, wish)
    const preview = jobPreview(wish.action, counted)
    const many = `${matchedWords(preview.matched)} mails`
    if (!(await agreed(context, terminal, args, preview, `${wish.action} ${many}`))) return
    const job = await beginJob({ store, clock: deps.clock }, wish)
    terminal.data(jobRecord(job), () => `${job.id} begins; see postern job show ${job.id}`)
  },
})

const find = async ({ store, account }: CliContext, id: string): Promise<JobRow> =>
  orFault(await store.job(account.id, id), 'job.not_found')

const list = listing({
  path: 'job list',
  summary: 'Jobs that run or ended in the last 30 days, newest first',
  examples: [['$0 job list', '']],
  what: 'jobs',
  next: 'postern email bulk --help',
  rows:
    ({ store, account }) =>
    (page) =>
      store.jobs(account.id, page, null),
  record: jobRecord,
  columns: [
    ['id', 'id'],
    ['created', 'createdAt', AT],
    ['action', 'action'],
    ['state', 'state'],
    ['matched', ({ matched, isCapped }) => `${matched}${isCapped ? '+' : ''}`],
    ['done', 'done'],
    ['failed', 'failed'],
    ['reason', 'reason'],
  ],
})

const show = storeCommand({
  usage: 'show <id>',
  summary: 'How far a job is',
  positionals: ID,
  examples: [['$0 job show job_01…', '']],
  run: async (context, args, terminal) => {
    const row = await find(context, args.id)
    terminal.data(jobRecord(row), () => progress(row))
    if (row.lastError !== null) terminal.say(row.lastError)
  },
})

const cancel = storeCommand({
  usage: 'cancel <id>',
  summary: 'End a job that runs; what it has done stays done',
  positionals: ID,
  destroys: true,
  examples: [['$0 job cancel job_01… --yes', '']],
  run: async (context, args, terminal) => {
    const { account, id } = { account: context.account.id, id: args.id }
    const row = await find(context, id)
    if (!(await agreed(context, terminal, args, jobRecord(row), `end ${progress(row)}`))) return
    await context.store.cancelJob(account, id, Date.now())
    const after = await find(context, id)
    terminal.data(jobRecord(after), () => progress(after))
  },
})

export const jobSubject: Subject = { name: 'job', commands: [list, show, cancel] }
