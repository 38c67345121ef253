/**
 * NAME      stats - what was counted, on the command line
 *   The answer of GET /v1/statistics, with bars where a person looks at it: as wide
 *   as the terminal, and none in a file or a pipe.
 */
import { type FieldError, throwInvalid } from '../base/fault.js'
import { type GroupBy, INTERVALS, type NameField, readQuestion } from '../statistics/ask.js'
import { countedUntil, namesOf, type StatisticsRecord, statisticsRecord } from '../statistics/record.js'
import { report } from '../statistics/report.js'
import { findWorkspace } from '../tenant/workspace.js'

import { storeCommand } from './context.js'
import { usage } from './exit.js'
import { type Columns, fields, type Paint, padTo, readSpan, spanText, tableOf, widthOf } from './table.js'
import type { Terminal } from './terminal.js'

const BY = {
  workspace: 'workspace',
  pool: 'pool',
  domain: 'recipient_domain',
  provider: 'provider',
  upstream: 'upstream',
  tag: 'tag',
  category: 'category',
} as const satisfies Readonly<Record<string, GroupBy>>

const NAMES: Readonly<Record<string, string>> = { group_by: 'by' }
const nameOf: NameField = (field) => `--${NAMES[field] ?? field}`

type Figures = StatisticsRecord['totals']

interface Line {
  readonly label: string
  readonly one: Figures
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const isUtf8 = (): boolean =>
  /utf-?8/i.test(process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG || '')

/** A bar of `share` of so many columns. */
const bar = (share: number, columns: number): string => {
  const eighths = Math.round(share * columns * 8)
  if (!isUtf8()) return '#'.repeat(Math.round(eighths / 8))
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
}

const percent = (rate: number | null): string | null =>
  rate === null ? null : `${(rate * 100).toFixed(rate > 0 && rate < 0.01 ? 2 : 1)}%`

const seconds = (s: number | null): string | null => (s === null ? null : spanText(s * 1000))

const COLUMNS: Columns<Line> = [
  ['accepted', ({ one }) => one.accepted],
  ['sent', ({ one }) => one.sent],
  ['delivered', ({ one }) => one.delivered],
  ['deferred', ({ one }) => one.deferred],
  ['bounced', ({ one }) => one.bounced.total],
  ['complained', ({ one }) => one.complained],
  ['bounce rate', ({ one }) => percent(one.rates.bounced)],
  ['p95', ({ one }) => seconds(one.time_to_sent.p95)],
]

/** Where a bar starts to say something. */
const NARROWEST = 6
const WIDEST = 60

/** The table, and behind it bars of what `sizeOf` says, where there is room for them. */
const drawn = (
  terminal: Terminal,
  paint: Paint,
  first: string,
  rows: readonly Line[],
  sizeOf: (figures: Figures) => number,
): string => {
  const text = tableOf<Line>([[first, 'label'], ...COLUMNS])(paint, rows)
  const [head = '', ...lines] = text.split('\n')
  const used = Math.max(...[head, ...lines].map(widthOf)) + 2
  const room = Math.min(WIDEST, paint.width - used - 1)
  // where a line of the table takes two there is no room either
  if (!terminal.isTty || room < NARROWEST || lines.length !== rows.length) return text
  const most = Math.max(1, ...rows.map(({ one }) => sizeOf(one)))
  return [
    head,
    ...rows.map(({ one }, i) => {
      const size = sizeOf(one)
      const line = lines[i] ?? ''
      return size === 0 ? line : `${padTo(line, used)}${paint.cyan(bar(size / most, room))}`
    }),
  ].join('\n')
}

/** `2026-11-20 15:00` in the zone, as far as the interval needs it. */
const timeText = (at: string, { interval, tz }: StatisticsRecord): string => {
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: tz,
    dateStyle: 'short',
    timeStyle: 'short',
  }).format(new Date(at))
  return interval === 'day' ? text.slice(0, 10) : text
}

const volumeOf = ({ accepted, sent, bounced }: Figures): number => accepted || sent + bounced.total

const head = (paint: Paint, told: StatisticsRecord): string => {
  const { totals } = told
  const { hard, soft, by_category } = totals.bounced
  const categories = Object.entries(by_category).map(([name, n]) => `${name} ${n}`)
  const times = ({ p50, p95, p99 }: Figures['time_to_sent']): string =>
    `p50 ${seconds(p50) ?? '-'}, p95 ${seconds(p95) ?? '-'}, p99 ${seconds(p99) ?? '-'}`
  const others = ['suppressed', 'canceled', 'dropped', 'greylisted'] as const
  const more = others.filter((name) => totals[name] > 0).map((name) => `, ${totals[name]} ${name}`)
  return fields(paint, [
    ['from', `${timeText(told.from, told)} to ${timeText(told.to, told)} ${told.tz}, ${told.mode} mail`],
    ['recipients', `${totals.accepted} accepted${more.join('')}`],
    ['delivered', `${totals.delivered}, ${percent(totals.rates.delivered) ?? '-'} of those tried`],
    [
      'bounced',
      `${hard} hard, ${soft} soft, ${percent(totals.rates.bounced) ?? '-'} of those tried${categories.length === 0 ? '' : ` (${categories.join(', ')})`}`,
    ],
    ['complained', `${totals.complained}, ${percent(totals.rates.complained) ?? '-'} of those sent`],
    ['until sent', times(totals.time_to_sent)],
    ['until delivered', times(totals.time_to_delivered)],
  ])
}

const show = (terminal: Terminal, paint: Paint, told: StatisticsRecord): string => {
  const isGrouped = told.group_by !== 'none'
  const rows = isGrouped
    ? told.groups.map((one) => ({ label: one.name ?? one.key ?? '(others)', one: one.totals }))
    : told.data.map((one) => ({ label: timeText(one.at, told), one }))
  const first = isGrouped ? told.group_by.replace('recipient_', '') : 'time'
  const below = drawn(terminal, paint, first, rows, volumeOf)
  return [head(paint, told), below].filter((part) => part !== '').join('\n\n')
}

/** `2d` is two days ago; all else is as it is. */
const moment = (text: string | undefined, now: number): string | undefined => {
  const span = readSpan(text ?? '')
  return Number.isNaN(span) ? text : new Date(now - span).toISOString()
}

const LIMIT = /^(?:[1-9][0-9]?|100)$/

export const statsCommand = storeCommand({
  usage: 'stats',
  summary: 'How much was accepted, sent, delivered and bounced, and how fast',
  options: {
    by: { choices: Object.keys(BY) as (keyof typeof BY)[], describe: 'In groups, the busiest first' },
    from: {
      type: 'string',
      requiresArg: true,
      describe: 'A day, a time, or a span such as 2d; by default a day ago',
    },
    to: { type: 'string', requiresArg: true, describe: 'Likewise; by default now' },
    interval: { choices: INTERVALS, describe: 'How long each line is; by default hour' },
    tz: { type: 'string', requiresArg: true, describe: 'Time zone, such as Asia/Tashkent; by default UTC' },
    workspace: { type: 'string', requiresArg: true, describe: 'Only this workspace, by id or slug' },
    mode: { choices: ['live', 'test'], describe: 'Which mail; by default live' },
    tag: { type: 'string', requiresArg: true, describe: 'With --by tag: the values of this name' },
    limit: { type: 'string', requiresArg: true, describe: 'How many groups, 1 to 100; by default 10' },
  },
  examples: [
    ['$0 stats --interval day --from 30d --tz Asia/Tashkent', 'the last month, day by day'],
    ['$0 stats --by domain', 'where the mail of the last day went'],
  ],
  run: async ({ store, deps, account }, args, terminal) => {
    if (args.limit !== undefined && !LIMIT.test(args.limit))
      throw usage(`--limit: ${args.limit} is not a number from 1 to 100`)
    const now = deps.clock.now()
    const errors: FieldError[] = []
    const words = {
      from: moment(args.from, now),
      to: moment(args.to, now),
      interval: args.interval as (typeof INTERVALS)[number] | undefined,
      groupBy: args.by === undefined ? undefined : BY[args.by as keyof typeof BY],
      tag: args.tag,
      tz: args.tz,
      limit: args.limit === undefined ? undefined : Number(args.limit),
    }
    const question = readQuestion(words, now, nameOf, errors)
    throwInvalid(errors)
    const workspaceId =
      args.workspace === undefined ? null : (await findWorkspace(deps, account.id, args.workspace)).id
    const asOf = await countedUntil(store, now)
    const ask = async (mode: 'live' | 'test'): Promise<StatisticsRecord> => {
      const scope = { accountId: account.id, workspaceId, mode }
      const told = await report(store, scope, question)
      return statisticsRecord(
        scope,
        question,
        told,
        await namesOf(store, account.id, question.groupBy, told),
        asOf,
      )
    }
    const asked = await ask(args.mode === 'test' ? 'test' : 'live')
    const isEmpty = args.mode === undefined && volumeOf(asked.totals) === 0
    // who has a test key only, as in `postern dev`, wants to see what it sent; a program gets what it asked for
    const other = isEmpty && !args.json ? await ask('test') : asked
    const record = volumeOf(other.totals) > 0 ? other : asked
    terminal.data(record, (paint) => show(terminal, paint, record))
    if (isEmpty)
      terminal.say(
        record === asked
          ? 'no live mail in that time; mail of test keys: --mode test'
          : 'no live mail in that time: this is mail of test keys',
      )
    const late = now - asOf
    if (late > 60_000) terminal.say(`counted up to ${record.as_of}: what is later comes when the daemon runs`)
  },
})
