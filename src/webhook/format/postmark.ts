/**
 * NAME      postmark - posts as Postmark's webhooks make them
 * DESCRIPTION
 *   Delivery, Bounce and SpamComplaint, a record a post. Postmark signs nothing: its receivers ask for a login, which is the
 *   `auth` of an endpoint. `MessageID` is what /v1/as/postmark answered, the id of the mail.
 *   NOTES
 *     Types that readers do not know are said by the next one that they do: listmonk answers 400 to `Blocked`, `Unknown`
 *     and `AddressChange`, and an endpoint that answers 400 is taken for one that fails.
 */
import { toRfc3339 } from '../../base/clock.js'
import { parseAddress } from '../../mail/address.js'
import { bounceTypesOf } from '../../mail/report/category.js'
import type { LogRow } from '../../store/port/log.js'
import { aboutOf, type Format, saidOf } from './format.js'

type Type = readonly [code: number, name: string, description: string, isInactive: boolean]

const TYPES = {
  HardBounce: [1, 'Hard bounce', 'The server was unable to deliver your message.', true],
  Transient: [2, 'Message delayed', 'The message was not delivered in time.', false],
  SpamNotification: [512, 'Spam notification', 'The message was taken for spam.', false],
  SoftBounce: [4096, 'Soft bounce', 'The message was not delivered, and may be at another time.', false],
  VirusNotification: [8192, 'Virus notification', 'The message was taken for a virus.', false],
  SpamComplaint: [100001, 'Spam complaint', 'The recipient called the message spam.', true],
  ManuallyDeactivated: [100002, 'Manually deactivated', 'The address is on a list of suppressions.', true],
  DMARCPolicy: [100009, 'DMARC policy', 'The message failed SPF, DKIM or DMARC.', false],
} as const satisfies Readonly<Record<string, Type>>

const TYPE_OF: Readonly<Record<string, keyof typeof TYPES>> = {
  AddressChange: 'HardBounce',
  Blocked: 'SoftBounce',
  Unknown: 'SoftBounce',
}

const typeOf = ({ type, reason }: LogRow): keyof typeof TYPES => {
  if (type === 'email.complained') return 'SpamComplaint'
  const { postmark } = bounceTypesOf(reason)
  return TYPE_OF[postmark] ?? (postmark as keyof typeof TYPES)
}

const STREAM = 'message_stream'

/** What all records have. */
const headOf = (row: LogRow) => {
  const { emailId, tags, said } = aboutOf(row)
  const { [STREAM]: stream = 'outbound', ...metadata } = said
  return {
    RecordType: postmark.counterparts[row.type],
    MessageStream: stream,
    MessageID: emailId,
    Tag: tags[0] ?? '',
    Metadata: metadata,
    ServerID: 0,
  }
}

/** The address alone, where it is one. */
const bare = (from: string): string => parseAddress(from)?.address ?? from

export const postmark: Format = {
  service: 'Postmark',
  counterparts: {
    'email.delivered': 'Delivery',
    'email.bounced': 'Bounce',
    'email.complained': 'SpamComplaint',
  },
  mayBeThin: false,
  hasLogin: true,
  body(row) {
    const { recipient, from, subject } = aboutOf(row)
    const at = toRfc3339(row.occurredAt)
    if (row.type === 'email.delivered')
      return { ...headOf(row), Recipient: recipient, DeliveredAt: at, Details: saidOf(row) }
    const type = typeOf(row)
    const [code, name, description, isInactive] = TYPES[type]
    return {
      ...headOf(row),
      ID: Number.parseInt(row.mark, 10),
      Type: type,
      TypeCode: code,
      Name: name,
      Description: description,
      Details: saidOf(row),
      Email: recipient,
      From: bare(from),
      BouncedAt: at,
      DumpAvailable: false,
      Inactive: isInactive,
      CanActivate: isInactive && type !== 'SpamComplaint',
      Subject: subject,
      Content: '',
    }
  },
}
