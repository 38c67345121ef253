/**
 * NAME      email - mails and what became of them, from the command line
 *   `show` takes an id, a Message-ID or an address and tells the story of each recipient: every attempt and every report,
 *   what was applied and what was not. `source` prints the octets as they are; with --json as base64, as `raw` of a send
 *   takes them. `resend` makes a new mail of them, which a running daemon picks up. `tail` follows the log of events in
 *   the store, so it works beside any daemon: a line for each recipient whose status changes, with its way so far; with
 *   --json the record of its mail.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault, orFault, readValid } from '../base/fault.js'
import { isId } from '../base/id.js'
import { extrasOf } from '../lifecycle/extras.js'
import type { EventRow } from '../lifecycle/facts.js'
import { collect, type Page, type Rows } from '../lifecycle/page.js'
import type { Query } from '../mail/query.js'
import {
  acceptedRecord,
  emailRecord,
  emailSummary,
  lastWordsOf,
  listedEmail,
  readContent,
} from '../record/email.js'
import { event as eventRecord } from '../record/event.js'
import { type MailWaiting, type Waiting, waitingInFull } from '../record/queue.js'
import type { LogRow } from '../store/port/log.js'
import type { EmailFilter, EmailRecord, EmailRow, EmailScope, RecipientRow } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import { nullWhenMissing } from '../store/port/upkeep.js'
import { readSchedule } from '../submission/draft.js'
import { createSubmission } from '../submission/submission.js'
import { createSenderAllowed } from '../tenant/domain/domain.js'
import { waitingOf } from '../tenant/waiting.js'
import type { Subject } from './command.js'
import { type CliContext, storeCommand } from './context.js'
import { followLog } from './event.js'
import { bulk, FILTERS, filterOf, queryOf, SEARCH } from './job.js'
import { agreed, each, listing } from './list.js'
import { relayView } from './relay-state.js'
import { AT, clean, type Paint, paintStatus, spanText } from './table.js'
import type { Terminal } from './terminal.js'

const clock = (at: number): string => new Date(at).toISOString().slice(11, 23)
const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

type Detail = NonNullable<EventRow['detail']>

/** `attempt 2 at mta1:587 TLSv1.3`, or `report from mx.example.com`. */
const where = (row: EventRow, detail: Detail): string => {
  const host = row.mta?.host ?? null
  if (row.source === 'arf') return `complaint${host === null ? '' : ` by way of ${host}`}`
  if (row.source === 'dsn') return `report from ${detail.remote_mta ?? host ?? 'an unnamed server'}`
  if (row.attempt === null) return row.source === 'operator' ? 'by an operator' : ''
  const at = host === null ? '' : ` at ${host}${detail.port == null ? '' : `:${detail.port}`}`
  return `attempt ${row.attempt}${at}${detail.tls == null ? '' : ` ${detail.tls}`}`
}

/** Details that stand elsewhere in the line. */
const TOLD = [
  'port',
  'tls',
  'stage',
  'ms',
  'remote_mta',
  'diagnostic',
  'status',
  'action',
  'class',
  'category',
  'fault',
  'tier',
  'unapplied',
  'report',
]

/** Why an event changed nothing, in words. */
const UNAPPLIED: Readonly<Record<string, string>> = {
  other_recipient: 'it is about somebody else',
  groups_disagree: 'it names none of ours, and tells of several fates',
  unclear: 'it does not say what happened, or to whom',
  never_sent: 'nothing had left yet',
  unverified: 'nobody signed for it',
  relayed_means_sent: 'in this pool relayed means sent',
  unknown_action: 'nobody knows such an action',
  not_a_complaint: 'this kind of feedback is no complaint',
  unread: 'nobody can read what it says',
  auto_reply: 'it is an automatic answer',
  stale_attempt: 'the attempt had been given up',
}

const whyNot = (unapplied: unknown): string => {
  if (typeof unapplied !== 'string') return ''
  return `: ${UNAPPLIED[unapplied] ?? unapplied.replace(/^already_/, 'already ').replaceAll('_', ' ')}`
}

const replyText = ({ code, enhanced, text }: NonNullable<EventRow['reply']>): string => {
  const start = [code, enhanced].filter((part) => part !== null).join(' ')
  return text.startsWith(start) ? text : `${start} ${text}`
}

/** What the other side said, and what we made of it. */
const said = (row: EventRow, detail: Detail): string => {
  const asides = [
    detail.class ? null : row.reason,
    row.attempt === null || detail.stage === 'dot' ? null : detail.stage && `at ${detail.stage}`,
    detail.class && [detail.class, detail.category ?? row.reason].filter(Boolean).join(' '),
    detail.tier == null || detail.tier === 'T1' ? null : `trust ${detail.tier}`,
    detail.ms == null ? null : `${detail.ms} ms`,
    ...Object.entries(detail).map(([name, value]) =>
      value === null || TOLD.includes(name) ? null : `${name.replaceAll('_', ' ')} ${value}`,
    ),
  ].filter((aside) => aside)
  const words = row.reply === null ? String(detail.diagnostic ?? '') : replyText(row.reply)
  return [words, asides.length === 0 ? '' : `(${asides.join('; ')})`].filter((part) => part !== '').join('  ')
}

const nameOf = (row: EventRow): string => row.type.replace(/^email\./, '')

const eventLine = (paint: Paint, row: EventRow, lastDay: string): string => {
  const today = day(row.occurredAt)
  const at = today === lastDay ? clock(row.occurredAt) : `${today} ${clock(row.occurredAt)}`
  const name = nameOf(row)
  const applied = row.applied ? '' : paint.dim(`  (noted, not applied${whyNot(row.detail?.unapplied)})`)
  const text = [where(row, row.detail ?? {}), said(row, row.detail ?? {})]
    .filter((part) => part !== '')
    .map(clean)
  return `  ${paint.dim(at.padStart(23))}  ${paintStatus(paint, name)}${' '.repeat(Math.max(1, 11 - name.length))}${text.join('  ')}${applied}`.trimEnd()
}

/** `waits: pool shop has no upstream`, and under it what mends it. */
const waitingLines = (paint: Paint, { plain, more, remedy, until }: Waiting): readonly string[] => {
  const end = until === null ? '' : `, until ${new Date(until).toISOString()}`
  const why = clean(`${plain}${more === null ? '' : `: ${more}`}${end}`)
  return [`waits: ${why}`, ...(remedy === null ? [] : [`${paint.dim('→')} ${clean(remedy)}`])]
}

const recipientPart = (
  paint: Paint,
  row: RecipientRow,
  events: readonly EventRow[],
  waiting: Waiting | undefined,
): string => {
  const own = events.filter((event) => event.recipientId === null || event.recipientId === row.id)
  let last = ''
  const lines = [...own].reverse().map((event) => {
    const line = eventLine(paint, event, last)
    last = day(event.occurredAt)
    return line
  })
  const late = row.dueAt === null || row.dueAt <= Date.now()
  const due = late ? '' : paint.dim(`  next try ${new Date(row.dueAt ?? 0).toISOString()}`)
  const why = waiting === undefined ? [] : waitingLines(paint, waiting).map((line) => `  ${line}`)
  return [
    `${paint.bold(clean(row.address))}  ${paintStatus(paint, row.status)}${due}`,
    ...why,
    ...lines,
  ].join('\n')
}

/** `events` newest first, as the store gives them. */
export const timeline = (
  paint: Paint,
  email: EmailRecord,
  events: readonly EventRow[],
  waiting: MailWaiting,
): string => {
  const head = [
    `${paint.bold(email.id)}  ${paintStatus(paint, email.status)}  ${clean(email.subject)}`,
    `from ${clean(email.from)}  ${email.mode} mail by ${email.source}, ${new Date(email.createdAt).toISOString()}`,
    ...extrasOf(email.extras).map(({ label, text }) => `${label.toLowerCase()} ${clean(text)}`),
    `${clean(email.messageId)}`,
  ]
  const parts = email.recipients.map((row) =>
    recipientPart(paint, row, events, waiting.recipients.get(row.id)),
  )
  return [head.join('\n'), ...parts].join('\n\n')
}

/** The way of each recipient so far: its statuses in order, and when the last one came. */
export interface Way {
  readonly address: string
  readonly steps: readonly string[]
  readonly at: number
}

/** `events` newest first, as the store gives them. */
export const waysOf = (email: EmailRecord, events: readonly EventRow[]): readonly Way[] =>
  email.recipients.map((recipient) => {
    const own = events.filter(
      (row) => row.change && (row.recipientId === null || row.recipientId === recipient.id),
    )
    const names = own.map((row) => row.type.replace(/^email\./, '')).reverse()
    return {
      address: recipient.address,
      steps: names.filter((name, i) => name !== names[i - 1]),
      at: own[0]?.occurredAt ?? email.createdAt,
    }
  })

const ID = { id: { type: 'string', demandOption: true, describe: 'Its id, em_…' } } as const

const findById = async ({ store, account }: CliContext, id: string): Promise<EmailRecord> =>
  orFault(await store.email({ accountId: account.id, workspaceId: null, mode: null }, id), 'email.not_found')

export const source = storeCommand({
  usage: 'source <id>',
  summary: 'The octets of a mail, as they are relayed',
  positionals: ID,
  examples: [['$0 email source em_01… > mail.eml', 'into a file']],
  run: async (context, args, terminal) => {
    const { id } = await findById(context, args.id)
    const raw = await context.store.body(id).catch(nullWhenMissing)
    if (raw === null) {
      const detail = `what was written in ${id} is no longer kept`
      throw new Fault('resource.conflict', { reason: 'body_gone', detail })
    }
    if (terminal.json) terminal.data({ id, raw: Buffer.from(raw).toString('base64') }, () => '')
    else terminal.writeOctets(raw)
  },
})

export const resend = storeCommand({
  usage: 'resend <id>',
  summary: 'Send a mail once more, as a new one',
  positionals: ID,
  options: {
    to: {
      type: 'string',
      array: true,
      describe: 'Who is to get it; repeatable; default those that bounced, else all',
    },
    release: {
      type: 'boolean',
      describe: 'Send a mail of test mode for real, to addresses of identity.release_to',
    },
  },
  examples: [
    ['$0 email resend em_01…', 'to those that bounced'],
    ['$0 email resend em_01… --to ana@example.com', 'to Ana alone'],
  ],
  run: async (context, args, terminal) => {
    const { store, config, deps } = context
    const record = await findById(context, args.id)
    const submission = createSubmission({
      ...{ store, config, clock: deps.clock, pepper: deps.pepper },
      senderAllowed: createSenderAllowed(store),
    })
    const { records } = await submission.resend(
      {
        record,
        store,
        to: args.to ?? null,
        toAnyone: true,
        release: args.release ? config.identity.release_to : null,
      },
      { idempotency: null, render: () => ({ status: 202, body: '' }) },
    )
    const [made] = records
    if (made === undefined) throw new Error('nothing was made')
    terminal.data(acceptedRecord(made), () => {
      const all = made.recipients.map(({ address, status }) => `${address} ${status}`)
      return `${made.id} is ${record.id} sent again, to ${all.join(', ')}`
    })
  },
})

type Reads = Pick<Store, 'email' | 'events' | 'follow' | 'logEnds' | 'searchEmails'>

interface Wanted extends EmailFilter {
  /** Null: nothing is searched for. */
  readonly query: Query | null
}

const lineOf = (paint: Paint, record: EmailRecord, way: Way): string => {
  const steps = way.steps.map((status) => paintStatus(paint, status)).join(' → ')
  const took = way.at > record.createdAt ? `  ${paint.dim(spanText(way.at - record.createdAt))}` : ''
  return `${record.id} ${clean(way.address)}  ${steps}${took}`
}

const wants = (filter: EmailFilter, record: EmailRecord): boolean => {
  const { status, to, tag, createdAfter, createdBefore } = filter
  return (
    (status === null || record.status === status) &&
    (to === null || record.recipients.some(({ address }) => address.toLowerCase() === to.toLowerCase())) &&
    (tag === null || record.tags.some(({ name, value }) => name === tag.name && value === tag.value)) &&
    (createdAfter === null || record.createdAt > createdAfter) &&
    (createdBefore === null || record.createdAt < createdBefore)
  )
}

/** Whom of each mail the events are about. */
const changedIn = (rows: readonly LogRow[]): ReadonlyMap<string, ReadonlySet<string | null>> => {
  const changed = new Map<string, Set<string | null>>()
  for (const { emailId, recipient } of rows) {
    if (emailId !== null) changed.set(emailId, (changed.get(emailId) ?? new Set()).add(recipient))
  }
  return changed
}

const ONE = { limit: 1, direction: 'older', anchor: null, countUpTo: 0 } as const

/** How often it is looked whether the index has a new mail, and how long between. */
const LOOKS = 50
const LOOK_MS = 100

/** Judged as in a list, by the same search: a mail that the index does not have yet is looked for again. */
const isFound = async (store: Reads, { query, ...filter }: Wanted, id: string): Promise<boolean> => {
  if (query === null) return true
  const alone = { field: 'id', value: id, negated: false, open: false } as const
  const has = async (asked: Query): Promise<boolean> =>
    (await store.searchEmails({ ...filter, query: asked, subjects: true }, ONE)).rows.length > 0
  for (let look = 0; look < LOOKS; look++) {
    if (await has({ ...query, terms: [...query.terms, alone] })) return true
    if (await has({ terms: [alone], from: null, before: null })) return false
    await sleep(LOOK_MS)
  }
  return false
}

/** Runs until the process is interrupted. */
export const tail = async (store: Reads, filter: Wanted, terminal: Terminal): Promise<void> => {
  const { accountId, workspaceId, mode } = filter
  const tell = async (rows: readonly LogRow[]): Promise<void> => {
    for (const [id, addresses] of changedIn(rows)) {
      const record = await store.email({ accountId, workspaceId, mode }, id)
      if (record === null || !wants(filter, record) || !(await isFound(store, filter, id))) continue
      if (terminal.json) {
        terminal.write(JSON.stringify(emailSummary(record)))
        continue
      }
      const ways = waysOf(record, await collect((page) => store.events(id, page)))
      for (const way of ways) {
        if (addresses.has(way.address) || addresses.has(null)) {
          terminal.write(lineOf(terminal.paint, record, way))
        }
      }
    }
  }
  const { newest } = await store.logEnds()
  terminal.say('following; ^C ends')
  await followLog({
    store,
    filter: {
      ...{ accountId, workspaceId, mode },
      ...{ accountWide: false, types: null, emailId: null, recipient: null, change: true },
      ...{ createdAfter: null, createdBefore: null },
    },
    from: newest,
    tell,
    gap: () => terminal.say('too slow: some events are no longer told'),
  })
}

const REF = {
  ref: { type: 'string', demandOption: true, describe: 'Id, Message-ID or address of a recipient' },
} as const

/** Why mails wait. */
const waitingFor = async (context: CliContext, rows: readonly EmailRow[]) => {
  const { store, account, deps } = context
  return waitingOf({ store, clock: deps.clock, view: await relayView(context) }, account.id, rows)
}

/** Searched where there is something to search for; what it names in vain is said. */
const pageOf = async (
  { store }: CliContext,
  filter: EmailFilter,
  { q, terminal }: { readonly q: string | undefined; readonly terminal: Terminal },
  page: Page,
): Promise<Rows<EmailRow>> => {
  if (q === undefined) return store.emails(filter, page)
  const found = await store.searchEmails({ ...filter, query: queryOf(q), subjects: true }, page)
  for (const { field, value } of found.unknown) terminal.say(`there is no ${field} ${value}`)
  if (found.searchedTo !== null)
    terminal.say(`looked back to ${new Date(found.searchedTo).toISOString()}, and goes on; ^C ends`)
  return found
}

const list = listing({
  path: 'email list',
  summary: 'The latest mails, newest first; with --q, those that are searched for',
  options: { ...FILTERS, ...SEARCH },
  examples: [
    ['$0 email list --status bounced --since 24h', 'what bounced since yesterday'],
    [
      "$0 email list --q 'to:example.com receipt -status:delivered'",
      'receipts that have not come to example.com',
    ],
  ],
  what: 'mails',
  next: 'postern send --help',
  most: 20,
  rows: async (context, args, terminal) => {
    const filter = await filterOf(context, args)
    return each(
      (page) => pageOf(context, filter, { q: args.q, terminal }, page),
      async (rows) => {
        const waiting = await waitingFor(context, rows)
        const words = await lastWordsOf(context.store, rows)
        return rows.map((row) => ({ row, waits: waiting(row.id).first, last: words.get(row.id) }))
      },
    )
  },
  record: ({ row, waits, last }) => listedEmail(row, waits, last, waitingInFull),
  columns: [
    ['id', ({ row }) => row.id],
    ['created', ({ row }) => row.createdAt, AT],
    ['status', ({ row }) => row.status, { paint: paintStatus }],
    ['to', ({ row }) => toText(row)],
    ['subject', ({ row }) => row.subject],
    ['waits for', ({ waits }) => waits?.reason.replaceAll('_', ' ')],
  ],
})

const toText = (row: EmailRow): string => {
  const all = [...row.to, ...row.cc, ...row.bcc]
  return all.length > 1 ? `${all[0]} +${all.length - 1}` : (all[0] ?? '')
}

/** The mail that a reference means; of several, the newest. */
const find = async (
  { store, account }: CliContext,
  ref: string,
  terminal: Terminal,
): Promise<EmailRecord> => {
  const scope = { accountId: account.id, workspaceId: null, mode: null }
  if (isId('em', ref)) {
    return orFault(await store.email(scope, ref), 'email.not_found')
  }
  const text = ref.includes('@') && ref.startsWith('<') ? ref : ref.trim()
  let rows = await store.findEmails(text, 20)
  if (rows.length === 0 && text.includes('@') && !text.startsWith('<'))
    rows = await store.findEmails(`<${text}>`, 20)
  const mine = rows.filter((row) => row.accountId === account.id)
  const newest = mine[0]
  if (newest === undefined) throw new Fault('email.not_found', { detail: `No mail is known by ${ref}` })
  if (mine.length > 1)
    terminal.say(`${mine.length} mails match; this is the newest (postern email list --to ${ref})`)
  return orFault(await store.email(scope, newest.id), 'email.not_found')
}

const show = storeCommand({
  usage: 'show <ref>',
  summary: 'One mail and the timeline of each recipient',
  positionals: REF,
  examples: [['$0 email show ana@example.com', 'the newest mail to Ana']],
  run: async (context, args, terminal) => {
    const found = await find(context, args.ref, terminal)
    const events = await collect((page) => context.store.events(found.id, page))
    const content = terminal.json ? await readContent(context.store, found) : null
    const waiting = (await waitingFor(context, [found]))(found.id)
    terminal.data(content && emailRecord(found, content, waiting, waitingInFull), (paint) =>
      timeline(paint, found, events, waiting),
    )
  },
})

const events = listing({
  path: 'email events <ref>',
  summary: 'Everything seen about one mail, newest first',
  positionals: REF,
  examples: [['$0 email events ana@example.com', 'of the newest mail to Ana']],
  what: 'events',
  next: null,
  most: null,
  rows: async (context, { ref }, terminal) => {
    const { id } = await find(context, ref, terminal)
    return (page) => context.store.events(id, page)
  },
  record: (row: EventRow) => eventRecord(row),
  columns: [
    ['at', 'occurredAt', AT],
    ['event', 'type'],
    ['recipient', 'recipient'],
    ['source', 'source'],
    [
      'reply',
      ({ reply, reason }) =>
        reply === null ? reason : `${reply.code} ${reply.enhanced ?? ''} ${reply.text}`,
    ],
    ['applied', ({ applied }) => (applied ? 'yes' : 'no')],
  ],
})

/** The record as the API answers it. */
const fresh = async (context: CliContext, scope: EmailScope, found: EmailRecord) => {
  const after = (await context.store.email(scope, found.id)) ?? found
  const waiting = (await waitingFor(context, [after]))(after.id)
  return emailRecord(after, await readContent(context.store, after), waiting, waitingInFull)
}

const notScheduled = ({ id, status }: EmailRecord): Fault =>
  new Fault('resource.conflict', { reason: 'not_scheduled', detail: `${id} is ${status}, not scheduled` })

const cancel = storeCommand({
  usage: 'cancel <id>',
  summary: 'Take a scheduled mail back',
  positionals: ID,
  destroys: true,
  examples: [['$0 email cancel em_01… --yes', '']],
  run: async (context, args, terminal) => {
    const scope = { accountId: context.account.id, workspaceId: null, mode: null }
    const found = await findById(context, args.id)
    const what = `cancel ${found.id} (${found.status})`
    if (!(await agreed(context, terminal, args, emailSummary(found), what))) return
    const result = await context.store.cancel(scope, args.id, Date.now())
    if (result === 'not_found') throw new Fault('email.not_found')
    if (result === 'not_scheduled') throw notScheduled(found)
    terminal.data(await fresh(context, scope, found), () => `canceled ${found.id}`)
  },
})

const reschedule = storeCommand({
  usage: 'reschedule <id>',
  summary: 'Send a scheduled mail at another time',
  positionals: ID,
  options: {
    at: {
      type: 'string',
      demandOption: true,
      describe:
        'An RFC 3339 time with a zone, or words such as "tomorrow at 9am" (UTC); at most 30 days ahead',
    },
  },
  examples: [
    ['$0 email reschedule em_01… --at 2026-12-01T08:00:00Z', 'on the first of December'],
    ['$0 email reschedule em_01… --at "in 2 hours"', 'two hours from now'],
  ],
  run: async (context, args, terminal) => {
    const scope = { accountId: context.account.id, workspaceId: null, mode: null }
    const found = await findById(context, args.id)
    const now = Date.now()
    const at = readValid((errors) => readSchedule(args.at, now, '--at', errors) ?? now)
    const result = await context.store.reschedule(scope, args.id, at, now)
    if (result === 'not_scheduled') throw notScheduled(found)
    terminal.data(
      await fresh(context, scope, found),
      () => `${found.id} goes at ${new Date(at).toISOString()}`,
    )
  },
})

const follow = storeCommand({
  usage: 'tail',
  summary: 'Follow mails as they come and go, until interrupted',
  options: { ...FILTERS, ...SEARCH },
  examples: [
    ['$0 email tail', 'all of them, as they come'],
    ["$0 email tail --q 'to:example.com -status:delivered'", 'what does not arrive there'],
  ],
  run: async (context, args, terminal) => {
    const query = args.q === undefined ? null : queryOf(args.q)
    await tail(context.store, { ...(await filterOf(context, args)), query }, terminal)
  },
})

export const emailSubject: Subject = {
  name: 'email',
  commands: [list, show, events, source, resend, bulk, reschedule, cancel, follow],
}
