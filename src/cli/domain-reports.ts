/**
 * NAME      domain-reports - what receivers reported of a domain, from the command line
 * DESCRIPTION
 *   The sum of a span, as the page has it; with --list each report. Where nobody has reported yet: what to publish.
 */
import { toRfc3339 } from '../base/clock.js'
import { collect } from '../lifecycle/page.js'
import { zoneLine } from '../resource/domain.js'
import {
  domainReportRecord,
  REPORT_KINDS,
  type ReportSummary,
  reportSummaryRecord,
} from '../resource/domain-report.js'
import type { DomainReportRow } from '../store/port/tenants.js'
import { findDomain } from '../tenant/domain/domain.js'
import { boundsOf, summariseReports } from '../tenant/domain/reports.js'
import { command } from './command.js'
import { withContext } from './context.js'
import { usage } from './exit.js'
import { type Paint, tableOf } from './table.js'
import { readPast } from './time.js'

/** --list prints no more. */
const MOST = 1_000

const share = (part: number, of: number): string => (of === 0 ? '' : ` (${((part * 100) / of).toFixed(1)} %)`)

const day = (at: number): string => toRfc3339(at).slice(0, 10)

const sources = tableOf<ReportSummary['sources'][number]>([
  ['source', ({ address }) => address ?? 'all others'],
  ['whose', 'origin'],
  ['mails', 'messages'],
  ['failed', 'failed', { paint: (paint, text) => (text === '0' ? text : paint.red(text)) }],
  ['dkim', 'dkim'],
  ['spf', 'spf'],
])

const reporters = tableOf<ReportSummary['reporters'][number]>([
  ['as reported by', 'reporter'],
  ['about', ({ kind }) => (kind === 'dmarc' ? 'mail' : 'TLS')],
  ['reports', 'reports'],
  ['total', 'total'],
  ['failed', 'failed'],
])

const failures = tableOf<ReportSummary['tls']['failures'][number]>([
  ['TLS failed by', 'type'],
  ['at', 'mx'],
  ['sessions', 'sessions'],
])

const reports = tableOf<DomainReportRow>([
  ['about', ({ kind }) => (kind === 'dmarc' ? 'mail' : 'TLS')],
  ['from', 'begins', { time: 'at' }],
  ['as reported by', 'reporter'],
  ['total', 'total'],
  ['failed', 'failed'],
  ['policy', 'policy'],
])

const drawn = (paint: Paint, summary: ReportSummary): string => {
  const { mail, own, tls, policy } = summary
  const lines = [
    `${summary.domain}, ${day(summary.begins)} to ${day(summary.ends)}: ${summary.reports} reports${summary.isCut ? ', the newest of more' : ''}`,
    ...(policy === null ? [] : [`policy as found: ${policy}`]),
    `mail: ${mail.messages}, failed ${mail.failed}${share(mail.failed, mail.messages)}; of your own sources ${own.messages}, failed ${own.failed}${share(own.failed, own.messages)}`,
    `TLS: ${tls.sessions} sessions, failed ${tls.failed}${share(tls.failed, tls.sessions)}`,
    ...(summary.reports === 0 ? [] : ['this is what reporters say: nothing proves who wrote a report']),
  ]
  const tables = [
    summary.sources.length > 0 && sources(paint, summary.sources),
    summary.reporters.length > 0 && reporters(paint, summary.reporters),
    tls.failures.length > 0 && failures(paint, tls.failures),
  ]
  return [lines.join('\n'), ...tables.filter((table) => table !== false)].join('\n\n')
}

export const domainReportsCommand = command({
  usage: 'reports <ref>',
  summary: 'What receivers reported of a domain: DMARC and TLS',
  positionals: { ref: { type: 'string', demandOption: true, describe: 'Name or id' } },
  options: {
    since: { type: 'string', describe: 'Spans that began from then on: 7d, or an RFC 3339 time; else 30d' },
    until: { type: 'string', describe: 'And before then' },
    list: { type: 'boolean', describe: 'Each report, newest first, instead of their sum' },
    kind: { type: 'string', choices: REPORT_KINDS, describe: 'With --list: only those' },
  },
  examples: [
    ['$0 domain reports shop.example --since 7d', 'who sent mail of the domain in a week, and what failed'],
    ['$0 domain reports shop.example --list --json', 'each report, for another program'],
  ],
  run: (args, terminal) => {
    if (args.kind !== undefined && !args.list) throw usage('--kind goes with --list only')
    return withContext(args, async ({ store, account, deps, config }) => {
      const row = await findDomain({ ...deps, store }, account.id, args.ref)
      const span = { since: readPast('since', args.since), until: readPast('until', args.until) }
      if (args.list) {
        const { from } = boundsOf(span, Date.now())
        const filter = { kind: args.kind ?? null, from, to: span.until }
        const rows = await collect((page) => store.domainReports(row.id, filter, page), MOST)
        return terminal.data(rows.map(domainReportRecord), (paint) => reports(paint, rows))
      }
      const summary = await summariseReports(store, row, config.bounce.domain, span, Date.now())
      terminal.data(reportSummaryRecord(summary), (paint) => drawn(paint, summary))
      if (summary.reports > 0) return
      terminal.say('nobody has reported; these records ask receivers to:')
      for (const record of summary.publish) terminal.say(zoneLine(record))
    })
  },
})
