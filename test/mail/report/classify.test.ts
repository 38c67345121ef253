/**
 * What servers say, and what it means for the address. The lines are in the
 * manner of large providers and common MTAs; a false hard is the costly error,
 * so most of them are soft.
 */
import t from 'tap'
import { codesIn } from '../../../src/mail/reply.js'
import { CATEGORIES } from '../../../src/mail/report/category.js'
import { type Category, classify, readRules, suppresses } from '../../../src/mail/report/classify.js'

const SAID: Record<string, Category> = {
  '550 5.1.1 <x@y.test>: Recipient address rejected: User unknown in local recipient table': 'unknown_user',
  '550-5.1.1 The email account that you tried to reach does not exist.': 'unknown_user',
  '550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT042.eop-EUR03]': 'unknown_user',
  '550 5.5.0 Requested action not taken: mailbox unavailable.': 'unknown_user',
  "554 delivery error: dd This user doesn't have an account here (x@y.test) [0]": 'unknown_user',
  '550 No Such User Here': 'unknown_user',
  '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)': 'unknown_user',
  '550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found by SMTP address lookup': 'unknown_user',
  '553 5.3.0 <x@y.test>... Addressee unknown': 'unknown_user',
  '450 4.1.1 <x@y.test>: Recipient address rejected: User unknown in virtual alias table': 'system',
  '550 Adresse destinataire inconnue': 'unknown_user',
  '550 5.1.2 <x@y.test>... Host unknown (Name server: y.test: host not found)': 'unknown_domain',
  'Host or domain name not found. Name service error for name=y.test type=A: Host not found':
    'unknown_domain',
  'Domain y.test does not accept mail (nullMX)': 'unknown_domain',
  '550 5.1.6 recipient has moved to another system': 'moved',
  '550 5.2.1 The email account that you tried to reach is disabled.': 'disabled',
  '550 mailbox is locked for now': 'suspended',
  "452-4.2.2 The recipient's inbox is out of storage space": 'mailbox_full',
  '552 5.2.2 over quota': 'mailbox_full',
  '550 Mailbox is full / Blocks limit exceeded / Inode limit exceeded': 'mailbox_full',
  '550 5.7.26 This mail has been blocked because the sender is unauthenticated (SPF, DKIM)': 'authentication',
  '550 5.7.509 Access denied, sending domain does not pass DMARC verification': 'authentication',
  "550 5.7.1 Unfortunately, messages from [192.0.2.4] weren't sent. Your network is on our block list":
    'reputation',
  '554 5.7.1 Client host [192.0.2.4] blocked using a DNSBL': 'reputation',
  '550 5.1.1 <x@y.test> - 192.0.2.4 has sent to too many recipients this hour': 'rate_limited',
  '450 4.7.1 <x@y.test>: Recipient address rejected: Greylisted': 'rate_limited',
  '554 5.7.1 <x@y.test>: Relay access denied': 'relay_denied',
  "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)": 'relay_denied',
  '553 5.1.8 <a@b.test>... Domain of sender address a@b.test does not exist': 'sender_rejected',
  '550 5.1.0 <a@b.test>: Sender address rejected: Domain not found': 'sender_rejected',
  '550 user unknown (in reply to MAIL FROM command)': 'sender_rejected',
  '550 5.7.1 Message rejected as spam': 'spam',
  '550 Virus Detected; Content Rejected': 'virus',
  '552 5.3.4 Message size exceeds fixed limit': 'too_big',
  '554 5.6.0 Invalid message content': 'content',
  'Could not deliver for the last 432000 seconds. Giving up.': 'expired',
  'connect to y.test[192.0.2.9]:25: Connection refused': 'network',
  'Host or domain name not found. Name service error for name=y.test type=MX: Host not found, try again':
    'network',
  "550 4.4.0 DNS type 'mx' lookup of y.test responded with code NXDOMAIN": 'network',
  '554 5.4.6 Hop count exceeded - possible mail loop': 'loop',
  '554 5.3.0 Internal system error': 'system',
  '503 5.5.1 Bad sequence of commands': 'protocol',
  '530 5.7.0 Must issue a STARTTLS command first': 'security',
  '550 5.7.0 Local Policy Violation': 'policy',
  '550 5.7.193 The sender is not a group member; only members may post': 'recipient_rejected',
  '554 5.7.1 <x@y.test>: Recipient address rejected: Access denied': 'policy',
  '450 4.1.1 <x@y.test>: Recipient address rejected: unverified address: connect to z.test: timed out':
    'network',
  Hello: 'unknown',
}

t.test('what a server says, and what it means', async (t) => {
  for (const [text, category] of Object.entries(SAID)) {
    const verdict = classify({ ...codesIn(text), text })
    t.equal(verdict.category, category, text)
    t.equal(verdict.class, CATEGORIES[category].severity)
    t.equal(verdict.fault, CATEGORIES[category].fault)
  }
})

t.test('codes decide where words are missing', async (t) => {
  const by = (enhanced: string) => classify({ code: 550, enhanced, text: '' }).category
  t.equal(by('5.1.1'), 'unknown_user')
  t.equal(by('5.2.2'), 'mailbox_full')
  t.equal(by('5.4.4'), 'unknown_domain')
  t.equal(by('5.0.0'), 'unknown')
  t.equal(by('5.7.1'), 'policy')
  t.equal(classify({ code: 552, enhanced: null, text: '' }).category, 'too_big')
})

t.test('words in an address or a link are no reason', async (t) => {
  t.equal(classify({ code: 550, enhanced: null, text: '550 <user-unknown@spam.test> refused' }).class, 'soft')
  t.equal(classify({ code: 550, enhanced: null, text: '550 see https://y.test/user-unknown' }).class, 'soft')
})

t.test('every hard category is a fault of the recipient', async (t) => {
  for (const { severity, fault } of Object.values(CATEGORIES)) {
    if (severity === 'hard') t.equal(fault, 'recipient')
  }
})

t.test('only a recipient who failed hard is suppressed', async (t) => {
  t.ok(suppresses({ action: 'failed', class: 'hard', fault: 'recipient' }))
  t.notOk(suppresses({ action: 'delayed', class: 'hard', fault: 'recipient' }))
  t.notOk(suppresses({ action: 'failed', class: 'soft', fault: 'recipient' }))
  t.notOk(suppresses({ action: null, class: null, fault: null }))
})

t.test('a site puts its own rules first', async (t) => {
  const rules = readRules([{ category: 'policy', text: 'no thanks', enhanced: ['5.1.'] }])
  const reason = { code: 550, enhanced: '5.1.1', text: '550 5.1.1 No Thanks, user unknown' }
  t.equal(classify(reason).category, 'unknown_user')
  t.equal(classify(reason, rules).category, 'policy')
  t.throws(() => readRules([{ category: 'nonsense', text: 'x' }]), /no category is named nonsense/)
  t.throws(() => readRules([{ category: 'spam' }]), /give enhanced, code or text/)
  t.throws(() => readRules([{ category: 'spam', text: '(' }]), /not a regular expression/)
})

t.test('a long text without a reason costs no time', async (t) => {
  for (const word of ['user ', 'recipient address ', 'mailbox not ', 'host ', 'exceeds ', 'message '])
    t.equal(typeof classify({ code: 550, enhanced: null, text: word.repeat(200_000) }).class, 'string')
})
