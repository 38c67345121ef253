/**
 * NAME      reads - pages of mails that a query finds
 * DESCRIPTION
 *   A lead offers places, the mails at them are judged, and after so much
 *   work the page ends where it is. Between two portions others may run, so
 *   a page is not one snapshot: mails have their places for ever, and none comes up
 *   to where the index was at the beginning.
 */
import type { Page } from '../../../lifecycle/page.js'
import type { EmailRow, SearchFilter } from '../../port/mail.js'
import type { Found } from '../../port/search.js'
import { idsOfMails, rangesFor, workspacesIn } from '../mails.js'
import { boundaryOf, markOf, type Range, TOP } from '../pages.js'
import { type Asking, first, pause, type Row } from '../query.js'
import { type Judged, judgeOf } from './judge.js'
import type { Direction } from './leads.js'
import { planOf } from './plan.js'
import { placeOfIndex } from './to-index.js'
import { unknownIn } from './unknown.js'
import type { Words } from './words.js'

/** Mails that a lead offers in one go. */
const PORTION = 100

/** Work for a page, in ms. */
const PAGE_MS = 500

interface Looked {
  readonly mails: readonly Judged[]
  /** Where looking ended before all was seen; null when all of it was. */
  readonly stoppedAt: number | null
}

/** Where mails can be, in the order in which they are looked for. */
function* rangesOf(filter: SearchFilter, direction: Direction, range: Range): Asking<readonly Range[]> {
  const { query, createdAfter, createdBefore } = filter
  const times = {
    createdAfter: query.from === null ? createdAfter : Math.max(createdAfter ?? 0, query.from - 1),
    createdBefore: query.before ?? createdBefore,
  }
  /** Below it the index has what retention has removed. */
  const bottom = Number((yield* first('SELECT min(ord) AS first FROM emails'))?.first ?? 0)
  const ranges = ((yield* rangesFor(times)) ?? [range])
    .map(({ from, to }) => ({ from: Math.max(from, range.from, bottom), to: Math.min(to, range.to) }))
    .filter(({ from, to }) => from < to)
  return direction === 'older' ? ranges.reverse() : ranges
}

/** How much is spent on this search itself; what others do in its pauses is theirs. */
class Work {
  #ms = 0
  #since = performance.now()
  get ms(): number {
    return this.#ms + performance.now() - this.#since
  }
  *rest(): Asking<void> {
    this.#ms = this.ms
    yield* pause()
    this.#since = performance.now()
  }
}

/** Mails of a range nearest to where it begins in this direction, at most so many. */
function* find(
  words: Words,
  filter: SearchFilter,
  direction: Direction,
  range: Range,
  limit: number,
  ms: number,
): Asking<Looked> {
  const work = new Work()
  const judge = yield* judgeOf(words, filter)
  const ranges = yield* rangesOf(filter, direction, range)
  const lead = yield* planOf(words, filter, direction, range)
  const mails: Judged[] = []
  for (const one of ranges)
    for (let left: Range = one; left.from < left.to; ) {
      const { ords, rest } = yield* lead.take(direction, left, PORTION)
      for (let i = 0; i < ords.length; i += words.together) {
        mails.push(...(yield* judge(ords.slice(i, i + words.together))))
        if (mails.length < limit) continue
        const last = mails[limit - 1]?.ord as number
        return { mails: mails.slice(0, limit), stoppedAt: direction === 'older' ? last : last + 1 }
      }
      left = rest
      if (left.from >= left.to) break
      if (work.ms > ms) return { mails, stoppedAt: direction === 'older' ? left.to : left.from }
      yield* work.rest()
    }
  return { mails, stoppedAt: null }
}

/** Whether there is something, or may be. */
function* mayBe(words: Words, filter: SearchFilter, direction: Direction, range: Range): Asking<boolean> {
  if (range.from >= range.to) return false
  const { mails, stoppedAt } = yield* find(words, filter, direction, range, 1, words.asideMs)
  return mails.length > 0 || stoppedAt !== null
}

function* total(
  words: Words,
  filter: SearchFilter,
  found: Looked,
  top: number,
  most: number,
): Asking<number | null> {
  if (most === 0) return null
  if (found.stoppedAt === null) return found.mails.length
  const all = yield* find(words, filter, 'older', { from: 0, to: top }, most, words.asideMs)
  return all.stoppedAt === null || all.mails.length >= most ? all.mails.length : null
}

/** When the caller's last mail came in that was looked at, or could have been. */
function* timeAt(filter: SearchFilter, direction: Direction, place: number): Asking<number | null> {
  const isOlder = direction === 'older'
  const modes = filter.mode === null ? [0, 1] : [filter.mode === 'test' ? 1 : 0]
  let nearest: Row | null = null
  for (const workspace of yield* workspacesIn(filter))
    for (const test of modes) {
      const row = yield* first(
        `SELECT ord, created_at FROM emails WHERE workspace = ? AND test = ? AND ord ${isOlder ? '>=' : '<'} ?
         ORDER BY ord ${isOlder ? 'ASC' : 'DESC'} LIMIT 1`,
        ...[workspace, test, place],
      )
      if (row === null) continue
      const isNearer = nearest === null || (row.ord as number) < (nearest.ord as number) === isOlder
      if (isNearer) nearest = row
    }
  return nearest === null ? null : (nearest.created_at as number)
}

function* searchEmails(words: Words, filter: SearchFilter, page: Page): Asking<Found<EmailRow>> {
  const top = (yield* placeOfIndex()) + 1
  const isOlder = page.direction === 'older'
  const boundary = Math.min(yield* boundaryOf(idsOfMails(filter), page), isOlder ? top : TOP)
  const range = isOlder ? { from: 0, to: boundary } : { from: boundary, to: top }
  const found = yield* find(words, filter, page.direction, range, page.limit + 1, PAGE_MS)
  const shown = found.mails.slice(0, page.limit)
  const isMore = found.stoppedAt !== null
  const isCut = isMore && found.mails.length < page.limit
  const searchedTo = isCut ? yield* timeAt(filter, page.direction, found.stoppedAt ?? 0) : null
  // a row more than the page shows is the first of the next one
  const last = found.mails.length > page.limit ? shown.at(-1)?.ord : undefined
  const rows = shown.map(({ mail }) => mail)
  const isFirst = isOlder && page.anchor === null
  const unknown = isFirst ? yield* unknownIn(words, filter) : []
  if (isOlder) {
    const older = last ?? found.stoppedAt ?? shown.at(-1)?.ord ?? 0
    const newer = isFirst ? top : (shown[0]?.ord ?? boundary - 1) + 1
    return {
      ...{ rows, unknown, searchedTo },
      hasOlder: isMore,
      hasNewer: !isFirst && (yield* mayBe(words, filter, 'newer', { from: newer, to: top })),
      older: markOf(older),
      newer: markOf(newer),
      total: yield* total(words, filter, found, top, page.countUpTo),
    }
  }
  const newer = last === undefined ? (found.stoppedAt ?? Math.max(top, boundary)) : last + 1
  const older = shown[0]?.ord ?? boundary
  return {
    ...{ rows: rows.reverse(), unknown, searchedTo },
    hasOlder: yield* mayBe(words, filter, 'older', { from: 0, to: older }),
    hasNewer: isMore,
    older: markOf(older),
    newer: markOf(newer),
    total: yield* total(words, filter, { mails: [], stoppedAt: 0 }, top, page.countUpTo),
  }
}

export const searchReads = (words: Words) => ({
  searchEmails: (filter: SearchFilter, page: Page): Asking<Found<EmailRow>> =>
    searchEmails(words, filter, page),
})
