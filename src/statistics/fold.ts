/**
 * NAME      fold - from records of the log to what is to be added to the counts
 * DESCRIPTION
 *   Pure, and each record stands for itself: however the log is cut into batches,
 *   and in whatever order they are folded, the sums are the same. Changes of mails
 *   are counted, notes and notices are not.
 * NOTES
 *   What an upstream answered is counted for it; a report names no upstream, so by
 *   upstream there are no deliveries and no complaints, and nothing is accepted.
 *   A recipient that was delivered and bounces after all is counted as both.
 *   A mail that came from another store with its history was not accepted here: what
 *   happens to it is in the volumes, and in nothing that follows the accepted.
 */

import { storedDomain } from '../mail/address.js'
import { isGreylisting } from '../mail/reply.js'
import type { LogRow, MailOfEvent } from '../store/port/log.js'
import {
  BY_MINUTE,
  type Dimension,
  OTHER,
  type Span,
  type StatisticsRow,
  TAG_SEPARATOR,
} from '../store/port/statistics.js'
import { bouncedAs, deliveredAfter, type Fact, ofAccepted, sentAfter, volume } from './counters.js'

export interface FoldRules {
  /** The tags whose values a workspace wants counted apart. */
  tagsOf(workspaceId: string): readonly string[]
  /** Who runs the mailboxes of a domain. */
  providerOf(domain: string): string
}

/** A record of a mail. */
type OfMail = LogRow & { readonly mail: MailOfEvent; readonly workspaceId: string }

const isCounted = (row: LogRow): row is OfMail => row.change && row.mail !== null && row.workspaceId !== null

/** Whether a recipient begins with it; one that was suppressed when it was accepted begins with its end. */
const isFirst = ({ type, reason, begunHere, occurredAt, recipientId, mail }: OfMail): boolean =>
  recipientId !== null &&
  occurredAt === mail.createdAt &&
  (type === 'email.bounced'
    ? reason === 'suppressed' && !begunHere
    : type !== 'email.queued' || mail.scheduledAt === null)

/** How a bounce is counted; what an operator ended is none. */
const bounceOf = ({ reason, source, detail }: OfMail): Fact =>
  reason === 'suppressed'
    ? 'suppressed'
    : source === 'operator'
      ? 'dropped'
      : detail?.class === 'hard'
        ? 'bounced_hard'
        : 'bounced_soft'

const factsOf = (row: OfMail): readonly Fact[] => {
  const begun: readonly Fact[] = isFirst(row) ? ['accepted'] : []
  switch (row.type) {
    case 'email.sent':
      return ['sent']
    case 'email.delivered':
      return ['delivered']
    case 'email.deferred':
      return row.reply !== null && isGreylisting(row.reply) ? ['deferred', 'greylisted'] : ['deferred']
    case 'email.queued':
    case 'email.scheduled':
      return begun
    case 'email.bounced':
      return [...begun, bounceOf(row)]
    case 'email.complained':
      return ['complained']
    case 'email.canceled':
      return [row.source === 'operator' ? 'dropped' : 'canceled']
    default:
      return []
  }
}

const isBounce = (fact: Fact): boolean => fact === 'bounced_hard' || fact === 'bounced_soft'

const categoryOf = ({ reason, detail }: OfMail): unknown =>
  reason === 'lifetime' ? 'expired' : (detail?.category ?? reason)

/** Numbers of counters, in the moment of the record and in that of its acceptance; what was accepted elsewhere has none of those. */
const countersOf = (
  row: OfMail,
): { readonly own: readonly number[]; readonly accepted: readonly number[] } => {
  const facts = factsOf(row)
  const { createdAt, scheduledAt } = row.mail
  const took = Math.max(0, row.occurredAt - (scheduledAt ?? createdAt))
  const own = [...facts.map(volume), ...facts.filter(isBounce).map(() => bouncedAs(categoryOf(row)))]
  if (!row.begunHere && !isFirst(row)) return { own, accepted: [] }
  return {
    own,
    accepted: [
      ...facts.map(ofAccepted),
      ...(facts.includes('sent') ? [sentAfter(took)] : []),
      ...(facts.includes('delivered') ? [deliveredAfter(took)] : []),
    ],
  }
}

/** The dimensions of a record and its value in each. */
type Values = readonly (readonly [Dimension, string])[]

const valuesOf = (row: OfMail, rules: FoldRules): Values => {
  const domain = row.recipient === null ? null : storedDomain(row.recipient)
  const upstream = row.mta?.upstreamId ?? null
  const names = row.mail.tags.length === 0 ? [] : rules.tagsOf(row.workspaceId)
  const tags = row.mail.tags.filter(
    ({ name }, i, all) => names.includes(name) && all.findIndex((one) => one.name === name) === i,
  )
  return [
    ['none', ''],
    ['pool', row.mta?.poolId ?? row.mail.poolId],
    ...(upstream === null ? [] : [['upstream', upstream] as const]),
    ['recipient_domain', domain ?? OTHER],
    ['provider', domain === null ? OTHER : rules.providerOf(domain)],
    ...tags.map(({ name, value }) => ['tag', `${name}${TAG_SEPARATOR}${value}`] as const),
  ]
}

const MINUTE = 60_000
const BY_VALUE = 15
const HOUR_OF = 60

type Growing = Omit<StatisticsRow, 'counts'> & { readonly counts: Map<number, number> }

const beginOf = (span: Span, time: number): number => Math.floor(time / (span * MINUTE)) * span * MINUTE

/** Rows by span, workspace, mode, time, dimension and value, in this order of their keys. */
/** The rows of one span, workspace, mode and time, by dimension and value. */
class Moment {
  readonly #rows = new Map<Dimension, Map<string, Growing>>()
  constructor(readonly key: Pick<Growing, 'span' | 'at' | 'workspaceId' | 'mode'>) {}

  add(dimension: Dimension, value: string, counters: readonly number[]): void {
    let rows = this.#rows.get(dimension)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(dimension, rows)
    }
    let row = rows.get(value)
    if (row === undefined) {
      row = { ...this.key, dimension, value, counts: new Map() }
      rows.set(value, row)
    }
    for (const counter of counters) row.counts.set(counter, (row.counts.get(counter) ?? 0) + 1)
  }

  *[Symbol.iterator](): Iterator<Growing> {
    for (const rows of this.#rows.values()) yield* rows.values()
  }
}

class Rows {
  readonly #moments = new Map<string, Moment>()
  /** By span: of the record before, since the next one is most often in the same. */
  readonly #last = new Map<Span, Moment>()

  at(span: Span, { workspaceId, mode }: OfMail, time: number): Moment {
    const at = beginOf(span, time)
    const last = this.#last.get(span)
    if (last?.key.at === at && last.key.workspaceId === workspaceId && last.key.mode === mode) return last
    const key = `${span} ${at} ${mode} ${workspaceId}`
    const moment = this.#moments.get(key) ?? new Moment({ span, at, workspaceId, mode })
    this.#moments.set(key, moment)
    this.#last.set(span, moment)
    return moment
  }

  *[Symbol.iterator](): Iterator<Growing> {
    for (const moment of this.#moments.values()) yield* moment
  }
}

/** The rows of hours, from those of their quarters. */
const hoursOf = (rows: Iterable<Growing>): Iterable<Growing> => {
  const hours = new Map<string, Growing>()
  for (const row of rows) {
    if (row.span !== BY_VALUE) continue
    const at = beginOf(HOUR_OF, row.at)
    const key = `${at} ${row.mode} ${row.workspaceId} ${row.dimension} ${row.value}`
    const hour = hours.get(key)
    if (hour === undefined) hours.set(key, { ...row, span: HOUR_OF, at, counts: new Map(row.counts) })
    else for (const [counter, n] of row.counts) hour.counts.set(counter, (hour.counts.get(counter) ?? 0) + n)
  }
  return hours.values()
}

/** What these records add, each row once. */
export const fold = (records: readonly LogRow[], rules: FoldRules): readonly StatisticsRow[] => {
  const rows = new Rows()
  const add = (record: OfMail, time: number, values: Values, counters: readonly number[]): void => {
    const quarter = rows.at(BY_VALUE, record, time)
    const minute = rows.at(1, record, time)
    for (const [dimension, value] of values) {
      quarter.add(dimension, value, counters)
      if (BY_MINUTE.includes(dimension)) minute.add(dimension, value, counters)
    }
  }
  for (const record of records) {
    if (!isCounted(record)) continue
    const { own, accepted } = countersOf(record)
    if (own.length === 0) continue
    const values = valuesOf(record, rules)
    const { createdAt } = record.mail
    // so it is with nearly all
    if (beginOf(1, record.occurredAt) === beginOf(1, createdAt))
      add(record, createdAt, values, [...own, ...accepted])
    else {
      add(record, record.occurredAt, values, own)
      add(record, createdAt, values, accepted)
    }
  }
  return [...rows, ...hoursOf(rows)].map(({ counts, ...row }) => ({
    ...row,
    counts: [...counts].sort(([a], [b]) => a - b).flat(),
  }))
}
