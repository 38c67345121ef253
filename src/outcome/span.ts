/**
 * NAME      span - what a report said of a mail, for whoever traces
 * DESCRIPTION
 *   A report of a recipient of ours is a span under the request that brought the mail, and linked to it, as the
 *   attempts are (relay/relay.ts): the last of what a trace shows. Reports about nobody of ours make none, so
 *   that strangers cannot fill anybody's traces. No address is told, and nothing of what the report says in words.
 */
import type { Spans, Traceparent } from '../base/trace.js'
import type { Recorded } from './report.js'

const record = (spans: Spans, made: Recorded, origin: Traceparent | null): void => {
  const failed = made.status === 'bounced' ? 'bounced' : null
  const span = spans.start({
    name: 'delivery report',
    kind: 'consumer',
    parent: origin,
    link: origin,
    at: made.since,
    attributes: {
      'postern.email_id': made.emailId ?? '',
      'postern.recipient_id': made.recipientId ?? '',
      'postern.report.kind': made.kind,
      'postern.report.trust': made.tier,
      'postern.report.did': made.did,
      'postern.suppressed': made.suppressed,
      ...(made.status !== null && { 'postern.status': made.status }),
      ...(failed !== null && { 'error.type': failed }),
    },
  })
  span.end(failed)
}

/** A listener for what was made of reports. `traceOf` finds what was kept with a mail. */
export const reportSpans =
  (spans: Spans, traceOf: (emailId: string) => Promise<Traceparent | null>) =>
  (made: Recorded): void => {
    if (made.emailId === null) return
    traceOf(made.emailId)
      .catch(() => null)
      .then((origin) => record(spans, made, origin))
  }
