/** A notice repeats the subject of our mail, whatever that speaks of; what a machine itself has to tell is no notice. */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'

const NOTICE = `Your message did not reach some or all of the intended recipients.

The following recipient(s) could not be reached:

ann@peer.test
   Remote server replied: 550 Unknown user
`

const read = (from: string, subject: string, text: string) =>
  readReport(Buffer.from(`From: ${from}\nTo: b3x9@bounce.shop.test\nSubject: ${subject}\n\n${text}`))

const OURS = [
  'Password reset',
  'Newsletter March',
  'Quota warning',
  'Welcome to the shop',
  'Problem with your order',
]

for (const subject of OURS) {
  t.test(subject, async (t) => {
    const copy = `\n----- Original message -----\n\nReceived: from shop.test by mx.shop.test\nFrom: shop@shop.test\nSubject: ${subject}\nTo: ann@peer.test\n`
    const told = [
      await read('Postmaster <postmaster@peer.test>', `Message undeliverable: ${subject}`, NOTICE),
      await read('Postmaster <postmaster@peer.test>', `Re: ${subject}`, NOTICE + copy),
      await read('MAILER-DAEMON@peer.test', subject, NOTICE + copy),
    ]
    for (const { kind, recipients } of told)
      t.match(
        { kind, recipients },
        { kind: 'bounce', recipients: [{ address: 'ann@peer.test', class: 'hard' }] },
      )
    t.equal(
      (await read('Postmaster <postmaster@peer.test>', subject, 'Write to ann@peer.test.\n')).kind,
      'none',
    )
  })
}

t.test('late is what the notice says, not what our mail was called', async (t) => {
  const copy =
    '\n----- Original message -----\n\nReceived: from a by b\nSubject: Your order is delayed\nTo: ann@peer.test\n'
  const { kind } = await read(
    'MAILER-DAEMON@peer.test',
    'Not delivered: Your order is delayed',
    `Your message could not be delivered to:\n\nann@peer.test\n   mailbox unknown\n${copy}`,
  )
  t.equal(kind, 'bounce')
})

t.test('our subject inside the notice', async (t) => {
  const subject = 'Your parcel is on its way'
  const text = `Your message "${subject}" could not be delivered to:\n\nann@peer.test: 550 no such user\n`
  t.equal((await read('Postmaster <postmaster@peer.test>', `Undeliverable: ${subject}`, text)).kind, 'bounce')
})

t.test('who signs, asks or speaks of himself shows a notice', async (t) => {
  const stark =
    'Your message could not be delivered to the following recipient:\n\nann@peer.test\n\n550 Unknown user\n'
  t.equal((await read('Mail <mail@peer.test>', 'Undeliverable', stark)).kind, 'bounce')
  for (const end of [
    'Please look into it. Bob',
    'Ho ricevuto questo.',
    'Kunt u helpen?',
    'Das habe ich bekommen.',
  ])
    t.equal((await read('Bob <bob@peer.test>', 'Undeliverable', `${stark}\n${end}\n`)).kind, 'none', end)
})

t.test('lists of a robot', async (t) => {
  const list = 'ann@peer.test: 550 5.1.1 User unknown (12)\nbob@peer.test: 550 5.1.1 User unknown (3)\n'
  for (const subject of ['Postmaster digest', 'Queue report'])
    t.equal((await read('Postmaster <postmaster@peer.test>', subject, `Of today:\n\n${list}`)).kind, 'none')
})
