/**
 * NAME      own-mail - the services that write mail by themselves
 */
import type { Service } from '../../base/service.js'
import { createNoticeMails, type NoticeMailParts } from './notice-mail.js'
import { createSenderDsns, type SenderDsnParts } from './sender-dsn.js'

/** Reports to senders, and notices to the owners of endpoints. */
export const createOwnMails = (parts: SenderDsnParts & NoticeMailParts): readonly Service[] => [
  createSenderDsns(parts),
  createNoticeMails(parts),
]
