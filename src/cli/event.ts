/**
 * NAME      event - the log of events, from the command line
 *   The same filters as GET /v1/events. Reads the store itself, so it also works
 *   while the daemon is down. `tail` says its last mark when it ends, and goes on
 *   from it with --after: nothing is lost or told twice in between.
 *   Reads the store ten times a second until the process is interrupted. What was given to `tell` is below the mark that
 *   is answered, and nothing else is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type EventType, nearestEventType, readEventType } from '../mail/event-type.js'
import { loggedEvent, MarkCodec } from '../record/event.js'
import type { EventLog, LogFilter, LogRow } from '../store/port/log.js'
import { findWorkspace } from '../tenant/workspace.js'
import type { OptionArgs, Subject } from './command.js'
import { type CliContext, storeCommand } from './context.js'
import { badInput } from './exit.js'
import { listing } from './list.js'
import { AT, clean, type Paint, paintStatus, readPast } from './table.js'
import type { Terminal } from './terminal.js'

const LOOK_MS = 100
const STEP = 500

interface Following {
  readonly store: Pick<EventLog, 'follow' | 'logEnds'>
  readonly filter: LogFilter
  /** A mark of the store. */
  readonly from: string
  readonly tell: (rows: readonly LogRow[]) => Promise<void> | void
  /** The log can not be followed from where we were; it goes on at the oldest mark. */
  readonly gap: () => void
}

/** The mark up to which everything was told. */
export const followLog = async ({ store, filter, from, tell, gap }: Following): Promise<string> => {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  let mark = from
  while (!ended.signal.aborted) {
    const read = await store.follow(filter, mark, STEP)
    if (read === 'gone') {
      gap()
      mark = (await store.logEnds()).oldest
      continue
    }
    await tell(read.rows)
    mark = read.mark
    if (read.isEnd) await sleep(LOOK_MS, undefined, { signal: ended.signal }).catch(() => {})
  }
  return mark
}

const FILTERS = {
  workspace: { type: 'string', describe: 'Only this workspace, by id or slug' },
  mode: { choices: ['live', 'test'], describe: 'Only of live or only of test mail' },
  type: { type: 'string', array: true, describe: 'Only these types, such as email.bounced' },
  email: { type: 'string', describe: 'Only of this mail, by id' },
  recipient: { type: 'string', describe: 'Only of mail to this address' },
  change: { type: 'boolean', describe: 'Only changes of status; --no-change: only notes' },
  since: { type: 'string', describe: 'Only newer: 2h, or an RFC 3339 time' },
} as const

type FilterArgs = OptionArgs<typeof FILTERS> & { readonly until?: string | undefined }

const readTypes = (texts: readonly string[] | undefined): readonly EventType[] | null =>
  texts?.map((text) => {
    const type = readEventType(text)
    if (type === null)
      throw badInput(`--type: ${text} is no type of event; did you mean ${nearestEventType(text)}?`)
    return type
  }) ?? null

const filterOf = async ({ deps, account }: CliContext, args: FilterArgs): Promise<LogFilter> => {
  const workspace =
    args.workspace === undefined ? null : await findWorkspace(deps, account.id, args.workspace)
  return {
    accountId: account.id,
    workspaceId: workspace?.id ?? null,
    accountWide: workspace === null,
    mode: args.mode ?? null,
    types: readTypes(args.type),
    emailId: args.email ?? null,
    recipient: args.recipient ?? null,
    change: args.change ?? null,
    createdAfter: readPast('since', args.since),
    createdBefore: readPast('until', args.until),
  }
}

/** What it is about: a mail's recipient, or the first thing that the data names. */
const subjectOf = (row: LogRow): unknown => row.recipient ?? row.emailId ?? Object.values(row.data ?? {})[0]

const words = ({ reply, reason }: LogRow): string | null =>
  reply === null ? reason : [reply.code, reply.enhanced, reply.text].filter((part) => part !== null).join(' ')

const paintType = (paint: Paint, type: string): string => {
  const status = type.slice('email.'.length)
  return type.startsWith('email.') ? `email.${paintStatus(paint, status)}` : type
}

const list = listing({
  path: 'event list',
  summary: 'The latest events, newest first',
  options: { ...FILTERS, until: { type: 'string', describe: 'Only older: 2h, or an RFC 3339 time' } },
  examples: [['$0 event list --type email.bounced --since 24h', 'what bounced since yesterday']],
  what: 'events',
  next: 'postern send --help',
  most: 20,
  rows: async (context, args) => {
    const filter = await filterOf(context, args)
    return (page) => context.store.log(filter, page)
  },
  record: loggedEvent,
  columns: [
    ['at', 'occurredAt', AT],
    ['event', 'type', { paint: paintType }],
    ['id', ({ emailId, id }) => emailId ?? id],
    ['about', subjectOf],
    ['reply', words],
  ],
})

const lineOf = (paint: Paint, row: LogRow): string => {
  const parts = [row.emailId ?? row.id, subjectOf(row), words(row)].filter((part) => part != null).map(clean)
  return `${paint.dim(new Date(row.occurredAt).toISOString())}  ${paintType(paint, row.type)}  ${parts.join('  ')}`
}

/** Where to begin: at a mark, at the oldest for a time in the past, else now. */
const beginning = async (
  { store, account }: CliContext,
  marks: MarkCodec,
  args: { after?: string | undefined; since?: string | undefined },
): Promise<string> => {
  if (args.after !== undefined) {
    const mark = marks.read(args.after, account.id)
    if (mark === null || !store.isMark(mark)) throw badInput('--after: this is no mark of this log')
    return mark
  }
  const { oldest, newest } = await store.logEnds()
  return args.since === undefined ? newest : oldest
}

const tell = (terminal: Terminal, rows: readonly LogRow[]): void => {
  for (const row of rows) {
    terminal.write(terminal.json ? JSON.stringify(loggedEvent(row)) : lineOf(terminal.paint, row))
  }
}

const tail = storeCommand({
  usage: 'tail',
  summary: 'Follow the log until interrupted; with --json a record a line',
  options: {
    ...FILTERS,
    after: { type: 'string', describe: 'Go on from this mark: of an earlier tail, or an id of the stream' },
  },
  examples: [['$0 event tail --type email.bounced --type email.complained', 'bad news as it comes']],
  run: async (context, args, terminal) => {
    const { store, account, deps } = context
    const marks = new MarkCodec(deps.pepper)
    const from = await beginning(context, marks, args)
    const filter = await filterOf(context, args)
    terminal.say('following; ^C ends')
    const gap = (): void => terminal.say('that mark is older than the log; going on from the oldest event')
    const mark = await followLog({ store, filter, from, gap, tell: (rows) => tell(terminal, rows) })
    terminal.say(`go on with --after ${marks.write(mark, account.id)}`)
  },
})

export const eventSubject: Subject = { name: 'event', commands: [list, tail] }
