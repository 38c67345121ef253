/**
 * Complaints that come to fbl@ our bounce domain: the return path is cut away and the address blacked
 * out, as the large providers do; the reference in the returned header finds mail and recipient.
 */
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createIntake } from '../../src/outcome/report.js'
import { WORKSPACE } from '../relay/store-parts.js'
import { dsn, HARD } from './mails.js'
import { DOMAIN, eventsOf, keys, setUp, statuses } from './parts.js'

const FBL = `fbl@${DOMAIN}`

interface Shape {
  readonly from: string
  readonly subject?: string
  /** Of the feedback part; null for a mail without one. */
  readonly fields: readonly string[] | null
  readonly type?: string
  readonly returned: readonly string[]
}

const feedback = ({
  from,
  subject = 'Abuse report',
  fields,
  type = 'message/rfc822',
  returned,
}: Shape): Buffer =>
  Buffer.from(
    [
      `From: ${from}`,
      `To: ${FBL}`,
      `Subject: ${subject}`,
      `Message-ID: <1.${from}>`,
      'MIME-Version: 1.0',
      `Content-Type: multipart/${fields === null ? 'mixed' : 'report; report-type=feedback-report'}; boundary="=b"`,
      '',
      '--=b',
      'Content-Type: text/plain; charset=us-ascii',
      '',
      'A reader of this mail called it spam.',
      ...(fields === null ? [] : ['--=b', 'Content-Type: message/feedback-report', '', ...fields, '']),
      '--=b',
      `Content-Type: ${type}`,
      'Content-Disposition: inline',
      '',
      ...returned,
      '',
      'Hello',
      '--=b--',
      '',
    ].join('\r\n'),
  )

const returned = (ref: string, to = 'undisclosed'): readonly string[] => [
  'Received: from gw.postern.test by mx.far.test; Fri, 20 Nov 2026 10:00:00 +0000',
  `X-Postern-Ref: ${ref}`,
  'From: shop@acme.test',
  `To: ${to}`,
  'Subject: hello',
]

/** Shapes after RFC 5965 and what the providers document of theirs. */
const SHAPES: Readonly<Record<string, (ref: string) => Buffer>> = {
  'a loop of Yahoo': (ref) =>
    feedback({
      from: 'feedback@arf.mail.yahoo.test',
      fields: [
        'Feedback-Type: abuse',
        'User-Agent: Yahoo!-Mail-Feedback/2.0',
        'Version: 0.1',
        'Original-Mail-From: <redacted@bounces.test>',
        'Original-Rcpt-To: redacted@yahoo.test',
        'Reported-Domain: acme.test',
      ],
      returned: returned(ref, 'redacted@yahoo.test'),
    }),
  'JMRP as it came for years': (ref) =>
    feedback({
      from: 'staff@hotmail.test',
      subject: 'complaint about message from 203.0.113.7',
      fields: null,
      returned: ['X-HmXmrOriginalRecipient: <redacted>', ...returned(ref)],
    }),
  'header alone, folded to lower case': (ref) =>
    feedback({
      from: 'fbl@isp.test',
      fields: ['Feedback-Type: abuse', 'User-Agent: x/1', 'Version: 1', 'Incidents: 1'],
      type: 'text/rfc822-headers',
      returned: returned(ref).map((line) => line.replace('X-Postern-Ref', 'x-postern-ref')),
    }),
  fraud: (ref) =>
    feedback({
      from: 'fbl@isp.test',
      fields: ['Feedback-Type: fraud', 'User-Agent: x/1', 'Version: 1'],
      returned: returned(ref),
    }),
}

t.test('each shape finds its recipient, and nobody else', async (t) => {
  for (const [name, make] of Object.entries(SHAPES)) {
    const { store, mail, record, complaint } = await setUp(t)
    t.match(await record(FBL, make(complaint)), { kind: 'arf', tier: 'T2', suppressed: true }, name)
    t.equal((await store.suppression(WORKSPACE, 'a@example.com'))?.origin, 'complaint', name)
    t.equal(await store.suppression(WORKSPACE, 'b@example.com'), null, name)
    t.match((await eventsOf(store, mail))[0], { type: 'email.complained', applied: true }, name)
    t.same(await statuses(store, mail), ['sent', 'sent'], name)
  }
})

t.test('a reference that we did not sign is believed by nobody', async (t) => {
  const { store, mail, record, complaint } = await setUp(t)
  const make = SHAPES.fraud!
  const before = (await eventsOf(store, mail)).length
  for (const forged of [`${complaint.slice(0, -4)}0000`, complaint.replace(/^c/, 'r'), 'c1', ''])
    t.match(await record(FBL, make(forged)), { tier: 'T4', suppressed: false, did: 'nothing' })
  t.equal((await eventsOf(store, mail)).length, before)
})

t.test('a reference for complaints moves no status', async (t) => {
  const { store, mail, record, complaint } = await setUp(t)
  const report = dsn({
    groups: [{ ...HARD, final: 'a@example.com' }],
    returned: `X-Postern-Ref: ${complaint}\r\nSubject: hello`,
  })
  t.match(await record(FBL, report), { tier: 'T4', did: 'nothing' })
  t.same(await statuses(store, mail), ['sent', 'sent'])
})

t.test('fbl@ is open, in any case, at our domain only', async (t) => {
  const { store } = await setUp(t)
  const { verifyRecipient } = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  t.equal(await verifyRecipient(`FBL@${DOMAIN.toUpperCase()}`), true)
  for (const other of ['fbl@elsewhere.test', `fbl2@${DOMAIN}`, `postmaster@${DOMAIN}`, `bounces@${DOMAIN}`])
    t.equal(await verifyRecipient(other), false, other)
})
