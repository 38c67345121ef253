/**
 * NAME      reads - pages of mails that a query finds
 * DESCRIPTION
 *   A lead offers places, the mails at them are judged one by one, and after a
 *   bounded time the page ends where it is. Between two portions others may run, so
 *   a page is not one snapshot: mails have their places for ever, and none comes up
 *   to where the index was at the beginning.
 */
import { setImmediate } from 'node:timers/promises'
import type { Page } from '../../../lifecycle/page.js'
import { isAway } from '../../../lifecycle/waiting/holds.js'
import { matches } from '../../../mail/query/matches.js'
import { needsRecipients, type Sought } from '../../../mail/query/query.js'
import type { EmailRow, SearchFilter } from '../../port/ledger.js'
import type { Found } from '../../port/search.js'
import { addressLc, rangesFor } from '../../sql/mails/emails.js'
import { SUBMITTED_BY } from '../../sql/mails/lists.js'
import { EMAIL, toEmail } from '../../sql/mails/rows.js'
import { OF_EMAIL } from '../../sql/mails/short.js'
import type { Range } from '../../sql/order/days.js'
import { TOP } from '../../sql/order/ord.js'
import { boundaryOf, markOf } from '../../sql/pages/marks.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'
import { keysCalled } from './keys.js'
import type { Direction } from './leads.js'
import { planOf } from './plan.js'
import { tokensOf } from './tokens.js'
import { unknownIn } from './unknown.js'
import type { IndexedMail } from './write.js'

/** How long a page looks, and how long it looks for what surrounds it. */
const PAGE_MS = 30
const ASIDE_MS = 8
/** Mails judged in one go: about two milliseconds. */
const PORTION = 100

const IDS = { from: 'emails WHERE true', params: [] }

const createJudge = (sql: Statements, filter: SearchFilter) => {
  const { query, subjects, accountId, workspaceId, mode, status, tag } = filter
  const { createdAfter, createdBefore } = filter
  const to = filter.to === null ? null : addressLc(filter.to)
  const asksRecipients = to !== null || needsRecipients(query)
  const keys = new Set(
    query.terms
      .filter(({ field }) => field === 'key')
      .flatMap(({ value }) => [value, ...keysCalled(sql, accountId, value)].map((id) => `${value} ${id}`)),
  )
  const asksPool = query.terms.some(({ field }) => field === 'pool')

  const isInScope = (mail: EmailRow): boolean =>
    mail.accountId === accountId &&
    (workspaceId === null || mail.workspaceId === workspaceId) &&
    (mode === null || mail.mode === mode) &&
    (status === null || mail.status === status) &&
    (createdAfter === null || mail.createdAt > createdAfter) &&
    (createdBefore === null || mail.createdAt < createdBefore) &&
    (query.from === null || mail.createdAt >= query.from) &&
    (query.before === null || mail.createdAt < query.before) &&
    (tag === null || mail.tags.some(({ name, value }) => name === tag.name && value === tag.value))

  const soughtOf = (mail: EmailRow, pool: unknown): Sought => {
    const named = asksPool ? sql('SELECT id, name FROM pools WHERE n = ?').get(pool) : undefined
    const recipients = asksRecipients
      ? sql(`SELECT address_lc, reason, held FROM recipients WHERE ${OF_EMAIL}`).all(mail.id)
      : []
    return {
      id: mail.id,
      subject: mail.subject,
      from: mail.from,
      messageId: mail.messageId,
      tags: mail.tags,
      mode: mail.mode,
      status: mail.status,
      poolId: (named?.id as string | undefined) ?? '',
      poolName: (named?.name as string | undefined) ?? '',
      isResent: mail.resentFrom != null,
      isOfKey: (named) => keys.has(`${named} ${mail.submittedBy}`),
      hasAttachment: mail.attachments.length > 0,
      recipients: recipients.map((row) => ({
        address: row.address_lc as string,
        reason: row.reason as string | null,
        isHeld: row.held !== null && !isAway(row.held as string),
      })),
    }
  }

  return (row: Row | undefined): EmailRow | null => {
    if (row === undefined) return null
    const mail = toEmail(row)
    if (!isInScope(mail)) return null
    const sought = soughtOf(mail, row.pool)
    if (to !== null && !sought.recipients.some(({ address }) => address === to)) return null
    return matches(query, sought, subjects) ? mail : null
  }
}

interface Looked {
  readonly mails: readonly { readonly ord: number; readonly mail: EmailRow }[]
  /** Where looking ended before all was seen; null when all of it was. */
  readonly stoppedAt: number | null
}

export const createSearchReads = (sql: Statements) => {
  const place = (): number => Number(sql('SELECT place FROM search_state').get()?.place ?? 0)
  /** Below it the index has what retention has removed. */
  const bottom = (): number => Number(sql('SELECT min(ord) AS first FROM emails').get()?.first ?? 0)

  /** Mails of a range nearest to where it begins in this direction, at most so many. */
  const find = async (
    filter: SearchFilter,
    direction: Direction,
    range: Range,
    limit: number,
    ms: number,
  ) => {
    const judge = createJudge(sql, filter)
    const until = performance.now() + ms
    const { query, createdAfter, createdBefore } = filter
    const times = {
      createdAfter: query.from === null ? createdAfter : Math.max(createdAfter ?? 0, query.from - 1),
      createdBefore: query.before ?? createdBefore,
    }
    const ranges = (sql.ask(rangesFor(times)) ?? [range])
      .map(({ from, to }) => ({ from: Math.max(from, range.from, bottom()), to: Math.min(to, range.to) }))
      .filter(({ from, to }) => from < to)
    if (direction === 'older') ranges.reverse()
    const mails: { ord: number; mail: EmailRow }[] = []
    const lead = planOf(sql, filter, direction, range)
    const seen = (left: Range): number => (direction === 'older' ? left.to : left.from)
    for (const one of ranges)
      for (let left: Range = one; left.from < left.to; ) {
        const { ords, rest } = lead.take(direction, left, PORTION)
        for (const ord of ords) {
          const mail = judge(sql(`${EMAIL} WHERE e.ord = ?`).get(ord))
          if (mail === null) continue
          mails.push({ ord, mail })
          if (mails.length >= limit) return { mails, stoppedAt: direction === 'older' ? ord : ord + 1 }
        }
        left = rest
        if (left.from >= left.to) break
        if (performance.now() > until) return { mails, stoppedAt: seen(left) }
        await setImmediate()
      }
    return { mails, stoppedAt: null } satisfies Looked
  }

  /** Whether there is something, or may be. */
  const mayBe = async (filter: SearchFilter, direction: Direction, range: Range): Promise<boolean> => {
    if (range.from >= range.to) return false
    const { mails, stoppedAt } = await find(filter, direction, range, 1, ASIDE_MS)
    return mails.length > 0 || stoppedAt !== null
  }

  const total = async (
    filter: SearchFilter,
    found: Looked,
    top: number,
    most: number,
  ): Promise<number | null> => {
    if (found.stoppedAt === null) return found.mails.length
    const all = await find(filter, 'older', { from: 0, to: top }, most, ASIDE_MS)
    return all.stoppedAt === null || all.mails.length >= most ? all.mails.length : null
  }

  const searchEmails = async (filter: SearchFilter, page: Page): Promise<Found<EmailRow>> => {
    const top = place() + 1
    const isOlder = page.direction === 'older'
    const boundary = Math.min(sql.ask(boundaryOf(IDS, page)), isOlder ? top : TOP)
    const range = isOlder ? { from: 0, to: boundary } : { from: boundary, to: top }
    const found = await find(filter, page.direction, range, page.limit + 1, PAGE_MS)
    const shown = found.mails.slice(0, page.limit)
    const isMore = found.stoppedAt !== null
    // a row more than the page shows is the first of the next one
    const last = found.mails.length > page.limit ? shown.at(-1)?.ord : undefined
    const rows = shown.map(({ mail }) => mail)
    const unknown = isOlder && page.anchor === null ? unknownIn(sql, filter) : []
    if (isOlder) {
      const older = last ?? found.stoppedAt ?? shown.at(-1)?.ord ?? 0
      const newer = page.anchor === null ? top : (shown[0]?.ord ?? boundary - 1) + 1
      return {
        ...{ rows, unknown },
        hasOlder: isMore,
        hasNewer: page.anchor !== null && (await mayBe(filter, 'newer', { from: newer, to: top })),
        older: markOf(older),
        newer: markOf(newer),
        total: page.countUpTo > 0 ? await total(filter, found, top, page.countUpTo) : null,
      }
    }
    const newer = last === undefined ? (found.stoppedAt ?? Math.max(top, boundary)) : last + 1
    const older = shown[0]?.ord ?? boundary
    return {
      ...{ rows: rows.reverse(), unknown },
      hasOlder: await mayBe(filter, 'older', { from: 0, to: older }),
      hasNewer: isMore,
      older: markOf(older),
      newer: markOf(newer),
      total:
        page.countUpTo > 0 ? await total(filter, { mails: [], stoppedAt: 0 }, top, page.countUpTo) : null,
    }
  }

  return {
    searchEmails,

    notIndexedSince: (): number | null =>
      (sql('SELECT created_at FROM emails WHERE ord > ? ORDER BY ord LIMIT 1').get(place())?.created_at as
        | number
        | undefined) ?? null,

    /** The next mails, as the index will have them. */
    toIndex(limit: number): {
      readonly from: number
      readonly to: number
      readonly mails: readonly IndexedMail[]
    } {
      const from = place()
      const rows = sql(
        `SELECT e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY} FROM emails e WHERE e.ord > ? ORDER BY e.ord LIMIT ? + 0`,
      ).all(from, limit)
      const addresses = (ord: unknown): string[] =>
        sql('SELECT address_lc FROM recipients WHERE email_ord = ?')
          .all(ord)
          .map((row) => row.address_lc as string)
      const mails = rows.map((row): IndexedMail => {
        const facts = {
          sender: row.sender as string,
          subject: row.subject as string,
          lists: row.lists as string,
          submitted_by: row.submitted_by as string | null,
        }
        return [row.ord as number, tokensOf({ ...facts, addresses: addresses(row.ord) })]
      })
      return { from, to: mails.at(-1)?.[0] ?? from, mails }
    },
  }
}
