/**
 * NAME      said - what the notice says, and about whom
 * DESCRIPTION
 *   The words of a mail, found once: its notice, the addresses that it mentions,
 *   and whether it tells of a failure, a delay or a success. The words about one recipient
 *   complete the vague fields of a status part.
 */
import { sameAddress } from '../addresses.js'
import { type Mail, words } from '../mime.js'
import type { Action } from '../report.js'
import { type Notice, noticeOf } from './notice.js'
import {
  BOUNCE_SUBJECT,
  DELAY,
  DELAY_SUBJECT,
  ENTRY,
  FAILURE,
  FINAL_REPLY,
  GAVE_UP,
  LIST_HEADING,
  OPENING,
  SUCCESS,
  WARNING_ONLY,
} from './phrases.js'
import { linesAbout, type Mention, mentionsIn } from './prose.js'
import { addressees, returnedSubject } from './sender.js'

export interface Said {
  readonly notice: Notice
  readonly mentions: readonly Mention[]
  readonly action: Action
  /** False when the words tell of no failure and it is merely assumed. */
  readonly clear: boolean
}

interface About {
  /** The lines that are this recipient's own. */
  readonly own: string
  /** All that is said about this recipient. */
  readonly context: string
}

/**
 * A report cut short may have nothing but its words: good news must not be read as bad. What calls itself
 * a warning is one under any heading; but a subject alone does not outweigh a reply for good.
 */
const actionIn = ({ flat, text }: Notice, subject: string): Action => {
  if (SUCCESS.test(flat) && !FAILURE.test(flat)) return 'delivered'
  const late = DELAY.test(flat) || (DELAY_SUBJECT.test(subject) && !FINAL_REPLY.test(text))
  // no words that we know, and every reply is for now: nobody has said that it is the end
  const failing = [flat, subject].some(
    (words) => FAILURE.test(words) || OPENING.test(words) || GAVE_UP.test(words),
  )
  if (!late && !failing && ENTRY.test(text) && !FINAL_REPLY.test(text) && !BOUNCE_SUBJECT.test(subject))
    return 'delayed'
  const told = WARNING_ONLY.test(flat) || /^warning\b/i.test(subject) ? flat.replace(LIST_HEADING, '') : flat
  return late && !GAVE_UP.test(told) ? 'delayed' : 'failed'
}

export const saidIn = (mail: Mail): Said => {
  const notice = noticeOf(mail)
  // what our own mail was called tells nothing: "Undeliverable: Your order is delayed"
  const subject = words(mail.headers, 'subject').replace(returnedSubject(mail, notice).trim(), '')
  const action = actionIn(notice, subject)
  return {
    notice,
    mentions: mentionsIn(notice, addressees(mail.headers)),
    action,
    clear:
      action !== 'failed' || [notice.flat, subject].some((text) => FAILURE.test(text) || GAVE_UP.test(text)),
  }
}

/** The words about one address; all of them when the report knows only one. */
export const saidAbout = (said: Said, address: string | null, alone: boolean): About => {
  const mention = said.mentions.find((one) => address !== null && sameAddress(one.address, address))
  const own = mention?.text ?? ''
  if (alone) return { own, context: own === '' ? said.notice.text : `${own}\n\n${said.notice.text}` }
  if (address === null) return { own, context: '' }
  return { own, context: `${own}\n\n${linesAbout(said.notice, address)}` }
}
