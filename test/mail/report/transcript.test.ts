/**
 * Sendmail, and what is made of it, writes `550 5.1.1 … User unknown` under every 550 that a server gives at RCPT, and 5.1.1 into
 * Status where the reply had no code of its own. What the server said stands beside it, after `<<<`.
 */
import t from 'tap'
import { suppresses } from '../../../src/mail/report/classify.js'
import { readReport } from '../../../src/mail/report/read-report.js'

const LIVING = [
  '550 5.7.26 scripted reply',
  '550 5.7.515 Access denied, sending domain shop.test does not meet the required authentication level.',
  '550 5.7.1 Rejected',
  '550 5.7.1 message refused',
  '550 5.7.25 192.0.2.7',
  '550 5.7.1 Service unavailable; client host [192.0.2.7] blocked using zen',
  '550 5.7.606 Access denied, banned sending IP [192.0.2.7]',
  '550 5.7.1 Unauthenticated email is not accepted',
  '550 5.7.0 Local policy',
  '550 5.7.509 Access denied',
  '550 5.7.133 sender not authenticated for group',
  '550 5.7.124 sender not in allowed senders list',
  '550 5.7.750 Client blocked from sending from unregistered domain',
  '550 5.7.13 User account disabled',
  '550 5.4.316 Message expired',
  '550 5.4.6 Routing loop',
  '550 5.2.2 Over quota',
  '550 5.3.4 Message too large',
  '550 5.6.1 Media not supported',
  '550 5.5.2 Helo command rejected',
  '550 5.1.8 Bad sender',
  '550 message refused',
  '550 Rejected',
  '550 Not today',
  '550 Administrative prohibition',
  '550 4.4.7 mailbox unavailable',
]
const DEAD = [
  '550 5.1.1 <ann@far.test>: User unknown',
  '550 5.1.1',
  '550 No such user here',
  '550 5.1.10 Recipient not found',
  '550 5.2.1 The account was closed',
  '550 5.7.1 User unknown',
]

const mail = (said: string): Buffer => {
  const status = /(?<=^550 )[45]\.\d\.\d+/.exec(said)?.[0] ?? '5.1.1'
  return Buffer.from(`From: Mail Delivery Subsystem <MAILER-DAEMON@relay.test>
To: <b1@bounce.test>
Subject: Returned mail: see transcript for details
Auto-Submitted: auto-generated (failure)
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="x"

--x

The original message was received at Mon, 23 Nov 2026 10:00:00 GMT

   ----- The following addresses had permanent fatal errors -----
<ann@far.test>
    (reason: ${said})

   ----- Transcript of session follows -----
... while talking to mx.far.test.:
>>> DATA
<<< ${said}
550 5.1.1 <ann@far.test>... User unknown
<<< 503 5.5.1 no valid recipients

--x
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.test
Arrival-Date: Mon, 23 Nov 2026 10:00:00 GMT

Final-Recipient: RFC822; ann@far.test
Action: failed
Status: ${status}
Remote-MTA: DNS; mx.far.test
Diagnostic-Code: SMTP; ${said}
Last-Attempt-Date: Mon, 23 Nov 2026 10:00:00 GMT

--x
Content-Type: text/rfc822-headers

Subject: hello

--x--
`)
}

/** The notice alone, as Sendmail wrote it before there were status parts. */
const plain = (said: string): Buffer => {
  const [head = '', words = ''] = mail(said).toString().split('\n--x\n')
  return Buffer.from(`${head.replace(/^(?:MIME|Content)-.*\n/gm, '')}${words}`)
}

const listed = async (raw: Buffer): Promise<readonly boolean[]> =>
  (await readReport(raw)).recipients.map(suppresses)

t.test('what the server said is heard, and not what its neighbour made of it', async (t) => {
  for (const said of LIVING) {
    t.same(await listed(mail(said)), [false], said)
    t.same(await listed(plain(said)), [false], `${said}, without a status part`)
  }
})

t.test('and death is still death', async (t) => {
  for (const said of DEAD) {
    t.same(await listed(mail(said)), [true], said)
    t.same(await listed(plain(said)), [true], `${said}, without a status part`)
  }
})

t.test(
  'an MTA that gave up on a 4xx has not found anybody dead; nor has Haraka, whose host was down',
  async (t) => {
    const gaveUp = (status: string, said: string): Buffer =>
      Buffer.from(
        mail('550 x')
          .toString()
          .replace(/\n {3}-----[\s\S]*?\n--x\n/, '\nYour mail could not be delivered.\n\n--x\n')
          .replace('Status: 5.1.1', `Status: ${status}`)
          .replace('SMTP; 550 x', `smtp; ${said}`),
      )
    for (const [status, said] of [
      ['4.2.1', '450 4.2.1 mailbox unavailable'],
      ['4.4.7', '450 4.2.1 mailbox unavailable'],
      ['4.4.7', 'mailbox unavailable'],
      ['4.2.1', '450 Requested mail action not taken: mailbox unavailable'],
      ['5.4.7', '451 4.2.1 mailbox disabled'],
      ['5.1.2', '550 Tried all MXs far.test'],
      ['5.1.2', '550 5.1.2 Nowhere to deliver mail to'],
    ] as const)
      t.same(await listed(gaveUp(status, said)), [false], `${status} ${said}`)
    t.same(await listed(gaveUp('5.1.1', '550 5.1.1 User unknown')), [true])
  },
)
