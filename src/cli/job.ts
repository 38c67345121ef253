/**
 * NAME      job - what is done to many mails at once, from the command line
 * DESCRIPTION
 *   A job is stored here, and the daemon carries it out: while none runs, it waits.
 */
import { Fault } from '../base/fault.js'
import { jobPreview, job as jobRecord, matchedWords } from '../record/job.js'
import { JOB_ACTIONS, type JobRow } from '../store/port/mail.js'
import { type BulkWish, beginJob, countMatched } from '../submission/job-runner.js'
import { wrongReason } from '../tenant/orders.js'
import { command, type Subject } from './command.js'
import { type CliContext, cliActor, withContext } from './context.js'
import { FILTERS, filterOf, queryOf, SEARCH } from './email-filter.js'
import { usage } from './exit.js'
import { listing } from './list.js'
import { AT } from './table.js'
import { spanText } from './time.js'

const ID = { id: { type: 'string', demandOption: true, describe: 'Its id, job_…' } } as const

const progress = (row: JobRow): string => {
  const { matched, per_second, seconds_left } = jobRecord(row)
  const pace = row.state === 'running' && per_second !== null ? `, ${per_second} a second` : ''
  const left = seconds_left === null ? '' : `, about ${spanText(seconds_left * 1000)} left`
  return `${row.id} ${row.action} ${row.state}: ${row.done} done, ${row.skipped} skipped, ${row.failed} failed of ${matchedWords(matched)}${pace}${left}`
}

export const bulk = command({
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
  run: (args, terminal) =>
    withContext(args, async (context) => {
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
      if (args.dryRun) return terminal.data(preview, () => `would ${wish.action} ${many}`)
      await terminal.confirm(`${wish.action} ${many}`, args.yes)
      const job = await beginJob({ store, clock: deps.clock }, wish)
      terminal.data(jobRecord(job), () => `${job.id} begins; see postern job show ${job.id}`)
    }),
})

const find = async ({ store, account }: CliContext, id: string): Promise<JobRow> => {
  const row = await store.job(account.id, id)
  if (row === null) throw new Fault('job.not_found')
  return row
}

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

const show = command({
  usage: 'show <id>',
  summary: 'How far a job is',
  positionals: ID,
  examples: [['$0 job show job_01…', '']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const row = await find(context, args.id)
      terminal.data(jobRecord(row), () => progress(row))
      if (row.lastError !== null) terminal.say(row.lastError)
    }),
})

const cancel = command({
  usage: 'cancel <id>',
  summary: 'End a job that runs; what it has done stays done',
  positionals: ID,
  destroys: true,
  examples: [['$0 job cancel job_01… --yes', '']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const { account, id } = { account: context.account.id, id: args.id }
      const row = await find(context, id)
      if (args.dryRun) return terminal.data(jobRecord(row), () => `would end ${progress(row)}`)
      await terminal.confirm(`end ${progress(row)}`, args.yes)
      await context.store.cancelJob(account, id, Date.now())
      const after = await find(context, id)
      terminal.data(jobRecord(after), () => progress(after))
    }),
})

export const jobSubject: Subject = { name: 'job', commands: [list, show, cancel] }
