/**
 * NAME      tail - following mails from outside the daemon
 * DESCRIPTION
 *   A line for each recipient whose status changes, with its way so far; with
 *   --json the record of its mail. What changed the log of events tells.
 */
import type { Query } from '../mail/query.js'
import { emailSummary } from '../record/email.js'
import type { LogRow } from '../store/port/log.js'
import type { EmailFilter, EmailRecord } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import { followLog } from './follow.js'
import { collect } from './list.js'
import { clean, type Paint, paintStatus } from './table.js'
import type { Terminal } from './terminal.js'
import { spanText } from './time.js'
import { type Way, waysOf } from './timeline.js'

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

/** Judged as in a list: the same search, of this mail alone. */
const isFound = async (store: Reads, { query, ...filter }: Wanted, id: string): Promise<boolean> => {
  if (query === null) return true
  const only = { field: 'id', value: id, negated: false, open: false } as const
  const asked = { ...query, terms: [...query.terms, only] }
  return (await store.searchEmails({ ...filter, query: asked, subjects: true }, ONE)).rows.length > 0
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
