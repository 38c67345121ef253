/**
 * NAME      event-type - what events are called
 *   The names of the public log. Their numbers are stored: a name keeps its
 *   number for ever, and new ones go to the end.
 */
import { editDistance } from '../base/text.js'

export const EVENT_TYPES = [
  'email.scheduled',
  'email.queued',
  'email.sent',
  'email.deferred',
  'email.delivered',
  'email.bounced',
  'email.canceled',
  'email.complained',
  'email.reported',
  // orders of an operator
  'email.held',
  'email.released',
  'email.rerouted',
  'email.retried',
  // of other things than mails
  'suppression.added',
  'suppression.removed',
  'domain.verified',
  'domain.failed',
  'upstream.down',
  'upstream.up',
  'webhook.failing',
  'webhook.recovered',
  'webhook.exhausted',
  'webhook.disabled',
  'webhook.enabled',
  'workspace.rate_alarm',
  'suppression.incident',
  // the gateway has written to the sender of a mail what became of it
  'email.sender_notified',
  // somebody has written to postmaster@ or abuse@ the bounce domain, and nobody is named to get it
  'postmaster.received',
  'workspace.rate_alarm_ended',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Orders of an operator, what moves nothing, and what strangers write: they stand in the log only. */
const NOTES: readonly EventType[] = [
  'email.reported',
  'email.held',
  'email.released',
  'email.rerouted',
  'email.retried',
  'email.sender_notified',
  'postmaster.received',
]

export const isNote = (name: string): boolean => (NOTES as readonly string[]).includes(name)

/** What endpoints are told. */
export const CHANGE_TYPES = EVENT_TYPES.filter((type) => !isNote(type))

export const isEventType = (text: string): text is EventType =>
  (EVENT_TYPES as readonly string[]).includes(text)

/** What clients of another well-known API call a deferral. */
const ALIASES: Readonly<Record<string, EventType>> = { 'email.delivery_delayed': 'email.deferred' }

/** The type that a client means, null when it is none. */
export const readEventType = (text: string): EventType | null =>
  isEventType(text) ? text : (ALIASES[text] ?? null)

/** Types of a well-known API that there are none of here: nothing is told of them, and naming them is no mistake. */
const OF_OTHERS =
  /^(?:email\.(?:opened|clicked|received|failed|suppressed)|domain\.(?:created|updated|deleted)|(?:contact|topic|inbox)\.[a-z_.]{1,60})$/

export const isOfOthers = (name: string): boolean => OF_OTHERS.test(name)

/** For an answer to who names a type that there is not. */
export const nearestEventType = (text: string): EventType => {
  const [nearest] = EVENT_TYPES.map((type) => ({ type, edits: editDistance(text, type) })).sort(
    (a, b) => a.edits - b.edits,
  )
  return nearest?.type ?? EVENT_TYPES[0]
}
