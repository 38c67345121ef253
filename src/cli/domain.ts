/**
 * NAME      domain - sending domains and their DKIM keys, from the command line
 *   `add` prints what to publish, `check` looks whether it is. `rotate` makes new
 *   keys beside the old ones; the next check that finds them in DNS puts them to use.
 */

import { toRfc3339 } from '../base/clock.js'
import { collect } from '../lifecycle/page.js'
import { loadDkimKey } from '../mail/dkim.js'
import {
  type CheckedRecord,
  checkedDomain,
  dnsRecords,
  domainRecord,
  domainReportRecord,
  publishedRecords,
  REPORT_KINDS,
  type ReportRecord,
  type ReportSummary,
  reportSummaryRecord,
  zoneLine,
} from '../resource/domain.js'
import { removed } from '../resource/member.js'
import type { DomainReportRow, DomainRow } from '../store/port/tenants.js'
import { checkDomain, type DomainCheck, txtLookup } from '../tenant/domain/check.js'
import {
  addDomain,
  type DomainDeps,
  findDomain,
  isSelector,
  RETIRED_KEPT_MS,
  removeDomain,
  rotateKeys,
} from '../tenant/domain/domain.js'
import { boundsOf, summariseReports } from '../tenant/domain/reports.js'
import { command, type Subject } from './command.js'
import {
  type CliContext,
  RESOLVER,
  readResolver,
  readSecretFile,
  storeCommand,
  withContext,
} from './context.js'
import { badInput, usage } from './exit.js'
import { agreed, listing, tellRecord } from './list.js'
import { type Paint, readPast, tableOf } from './table.js'
import { tellProgress } from './terminal.js'

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

const domainReportsCommand = command({
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

const depsOf = ({ deps, store }: CliContext): DomainDeps => ({ ...deps, store })

const zoneLines = (records: readonly ReportRecord[]): string => records.map(zoneLine).join('\n')

const REF = { ref: { type: 'string', demandOption: true, describe: 'Name or id' } } as const

/** The key that is to be brought along; an error names its file, never its content. */
const broughtBy = async (args: {
  readonly dkimKeyFile?: string | undefined
  readonly selector?: string | undefined
}) => {
  const { dkimKeyFile: file, selector } = args
  if (file === undefined && selector === undefined) return undefined
  if (file === undefined) throw usage('--selector: it is the one of --dkim-key-file, which is missing')
  if (selector === undefined) throw usage('--selector: is missing; under which name is that key published?')
  if (!isSelector(selector)) throw usage(`--selector: ${selector} is no selector such as s1`)
  const pem = await readSecretFile(file)
  try {
    loadDkimKey(pem)
  } catch (error) {
    throw badInput(`${file}: ${(error as Error).message}`)
  }
  return [{ selector, pem }]
}

const add = command({
  usage: 'add <name>',
  summary: 'Sign the mail of a domain; prints what to publish',
  positionals: { name: { type: 'string', demandOption: true, describe: 'Such as shop.example' } },
  options: {
    workspace: { type: 'string', describe: 'Only for this workspace, by id or slug' },
    'dkim-key-file': {
      type: 'string',
      describe: 'A private key in PEM that signs already, instead of two that are made',
      requiresArg: true,
    },
    selector: {
      type: 'string',
      describe: 'Under which it is published, with --dkim-key-file',
      requiresArg: true,
    },
  },
  examples: [
    ['$0 domain add shop.example', ''],
    ['$0 domain add shop.example --dkim-key-file s1.pem --selector s1', 'bring the key of before along'],
  ],
  run: async (args, terminal) => {
    const brought = await broughtBy(args)
    return withContext(args, async (context) => {
      const row = await addDomain(depsOf(context), context.account.id, { ...args, brought })
      await tellRecord(context, terminal, domainRecord(row), () =>
        zoneLines(publishedRecords(row, context.config.bounce.domain)),
      )
      terminal.say(`next: publish these records, then: postern domain check ${row.name}`)
    })
  },
})

const signers = (row: DomainRow): string =>
  row.keys
    .filter(({ state }) => state === 'active')
    .map(({ selector }) => selector)
    .join(' ')

const list = listing({
  path: 'domain list',
  summary: 'All sending domains, newest first',
  examples: [['$0 domain list', '']],
  what: 'sending domains',
  next: 'postern domain add shop.example',
  rows:
    ({ store, account }) =>
    (page) =>
      store.domains(account.id, page),
  record: domainRecord,
  isManaged: true,
  columns: [
    ['domain', 'name'],
    ['verified', ({ verifiedAt }) => (verifiedAt === null ? 'no' : 'yes')],
    ['signs with', signers],
    ['workspace', ({ workspaceId }) => workspaceId ?? 'all'],
    ['id', 'id'],
  ],
})

const show = storeCommand({
  usage: 'show <ref>',
  summary: 'What to publish for a domain',
  positionals: REF,
  examples: [['$0 domain show shop.example', 'lines for the zone file']],
  run: async (context, args, terminal) => {
    const row = await findDomain(depsOf(context), context.account.id, args.ref)
    await tellRecord(context, terminal, domainRecord(row), () =>
      zoneLines(publishedRecords(row, context.config.bounce.domain)),
    )
  },
})

const seenText = ({ seen, state }: CheckedRecord): string => {
  if (seen === 'ok') return 'ok'
  return state === null ? 'advised' : state === 'active' ? seen : `${seen} (${state})`
}

const checkedTable = tableOf<CheckedRecord>([
  [
    'result',
    seenText,
    { paint: (paint, text) => paint[text === 'ok' ? 'green' : text === 'advised' ? 'dim' : 'red'](text) },
  ],
  ['record', 'name'],
  ['found', 'found'],
])

const check = storeCommand({
  usage: 'check [ref]',
  summary: 'Look in DNS for the records of a domain, or of all',
  positionals: { ref: { type: 'string', describe: 'Name or id; all when left out' } },
  options: RESOLVER,
  examples: [['$0 domain check shop.example', '']],
  run: async (context, args, terminal) => {
    const resolver = readResolver(args.resolver)
    const deps = depsOf(context)
    const rows =
      args.ref === undefined
        ? await collect((page) => context.store.domains(context.account.id, page))
        : [await findDomain(deps, context.account.id, args.ref)]
    const lookup = txtLookup(resolver ?? null)
    const checks: DomainCheck[] = []
    const progress = tellProgress(terminal, rows.length)
    for (const row of rows) {
      checks.push(await checkDomain(deps, row, lookup))
      progress(checks.length)
    }
    const records = checks.map((one) => checkedDomain({ ...one.row, records: one.records }))
    await tellRecord(context, terminal, args.ref === undefined ? records : records[0], (paint) =>
      checkedTable(
        paint,
        checks.flatMap((one) => one.records),
      ),
    )
    for (const { row } of checks) {
      terminal.say(row.verifiedAt === null ? `${row.name}: not verified` : `${row.name}: verified`)
    }
    return checks.every(({ row }) => row.verifiedAt !== null) ? 0 : 69
  },
})

const rotate = storeCommand({
  usage: 'rotate <ref>',
  summary: 'Make new keys; they sign once `domain check` finds them in DNS',
  positionals: REF,
  options: { now: { type: 'boolean', describe: 'Sign with them at once, published or not' } },
  examples: [['$0 domain rotate shop.example', '']],
  run: async (context, args, terminal) => {
    const row = await rotateKeys(depsOf(context), context.account.id, args.ref, args.now === true)
    const fresh = dnsRecords(row).filter(({ state }) => state === (args.now ? 'active' : 'next'))
    await tellRecord(context, terminal, domainRecord(row), () => zoneLines(fresh))
    terminal.say(`next: publish these beside the old ones, then: postern domain check ${row.name}`)
    terminal.say(`the old records may go ${RETIRED_KEPT_MS / 86_400_000} days after that`)
  },
})

const remove = storeCommand({
  usage: 'remove <ref>',
  summary: 'Sign for a domain no more; its keys are gone for good',
  positionals: REF,
  destroys: true,
  examples: [['$0 domain remove shop.example --dry-run', 'see first what goes']],
  run: async (context, args, terminal) => {
    const deps = depsOf(context)
    const row = await findDomain(deps, context.account.id, args.ref)
    const [what, asked] = [`remove ${row.name} and its keys`, `remove the domain ${row.name} and its keys`]
    if (!(await agreed(context, terminal, args, domainRecord(row), what, asked))) return
    await removeDomain(deps, context.account.id, row.id)
    terminal.data(removed('domain', row.id), () => `removed ${row.name}`)
  },
})

export const domainSubject: Subject = {
  name: 'domain',
  commands: [list, show, add, check, domainReportsCommand, rotate, remove],
}
