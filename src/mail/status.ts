/**
 * NAME      status - what may follow what
 *   The delivery status of one recipient, as a table, and the status of an email
 *   as a fold over its recipients. Nothing else in Postern decides a transition.
 *   An observation that the table does not list changes nothing (it is kept as
 *   an event with applied:false), so reports may arrive twice and in any order.
 *   Reports only raise the rank queued < sent < deferred < delivered < bounced;
 *   the one permitted fall, deferred to sent, belongs to our own successful
 *   attempt. `bounced` and `canceled` are final.
 *   What fails for good fails from any state that mail under way can have, whoever says so: then
 *   our own reply and the reports about it end alike, in whatever order they are written down.
 */
export const STATUSES = [
  'scheduled',
  'queued',
  'sent',
  'deferred',
  'delivered',
  'bounced',
  'canceled',
] as const
export type Status = (typeof STATUSES)[number]

/** What can be learned about one recipient, and from whom. */
export const OBSERVATIONS = [
  'due', // the scheduled time has come
  'canceled', // the client took a scheduled mail back
  'accepted', // an upstream answered 2xx to the final dot
  'postponed', // an attempt failed for now: 4xx, or no connection
  'rejected', // an upstream refused for good: 5xx
  'expired', // our own retry lifetime passed (4.4.7)
  'suppressed', // the address is on the suppression list
  'purged', // an operator took the mail out of the queue
  'discarded', // its workspace was deleted
  'moved', // an operator says that another store has it
  'dsn-delivered', // RFC 3464 actions, from a report we trust
  'dsn-relayed',
  'dsn-expanded',
  'dsn-delayed',
  'dsn-failed',
  // what is told of a recipient and moves nothing, so no row is theirs
  'complained', // the recipient called it spam
  'reported', // something was reported that is neither news of delivery nor a complaint
] as const
export type Observation = (typeof OBSERVATIONS)[number]

const on = (to: Status, ...from: readonly Status[]): Partial<Record<Status, Status>> =>
  Object.fromEntries(from.map((status) => [status, to]))

const TABLE: Record<Observation, Partial<Record<Status, Status>>> = {
  due: on('queued', 'scheduled'),
  canceled: on('canceled', 'scheduled'),
  accepted: on('sent', 'queued', 'deferred'),
  postponed: on('deferred', 'queued', 'deferred'),
  rejected: on('bounced', 'queued', 'sent', 'deferred', 'delivered'),
  expired: on('bounced', 'queued', 'sent', 'deferred', 'delivered'),
  suppressed: on('bounced', 'scheduled', 'queued', 'deferred'),
  purged: { ...on('bounced', 'queued', 'deferred'), ...on('canceled', 'scheduled') },
  discarded: { ...on('bounced', 'queued', 'deferred'), ...on('canceled', 'scheduled') },
  moved: on('canceled', 'scheduled', 'queued', 'deferred'),
  'dsn-delivered': on('delivered', 'queued', 'sent', 'deferred'),
  'dsn-relayed': on('delivered', 'queued', 'sent', 'deferred'),
  'dsn-expanded': on('delivered', 'queued', 'sent', 'deferred'),
  'dsn-delayed': on('deferred', 'queued', 'sent'),
  'dsn-failed': on('bounced', 'queued', 'sent', 'deferred', 'delivered'),
  complained: {},
  reported: {},
}

/** True for what is an event of its own name, and no change of status. */
export const isRemark = (seen: Observation): seen is 'complained' | 'reported' =>
  seen === 'complained' || seen === 'reported'

/** What an operator's order does to a mail that waits. */
export type OrderKind = 'held' | 'released' | 'rerouted' | 'retried'

/** What the events of a timeline are called, after `email.`: a status, a remark, a notice to the sender or an order. */
export type EventKind = Status | 'complained' | 'reported' | 'sender_notified' | OrderKind

/** The status after an observation, or null when the table does not list it. A repeat of the same status is listed only for `postponed`. */
export const nextStatus = (from: Status, seen: Observation): Status | null => TABLE[seen][from] ?? null

export type Counts = Record<Exclude<Status, 'scheduled'>, number> & { scheduled: number }

export const emptyCounts = (): Counts => ({
  scheduled: 0,
  queued: 0,
  sent: 0,
  deferred: 0,
  delivered: 0,
  bounced: 0,
  canceled: 0,
})

/** What a mail with several recipients is called by: the first of these that one has. */
export const WEIGHTIEST_FIRST: readonly Status[] = [
  'bounced',
  'deferred',
  'queued',
  'sent',
  'delivered',
  'scheduled',
  'canceled',
]

/** The status of an email: the first of bounced, deferred, queued, sent, delivered that any recipient has. */
export const aggregate = (counts: Counts): Status =>
  WEIGHTIEST_FIRST.find((status) => counts[status] > 0) ?? 'queued'

/** The name of a status in the events, webhooks and `last_event` of the public API. */
export const eventName = (status: Status): string => (status === 'deferred' ? 'delivery_delayed' : status)
