/** Mail that speaks of bounces and is none: people with an empty return path, and machines with other news. */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'

const read = (from: string, subject: string, text: string) =>
  readReport(
    Buffer.from(
      `Return-Path: <>\nFrom: ${from}\nTo: b3x9@bounce.shop.test\nSubject: ${subject}\n\n${text}\n`,
    ),
  )

const NEWS: readonly (readonly [string, string, string])[] = [
  [
    'Sue <sue@peer.test>',
    'Undeliverable',
    'My message to ann@peer.test could not be delivered, user unknown. Do you have her new address?',
  ],
  [
    'Sue <sue@peer.test>',
    'Mail delivery failed',
    'I tried to write to ann@peer.test but it could not be delivered:\n\n  550 5.1.1 <ann@peer.test>: User unknown\n\nSue',
  ],
  [
    'Sue <sue@peer.test>',
    'Delivery failure',
    'Hello,\nthe parcel could not be delivered. Returned to sender, they say.',
  ],
  [
    'System <postmaster@peer.test>',
    'Quota warning',
    'Your mailbox ann@peer.test is 95% full. Soon new messages could not be delivered.',
  ],
  [
    'postmaster@peer.test',
    'Spam quarantine notification',
    'You have new messages in quarantine:\n\nfrom ann@peer.test  Undeliverable: Hello',
  ],
  [
    'root@peer.test (Cron Daemon)',
    'Cron <root@peer> /usr/bin/backup',
    'backup: cannot write to ann@peer.test: permanent error',
  ],
  [
    'Mail System <postmaster@peer.test>',
    'Welcome to your new mailbox',
    'Your mailbox ann@peer.test is ready. If mail cannot be delivered, ask support@peer.test.',
  ],
  [
    'Postmaster <postmaster@peer.test>',
    'Out of office: Receipt',
    'I am away. Your message has not been delivered to anybody else. Write to bob@peer.test.',
  ],
  [
    'Mail System <postmaster@peer.test>',
    'Messages held for you',
    '3 messages to ann@peer.test have been held and were not delivered to your inbox.',
  ],
  [
    'Mail Administrator <admin@peer.test>',
    'Your mailbox will be deleted',
    'Your mailbox ann@peer.test will be deleted. 14 incoming mails could not be delivered. Confirm your account.',
  ],
  [
    'Mail Delivery System <mailer-daemon@peer.test>',
    'Undelivered messages: action required',
    'Dear ann@peer.test,\n\nYou have (7) undelivered messages due to a storage error on your mailbox.',
  ],
  [
    'Postmaster <postmaster@peer.test>',
    'ann@peer.test: Mailbox storage is full',
    'Your mailbox is almost full. Incoming messages will be returned to sender as undeliverable.',
  ],
  [
    'Delivery Service <delivery-notification@peer.test>',
    'Delivery notification: unsuccessful',
    'We were unable to deliver your parcel to the recipient ann@peer.test. It is returned to sender.',
  ],
  [
    'Mail System <postmaster@peer.test>',
    'Postfix log summaries for Mar 3',
    'message bounce detail (by relay)\n   ann@peer.test  550 5.1.1 User unknown',
  ],
  [
    'postmaster@peer.test',
    'Report domain: shop.test Submitter: peer.test Report-ID: 1',
    'This is a DMARC aggregate report. Delivery failed for: ann@peer.test',
  ],
  [
    'MailScanner <postmaster@peer.test>',
    'Warning: E-mail viruses detected',
    'Our virus detector has been triggered by a message sent to you: from ann@peer.test. It was not delivered.',
  ],
  [
    'Build Robot <robot@peer.test>',
    'Nightly run',
    'Test 17 failed: the message could not be delivered to ann@peer.test, user unknown.',
  ],
  [
    'Post Office <postoffice@peer.test>',
    'We missed you',
    'Your letter could not be delivered to ann@peer.test. The recipient was not found.',
  ],
  [
    'Shop <shop@peer.test>',
    'Your message to us',
    'Thank you for your message. Should it not be answered, write to ann@peer.test; info@peer.test is no longer used.',
  ],
]

t.test('names nobody', async (t) => {
  for (const [from, subject, text] of NEWS) {
    const { kind, recipients } = await read(from, subject, text)
    t.ok(kind === 'none' || kind === 'autoreply', `${from} ${subject}`)
    t.same(recipients, [], `${from} ${subject}`)
  }
})

t.test('but a server that signs with a strange name is heard', async (t) => {
  const { kind, recipients } = await read(
    'Relay4 <relay4@peer.test>',
    'Mail could not be delivered',
    'Unable to deliver message to <ann@peer.test>.\n\n550 5.1.1 <ann@peer.test>... User Unknown',
  )
  t.equal(kind, 'bounce')
  t.equal(recipients[0]?.address, 'ann@peer.test')
})
