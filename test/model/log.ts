/**
 * NAME      log - the events of all mails, and those without one
 */
import type { EventRow, Outcome } from '../../src/lifecycle/facts.js'
import { compare, readMark } from '../../src/lifecycle/page.js'
import { wireAddress } from '../../src/mail/address.js'
import { isNote } from '../../src/mail/event-type.js'
import type { EventKind } from '../../src/mail/status.js'
import type { EventLog, Followed, LogFilter, LogRow, WholeLog } from '../../src/store/port/log.js'
import type { Ledger } from '../../src/store/port/mail.js'
import { above, markOf, pageOf } from './page.js'
import type { Plain } from './plain.js'
import { type Logged, type Mail, nextOrd, type Placed, type State } from './state.js'

type Found = Placed<Logged> & { readonly n: number }

/** What an event says beside its mail. */
type Said = Pick<Logged, 'recipientId' | 'source' | 'occurredAt'> &
  Partial<Pick<Outcome, 'reply' | 'mta' | 'attempt' | 'detail' | 'reason' | 'dedupe'>> &
  Partial<Pick<Logged, 'change' | 'applied' | 'createdAt' | 'isTold'>>

/** As an address is compared, however its domain is written. */
export const plainAddress = (address: string): string => wireAddress(address).toLowerCase()

export interface Log extends Plain<EventLog & Pick<Ledger, 'events'>> {
  /** Answers with its id. `n`: the number of a recipient whose first event it is. */
  add(mail: Mail, kind: EventKind, said: Said, n?: number): string
  has(dedupe: string): boolean
  /** Of one mail, oldest first. */
  timeline(emailId: string): readonly (EventRow & { readonly dedupe: string | null })[]
}

export const createLog = (state: State): Log => {
  const found = (wanted: (row: Logged) => boolean): Found[] =>
    state.events
      .all()
      .filter(({ row }) => wanted(row))
      .map((one) => ({ ...one, n: one.row.n }))
      .sort(compare)

  const addressOf = (recipientId: string | null): string | null =>
    recipientId === null ? null : (state.recipients.get(recipientId)?.address ?? null)

  const eventOf = ({ row }: Found): EventRow => {
    const { n, isTold, dedupe, accountId, workspaceId, mode, data, ...event } = row
    return { ...event, emailId: row.emailId ?? '', recipient: addressOf(row.recipientId) }
  }

  const begunHere = ({ row }: Found): boolean =>
    row.recipientId === null ||
    state.recipients.get(row.recipientId) === null ||
    state.events.get(firstId(row.recipientId)) !== null

  const told = (one: Found): LogRow[] => {
    const { row } = one
    const owner = row.workspaceId === null ? null : state.workspaces.get(row.workspaceId)
    if (!row.isTold || (row.workspaceId !== null && owner === null)) return []
    const mail = row.emailId === null ? null : state.mails.get(row.emailId)
    if (mail === null && row.emailId !== null) return []
    const { accountId, workspaceId, mode, data, type, emailId } = row
    const whose = { accountId, workspaceId, mode, data, type, emailId }
    const about = mail === null ? null : mailOf(state, mail)
    return [{ ...eventOf(one), ...whose, mark: markOf(above(one)), begunHere: begunHere(one), mail: about }]
  }

  const isWanted =
    (filter: LogFilter) =>
    (row: Logged): boolean =>
      row.isTold &&
      row.accountId === filter.accountId &&
      (row.workspaceId === null
        ? filter.accountWide && filter.emailId === null && filter.recipient === null
        : state.workspaces.get(row.workspaceId) !== null &&
          (filter.workspaceId === null || filter.workspaceId === row.workspaceId)) &&
      (filter.mode === null || filter.mode === row.mode) &&
      (filter.types === null || filter.types.includes(row.type)) &&
      (filter.emailId === null || filter.emailId === row.emailId) &&
      (filter.recipient === null ||
        addressOf(row.recipientId)?.toLowerCase() === plainAddress(filter.recipient)) &&
      (filter.change === null || filter.change === row.change) &&
      (filter.createdAfter === null || row.createdAt > filter.createdAfter) &&
      (filter.createdBefore === null || row.createdAt < filter.createdBefore)

  const newest = () => ({ ord: Math.max(state.last + 1, state.floor) })

  const follow = (filter: LogFilter | WholeLog, after: string | null, limit: number): Followed | 'gone' => {
    const from = after === null ? { ord: state.floor } : (readMark(after) ?? { ord: 0 })
    if (compare(from, { ord: state.floor }) < 0) return 'gone'
    const wanted =
      'accountId' in filter
        ? isWanted(filter)
        : ({ n, type, mode }: Logged) =>
            (filter.types === null || (n === 0 && filter.types.includes(type as never))) &&
            mode === (filter.mode ?? mode)
    const rest = found(wanted).filter((one) => compare(one, from) >= 0)
    const isEnd = rest.length <= limit
    const here = rest.slice(0, limit)
    const last = here.at(-1)
    const mark = markOf(isEnd || last === undefined ? newest() : above(last))
    return { rows: here.flatMap(told), mark, isEnd }
  }

  const add = (event: Omit<Logged, 'id'>, of: string, ord?: number): string => {
    const place = ord ?? nextOrd(state)
    const id =
      event.n > 0
        ? firstId(event.recipientId ?? '')
        : `evt_0${of.slice(-3)}${String(place).padStart(22, '0')}`
    state.events.add(id, { ...event, id }, place)
    return id
  }

  return {
    add(mail, kind, said, n = 0) {
      const ord = n > 0 ? state.mails.ordOf(mail.id) : undefined
      const { id: emailId, accountId, workspaceId, mode } = mail
      const event = {
        ...{
          recipient: null,
          reply: null,
          mta: null,
          attempt: null,
          detail: null,
          reason: null,
          dedupe: null,
        },
        ...{ change: true, applied: true, isTold: true, createdAt: said.occurredAt, data: null, n },
        ...{ type: `email.${kind}` as const, emailId, accountId, workspaceId, mode },
        ...said,
      }
      return add(event, emailId, ord)
    },
    has: (dedupe) => state.events.where((row) => row.dedupe === dedupe).length > 0,
    timeline: (emailId) =>
      found((row) => row.emailId === emailId).map((one) => ({ ...eventOf(one), dedupe: one.row.dedupe })),
    events: (emailId, page) =>
      pageOf(
        found((row) => row.emailId === emailId),
        page,
        eventOf,
      ),
    log(filter, page) {
      const rows = pageOf(found(isWanted(filter)), page, told)
      const isTop = page.direction === 'older' && (page.anchor === null || readMark(page.anchor) === null)
      return { ...rows, rows: rows.rows.flat(), newer: isTop ? markOf(newest()) : rows.newer }
    },
    follow,
    logEnds: () => ({ oldest: markOf({ ord: state.floor }), newest: markOf(newest()) }),
    isMark: (text) => readMark(text) !== null,
    loggedEvent(accountId, id) {
      const [row] = found((event) => event.id === id && event.accountId === accountId).flatMap(told)
      return row ?? null
    },
    addNotice({ type, accountId, workspaceId, mode, now, data, dedupe = null }) {
      if (dedupe !== null && state.events.where((row) => row.dedupe === dedupe).length > 0) return null
      const empty = { reply: null, mta: null, attempt: null, detail: null, reason: null, n: 0, isTold: true }
      const about = { emailId: null, recipientId: null, recipient: null, accountId, workspaceId, mode }
      const source = 'system' as const
      const said = {
        type,
        source,
        occurredAt: now,
        createdAt: now,
        change: !isNote(type),
        applied: true,
        data,
        dedupe,
      }
      return add({ ...empty, ...about, ...said }, accountId)
    },
  }
}

const firstId = (recipientId: string): string => `evt_${recipientId}${'1'.repeat(10)}`

const mailOf = ({ mails }: State, mail: Mail): LogRow['mail'] => {
  const { id, poolId, from, to, subject, messageId, tags, createdAt, scheduledAt } =
    mails.get(mail.id) ?? mail
  return { id, poolId, from, to, subject, messageId, tags, createdAt, scheduledAt }
}
