/**
 * NAME      fold - from records of the log to what is to be added to the counts
 *   Pure, and each record stands for itself: however the log is cut into batches, and in whatever order they are
 *   folded, the sums are the same. Changes of mails are counted, notes and notices are not.
 * NOTES
 *   What an upstream answered is counted for it; a report names no upstream, so by upstream there are no deliveries and
 *   no complaints, and nothing is accepted.
 *   A recipient that was delivered and bounces after all is counted as both.
 *   A mail that came from another store with its history was not accepted here: what happens to it is in the volumes,
 *   and in nothing that follows the accepted.
 */
import { storedDomain } from '../mail/address.js'
import { isGreylisting } from '../mail/reply.js'
import type { LogRow, MailOfEvent } from '../store/port/log.js'
import {
  BY_MINUTE,
  type Dimension,
  OTHER,
  SPANS,
  type StatisticsRow,
  type StatisticsSpan,
  TAG_SEPARATOR,
} from '../store/port/watch.js'
import { bouncedAs, deliveredAfter, type Fact, ofAccepted, sentAfter, volume } from './counters.js'

export interface FoldRules {
  /** The tags whose values a workspace wants counted apart. */
  tagsOf(workspaceId: string): readonly string[]
  /** Who runs the mailboxes of a domain. */
  providerOf(domain: string): string
}

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

type Key = Omit<StatisticsRow, 'counts'>
type Growing = Key & { readonly counts: Map<number, number> }
type Rows = Map<string, Growing>

const beginOf = (span: StatisticsSpan, time: number): number =>
  Math.floor(time / (span * MINUTE)) * span * MINUTE

const countsAt = (rows: Rows, key: Key): Map<number, number> => {
  const name = `${key.at} ${key.mode} ${key.workspaceId} ${key.dimension} ${key.value}`
  let row = rows.get(name)
  if (row === undefined) {
    row = { ...key, counts: new Map() }
    rows.set(name, row)
  }
  return row.counts
}

const addTo = (counts: Map<number, number>, counter: number, n: number): unknown =>
  counts.set(counter, (counts.get(counter) ?? 0) + n)

/** Rows of all spans, from those of minutes. */
const spread = (minutes: Rows): readonly Growing[] =>
  SPANS.flatMap((span) => {
    const rows: Rows = new Map()
    for (const minute of minutes.values()) {
      if (span === 1 && !BY_MINUTE.includes(minute.dimension)) continue
      const counts = countsAt(rows, { ...minute, span, at: beginOf(span, minute.at) })
      for (const [counter, n] of minute.counts) addTo(counts, counter, n)
    }
    return [...rows.values()]
  })

/** What these records add, each row once. */
export const fold = (records: readonly LogRow[], rules: FoldRules): readonly StatisticsRow[] => {
  const minutes: Rows = new Map()
  const add = (record: OfMail, time: number, values: Values, counters: readonly number[]): void => {
    const { workspaceId, mode } = record
    const at = beginOf(1, time)
    for (const [dimension, value] of values) {
      const counts = countsAt(minutes, { span: 1, at, workspaceId, mode, dimension, value })
      for (const counter of counters) addTo(counts, counter, 1)
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
      if (accepted.length > 0) add(record, createdAt, values, accepted)
    }
  }
  return spread(minutes).map(({ counts, ...row }) => ({
    ...row,
    counts: [...counts].sort(([a], [b]) => a - b).flat(),
  }))
}
