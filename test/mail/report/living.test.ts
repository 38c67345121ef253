/** A living address must not be called dead: replies that look like death and speak of something else. */
import t from 'tap'
import { classify } from '../../../src/mail/report/classify.js'
import { codesIn } from '../../../src/mail/report/codes.js'

const SOFT = [
  '550 5.1.1 <x>: Recipient address rejected: undeliverable address: connect to mx.far.test[192.0.2.1]:25: Connection timed out',
  '550 5.1.1 <x>: Recipient address rejected: unverified address: Address lookup failed',
  '550 5.1.1 <x>: User unknown in local recipient table (temporary LDAP lookup failure)',
  '550 5.1.1 Mailbox temporarily unavailable, try again later',
  '550 5.7.0 mailbox unavailable: message rejected as policy violation',
  '554 5.7.1 Your account has been disabled',
  '550 Sending account does not exist',
  '550 the account sending this message is disabled',
  '550 5.2.1 Your account has been closed for sending abuse',
  '550 5.7.1 Your mailbox is disabled for sending',
  '521 5.2.1 This system is configured to reject mail from 192.0.2.1',
  '501 5.1.7 Invalid address',
  '550 Could not complete recipient verify callout; user unknown',
]
const HARD = [
  '550 #5.1.0 Address rejected',
  '550 5.1.1 <x>: Recipient address rejected: User unknown in virtual mailbox table',
  '550 No such user here',
]

t.test('soft', async (t) => {
  for (const text of SOFT) t.equal(classify({ ...codesIn(text), text }).class, 'soft', text)
})

t.test('and death is still death', async (t) => {
  for (const text of HARD) t.equal(classify({ ...codesIn(text), text }).class, 'hard', text)
})
