/**
 * NAME      suppression - addresses not to write to, and those that bounced for good at the same time
 *   CSV out; `postern import` reads it again, and stands here, too.
 */

import type { Page } from '../lifecycle/page.js'
import { partsOfEntry } from '../lifecycle/suppress.js'
import { incidentText, incident as record } from '../record/queue.js'
import { removed } from '../resource/member.js'
import { suppressionRecord } from '../resource/tenants.js'
import { SUPPRESSION_ORIGINS, type SuppressionRow } from '../store/port/tenants.js'
import type { Decision, KnownIncident } from '../store/port/watch.js'
import {
  addSuppression,
  decideIncident,
  entryWords,
  findEntry,
  findIncident,
  findSuppression,
  removeSuppression,
  stillWords,
} from '../tenant/suppression.js'
import { type Command, command, type Globals, type Subject, WHY } from './command.js'
import { type CliContext, storeCommand, withContext } from './context.js'
import { badInput, usage } from './exit.js'
import { importCommand } from './import.js'
import { agreed, listing } from './list.js'
import { LIST, PLACE, type PlaceArgs, placeOf } from './suppression-place.js'
import { AT, type Columns, EXPIRES, readInstant, tableOf } from './table.js'

const INCIDENT_COLUMNS: Columns<KnownIncident> = [
  ['id', 'id'],
  ['domain', ({ domain }) => (domain === '' ? 'several' : domain)],
  ['said', ({ said }) => (said === '' ? 'several texts' : said)],
  ['refused', incidentText],
  ['pending', 'pending'],
  ['since', 'createdAt', AT],
  ['decision', ({ decision }) => decision ?? 'open'],
]

const incidentList = listing({
  path: 'suppression incidents [id]',
  summary: 'Hard bounces that came together, whose suppressions wait for a decision, newest first',
  positionals: { id: { type: 'string', describe: 'Only this one, inc_…' } },
  options: { all: { type: 'boolean', describe: 'Also those that are decided' } },
  examples: [['$0 suppression incidents --all', 'also those of before']],
  what: 'incidents',
  next: null,
  rows:
    ({ store, account }, args) =>
    (page) =>
      store.incidents(account.id, null, args.all !== true, page),
  record,
  columns: INCIDENT_COLUMNS,
})

const incidents: Command = {
  ...incidentList,
  /** One that is named is one record, and no list. */
  run: async (args, terminal) => {
    const { id, ...globals } = args as Globals & { readonly id?: string }
    if (id === undefined) return incidentList.run(args, terminal)
    await withContext(globals, async ({ store, account }) => {
      const row = await findIncident(store, account.id, id, null)
      terminal.data(record(row), (paint) => tableOf(INCIDENT_COLUMNS)(paint, [row]))
    })
    return undefined
  },
}

const deciding = (verb: string, decision: Decision, summary: string, done: string) =>
  storeCommand({
    usage: `${verb} <incident>`,
    summary,
    examples: [[`$0 suppression ${verb} inc_01…`, '']],
    positionals: { incident: { type: 'string', demandOption: true, describe: 'Its id, inc_…' } },
    run: async ({ deps, store, account }, args, terminal) => {
      const find = () => findIncident(store, account.id, args.incident, null)
      const many = await decideIncident(deps, await find(), decision)
      terminal.data(record(await find()), () => `${many} addresses ${done}`)
    },
  })

const incidentCommands = [
  incidents,
  deciding('accept', 'accepted', 'The addresses of an incident are dead: suppress them', 'are suppressed'),
  deciding('dismiss', 'dismissed', 'The addresses of an incident live: forget its suppressions', 'go on'),
]

const emailOf = ({ email }: SuppressionRow): string => partsOfEntry(email).email

const ORIGIN = {
  origin: { choices: SUPPRESSION_ORIGINS, describe: 'Only these' },
} as const

/** A page of what is on the list, or of what is pending. */
const pagesOf = async (
  context: CliContext,
  args: PlaceArgs & {
    readonly origin?: SuppressionRow['origin'] | undefined
    readonly pending?: boolean | undefined
    readonly list?: string | undefined
  },
) => {
  if (args.pending === true && args.origin !== undefined) throw usage('--origin: what is pending has bounced')
  if (args.pending === true && args.list !== undefined) throw usage('--list: what is pending is for all mail')
  const { id } = await placeOf(context, args)
  return (page: Page) =>
    args.pending === true
      ? context.store.pendingSuppressions(id, page)
      : context.store.suppressions(id, args.origin ?? null, page, args.list)
}

const COLUMNS: Columns<SuppressionRow> = [
  ['email', emailOf],
  ['origin', 'origin'],
  ['reason', 'reason'],
  ['created', 'createdAt', AT],
  ['expires', 'expiresAt', EXPIRES],
  ['list', ({ email }) => partsOfEntry(email).mailingList],
]

const rowsTable = tableOf(COLUMNS)

/** What import reads. */
const EXPORTED: Columns<SuppressionRow> = [
  ['email', emailOf],
  ['reason', 'reason'],
  ['origin', 'origin'],
  ['created_at', 'createdAt', AT],
  ['expires_at', 'expiresAt', AT],
  ['list', ({ email }) => partsOfEntry(email).mailingList],
]

const list = listing({
  path: 'suppression list',
  summary: 'Suppressed addresses, newest first (export has all of them)',
  options: {
    ...PLACE,
    ...LIST,
    ...ORIGIN,
    pending: {
      type: 'boolean',
      describe: 'Those that wait for the decision of an incident, and suppress nobody',
    },
  },
  examples: [['$0 suppression list --origin complaint', 'who complained']],
  what: 'suppressed addresses',
  next: 'postern import FILE, or add ADDRESS',
  rows: pagesOf,
  record: suppressionRecord,
  columns: COLUMNS,
})

const show = storeCommand({
  usage: 'show <ref>',
  summary: 'One suppressed address',
  positionals: { ref: { type: 'string', demandOption: true, describe: 'Its address, or its id, sup_…' } },
  options: { ...PLACE, ...LIST },
  examples: [['$0 suppression show ana@example.com', '']],
  run: async (context, args, terminal) => {
    const row = await findSuppression(context.deps, await placeOf(context, args), args.ref, args.list)
    terminal.data(suppressionRecord(row), (paint) => rowsTable(paint, [row]))
  },
})

const instantOf = (text: string | undefined, name: string): number | null => {
  if (text === undefined || text === '') return null
  const at = readInstant(text)
  if (Number.isNaN(at)) throw badInput(`${name}: ${text} is neither 90d nor an RFC 3339 time`)
  return at
}

const add = command({
  usage: 'add <email..>',
  summary: 'Write to these addresses no more',
  positionals: {
    email: {
      ...{ type: 'string', array: true, demandOption: true },
      describe: 'Addresses, or *@example.com for a whole domain',
    },
  },
  options: {
    ...PLACE,
    ...LIST,
    reason: { type: 'string', describe: 'Why' },
    expires: { type: 'string', describe: 'Until when: 90d, or an RFC 3339 time; else for good' },
  },
  examples: [
    ['$0 suppression add ana@example.com --reason "asked us to stop"', ''],
    ["$0 suppression add '*@example.com'", 'all of a domain, without its subdomains'],
  ],
  run: async (args, terminal) => {
    const expiresAt = instantOf(args.expires, '--expires')
    await withContext(args, async (context) => {
      const { deps } = context
      const place = await placeOf(context, args)
      const wish = { reason: args.reason, expiresAt, mailingList: args.list }
      const rows: SuppressionRow[] = []
      for (const email of args.email) {
        rows.push(await addSuppression(deps, place, { ...wish, email }, email))
      }
      terminal.data(
        rows.length === 1 ? rows.map(suppressionRecord)[0] : rows.map(suppressionRecord),
        (paint) => rowsTable(paint, rows),
      )
    })
  },
})

const remove = storeCommand({
  usage: 'remove <ref>',
  summary: 'Write to an address again',
  positionals: { ref: { type: 'string', demandOption: true, describe: 'Id or address' } },
  options: { ...PLACE, ...LIST, ...WHY },
  destroys: true,
  examples: [['$0 suppression remove ana@example.com --yes', '']],
  run: async (context, args, terminal) => {
    const { deps } = context
    const place = await placeOf(context, args)
    const row = await findEntry(deps, place, args.ref, args.list)
    const what = `remove ${entryWords(row.email)} (${row.origin})`
    const asked = `${what} from the suppressions`
    if (!(await agreed(context, terminal, args, suppressionRecord(row), what, asked))) return
    const { still } = await removeSuppression(deps, place, row.id)
    terminal.data(
      { ...removed('suppression', row.id), ...(still !== null && { still: suppressionRecord(still) }) },
      () => `removed ${entryWords(row.email)}${still === null ? '' : `; ${stillWords(still)} all the same`}`,
    )
  },
})

const exportAll = listing({
  path: 'suppression export',
  summary: 'All suppressed addresses as CSV',
  options: { ...PLACE, ...LIST, ...ORIGIN },
  examples: [['$0 suppression export > suppressed.csv', '']],
  what: 'suppressed addresses',
  next: null,
  isExport: true,
  rows: pagesOf,
  record: suppressionRecord,
  columns: EXPORTED,
})

export const suppressionSubject: Subject = {
  name: 'suppression',
  commands: [list, show, add, remove, ...incidentCommands, importCommand, exportAll],
}
