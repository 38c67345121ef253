/**
 * NAME      formats - the formats that there are, and what they leave out
 */
import { CHANGE_TYPES, type EventType, readEventType } from '../../mail/event-type.js'
import type { Subscription, WebhookFormat } from '../../store/port/hooks.js'
import type { Format } from './format.js'
import { mailgun } from './mailgun.js'
import { postmark } from './postmark.js'
import { resend } from './resend.js'
import { sendgrid } from './sendgrid.js'

/** null: our own words, which every type has. */
export const FORMATS: Readonly<Record<WebhookFormat, Format | null>> = {
  standard: null,
  sendgrid,
  postmark,
  mailgun,
  resend,
}

const has = (format: Format | null, type: EventType | null): boolean =>
  format === null || type === null || format.counterparts[type] !== undefined

/** Types that are posted in a format; null: all. */
export const typesIn = (name: WebhookFormat): readonly EventType[] | null => {
  const format = FORMATS[name]
  return format === null ? null : CHANGE_TYPES.filter((type) => has(format, type))
}

/** Of what is asked for, the types that the format has no word for: they are not posted. */
export const withoutCounterpart = (
  asked: readonly Subscription[],
  name: WebhookFormat,
): readonly string[] => {
  const format = FORMATS[name]
  const all = asked.includes('*') ? CHANGE_TYPES : asked
  return all.filter((type) => !has(format, readEventType(type)))
}
