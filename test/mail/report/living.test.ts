/** A living address must not be called dead: replies that look like death and speak of something else. */
import t from 'tap'
import { codesIn } from '../../../src/mail/reply.js'
import { classify, judge } from '../../../src/mail/report/classify.js'

const NONE = { code: null, enhanced: null }
const SOFT = [
  // in other languages: what is unknown is no mailbox, or the code stands beside other reasons
  '550 Errore sconosciuto',
  '550 Unbekannter Fehler',
  '550 Die Datei existiert nicht',
  '550 El archivo adjunto no existe',
  '550 Adresse IP inconnue',
  '550 签名不存在',
  '550 5.2.1 Ящик заблокирован',
  '550 5.2.1 Compte inactif',
  '550 5.2.1 账号被冻结',
  '550 5.1.1 Ihre IP-Adresse ist gesperrt',
  '550 5.1.1 Ваш IP в черном списке',
  '550 5.1.1 垃圾邮件被拒绝',
  '550 5.1.1 Rejeté par la politique locale',
  '550 5.1.1 Trop de destinataires inconnus',
  '550 5.1.1 Mensaje rechazado por contenido',
  // of us, of a list, of inside and outside
  '550 5.1.1 listed at bl.far.test: 192.0.2.1',
  '554 5.7.1 You are blocked: too many attempts to nonexistent mailboxes',
  '550 5.1.1 Mailbox accepts internal mail only',
  '550 5.1.1 Administrative prohibition',
  '550 Unknown user-defined header X-Note',
  '554 5.5.1 Error: no valid recipients',
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
  // words that stand inside others, and what is said of the line, the server, a rule, the sender
  '554 Recipient server closed connection unexpectedly',
  '550 5.0.0 delivery to recipient failed, remote host closed connection',
  '554 Delivery to recipient aborted, backend closed connection',
  '550 Mailbox server closed',
  '554 Undisclosed recipients not accepted here',
  '550 Message to undisclosed recipients rejected',
  '550 No such recipient policy',
  '550 Unknown user agent',
  '550 Sender address changed too often',
  '550 Invalid user name or password',
  '550 Recipient mail server certificate not valid',
  '550 Mailbox database not found',
  '550 5.1.1 Your account was not found on our list of customers',
  '550 Mail for user was deleted by a filter',
  '550 User has disabled mail from strangers',
  '550 This domain does not accept mail from you',
  '550 <x>: Recipient address rejected: not allowed',
  // a code for a dead address, and words that speak against it
  '553 5.1.3 https://www.spamhaus.org/query/ip/192.0.2.1',
  '550 5.1.1 see http://www.sorbs.net/lookup.shtml?192.0.2.1',
  '550 5.1.1 www.barracudanetworks.com/reputation/?ip=192.0.2.1',
  '550 5.1.1 https://help.far.test/why',
  '550 5.1.1 <x>: rejected due to policy',
  '550 5.1.1 <x>: too many recipients',
  '550 5.2.1 sending limit reached',
  '550 5.1.1 mail loop detected',
  '550 5.1.2 DNS server failure, try later',
  '550 5.1.1 message blocked',
  '550 5.7.1 Recipient rejected',
]
const HARD = [
  '550 Destinatário desconhecido',
  '550 5.5.0 Boîte aux lettres inexistante',
  '550 Unbekannter Empfänger',
  '550 <x@y.test>: не существует',
  '550 该用户不存在',
  '550 #5.1.0 Address rejected.',
  '550 5.1.1 User unknown; see our spam policy at https://far.test/policy',
  '550 5.1.1 User unknown. This mail was scanned for viruses and spam',
  '550 5.1.1 User unknown; please try again with a correct address',
  '550 #5.1.0 Address rejected',
  '550 5.1.1 <x>: Recipient address rejected: User unknown in virtual mailbox table',
  '550 No such user here',
  '550 Rcpt <x@y.test> does not exist',
  '550 BAD_RECIPIENT',
  '550 5.1.1 User unknown; closing connection',
  '550 5.1.1 Unknown user. Please check the address and try again',
  '550 5.1.1 http://support.google.com/mail/bin/answer.py?answer=6596 ab1si2pbd.3 - gsmtp',
  '550 5.1.1 <x@y.test>: Recipient address rejected: undeliverable address: host mx.far.test[192.0.2.1] said: 550 no such user',
]
/** What stands around a plain reply, in the notice for people. */
const POLITE = [
  'The original message is included as an attachment.',
  'Message-ID: <1@y.test>',
  'Please contact us if your account is concerned.',
  'Please check the address and try again.',
  'This message has been scanned for all viruses by MailScanner.',
  'This e-mail was checked by an anti-spam filter.',
]

t.test('soft', async (t) => {
  for (const text of SOFT) t.equal(classify({ ...codesIn(text), text }).class, 'soft', text)
})

t.test('and death is still death', async (t) => {
  for (const text of HARD) t.equal(classify({ ...codesIn(text), text }).class, 'hard', text)
})

t.test('the reply speaks before the prose', async (t) => {
  for (const text of ['550 5.1.1 User unknown', '550 5.1.1', 'smtp; 550 No such user here'])
    for (const polite of POLITE) {
      const verdict = judge(codesIn(text), [text, '', `${text}\n${polite}`], polite)
      t.equal(verdict.class, 'hard', `${text}: ${polite}`)
    }
  for (const polite of POLITE)
    t.equal(judge(NONE, ['', '', `User unknown.\n${polite}`]).class, 'hard', polite)
})

t.test('prose without a code', async (t) => {
  const said = (text: string) => judge({ code: null, enhanced: '5.0.0' }, ['', '', text], text).category
  t.equal(
    said(
      "Address not found\nYour message wasn't delivered to ana@y.test because the address couldn't be found, or is unable to receive mail. Check for typos and try again.",
    ),
    'unknown_user',
  )
  t.equal(said('The recipient is unknown at the moment; please try again later.'), 'system')
})
