/**
 * An hour of a broken smarthost, as its replies and reports say it, read and judged over a real store: none of the living is
 * suppressed, and the dead addresses of a list are.
 */
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { newId } from '../../src/base/id.js'
import { type NewEmail, observed } from '../../src/lifecycle/facts.js'
import { parseReply } from '../../src/mail/reply.js'
import { classify, suppresses } from '../../src/mail/report/classify.js'
import { readReport } from '../../src/mail/report/read-report.js'
import { suppressHardBounce } from '../../src/outcome/suppress.js'
import type { Store } from '../../src/store/port/store.js'
import { poolRow, upstreamRow } from '../relay/parts.js'
import { ACCOUNT, accept, newEmail, openStore, WORKSPACE } from '../relay/store-parts.js'

type Said = (n: number) => string

const across = (domains: number, each: number): readonly string[] =>
  Array.from({ length: domains * each }, (_, i) => `user${i % each}@d${Math.floor(i / each)}.test`)

const of = (n: number, from = 0): readonly string[] =>
  Array.from({ length: n }, (_, i) => `user${from + i}@y.test`)

/** Letters that differ from one to the next, as an id of a mail has. */
const idOf = (n: number): string =>
  Array.from({ length: 12 }, (_, i) => String.fromCharCode(97 + ((n * (i + 7) + i * i) % 26))).join('')

const PHRASES = [
  '550 5.1.1 No such user here',
  '550 5.1.1 Unknown user',
  '550 5.1.1 Mailbox not found',
  '550 5.1.1 The recipient does not exist',
  '550 5.2.1 The account was closed',
]
const LISTED = [
  '554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using bl.example',
  '550 5.7.606 Access denied, banned sending IP [192.0.2.7]',
  '550 Your IP 192.0.2.7 is on our block list',
  '550 5.7.1 192.0.2.7 has a poor reputation',
]
const gmail: Said = (n) =>
  `550-5.1.1 The email account that you tried to reach does not exist. Please try 550 5.1.1 double-checking the address. ${idOf(n)} - gsmtp`

interface Scene {
  readonly what: string
  readonly emails: readonly string[]
  readonly said: Said
  readonly by?: 'report'
}

const LIVING: readonly Scene[] = [
  { what: 'one domain, one text', emails: of(120), said: () => PHRASES[0] ?? '' },
  { what: 'reports of one domain, with ids of letters', emails: of(100), said: gmail, by: 'report' },
  { what: 'one domain, five phrasings', emails: of(120), said: (n) => PHRASES[n % 5] ?? '' },
  {
    what: 'one domain, other words in each',
    emails: of(120),
    said: (n) => `550 5.1.1 Unknown user ${idOf(n)}`,
  },
  {
    what: 'a smarthost that lost its map',
    emails: across(120, 1),
    said: () => '550 5.1.1 User unknown in relay recipient table',
  },
  { what: 'twelve domains, the same text', emails: across(12, 10), said: () => PHRASES[1] ?? '' },
  { what: 'a provider of many domains', emails: across(80, 1), said: gmail, by: 'report' },
  {
    what: 'our account at a smarthost, by its code',
    emails: across(40, 1),
    said: () => '550 5.7.13 User account disabled',
  },
  {
    what: 'our account at a smarthost, in words',
    emails: across(40, 1),
    said: () => '550 5.2.1 Account disabled',
  },
  {
    what: 'our account, suspended',
    emails: across(40, 1),
    said: () => '550 5.7.1 This account has been suspended',
  },
  { what: 'our address on block lists', emails: across(80, 1), said: (n) => LISTED[n % 4] ?? '' },
]

const report = (email: string, said: string): Buffer =>
  Buffer.from(`From: MAILER-DAEMON@relay.test
Subject: Undelivered mail
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="x"

--x
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.test

Final-Recipient: rfc822; ${email}
Action: failed
Status: ${/[45]\.\d+\.\d+/.exec(said)?.[0] ?? '5.0.0'}
Diagnostic-Code: smtp; ${said}

--x--
`)

/** Whether it is read as of a dead address, in the dialogue or in a report. */
const isDead = async (email: string, said: string, by: Scene['by']): Promise<boolean> => {
  if (by === 'report') return (await readReport(report(email, said))).recipients.some(suppresses)
  const reply = parseReply(said)
  return reply !== null && classify(reply).class === 'hard'
}

const mailed = async (
  store: Store,
  upstreamId: string,
  emails: readonly string[],
  seen: 'accepted' | 'rejected',
): Promise<NewEmail> => {
  const mail = newEmail('pool_test', [...emails])
  await accept(store, mail)
  const mta = { poolId: 'pool_test', upstreamId, host: 'mx.test' }
  await store.settle(
    mail.recipients.map(({ id: recipientId }) =>
      observed({ recipientId, seen, at: Date.now(), source: 'smtp', mta }),
    ),
  )
  return mail
}

/** Each is refused in its words, and listed where these say that it is dead. */
const refused = async (store: Store, upstreamId: string, { emails, said, by }: Scene): Promise<void> => {
  const { recipients } = await mailed(store, upstreamId, emails, by === 'report' ? 'accepted' : 'rejected')
  for (const [n, { id, address }] of recipients.entries()) {
    const text = said(n)
    const owner = await store.recipient(id)
    if (owner === null || !(await isDead(address, text, by))) continue
    const refusal = { reason: 'unknown_user', text, upstreamId: by === 'report' ? null : upstreamId }
    await suppressHardBounce({ store, clock: systemClock }, owner, refusal)
  }
}

const setUp = async (t: Parameters<typeof openStore>[0]) => ({
  store: await openStore(t, [poolRow([upstreamRow(25)])]),
  upstreamId: newId('up'),
})

for (const scene of LIVING)
  t.test(`nobody is suppressed: ${scene.what}`, async (t) => {
    const { store, upstreamId } = await setUp(t)
    await refused(store, upstreamId, scene)
    t.same(await store.suppressed(WORKSPACE, scene.emails, Date.now()), [])
    const page = { limit: 50, direction: 'older', anchor: null, countUpTo: 0 } as const
    const { rows } = await store.incidents(ACCOUNT, null, true, page)
    const dead = await isDead(scene.emails[0] ?? '', scene.said(0), scene.by)
    t.equal(rows.length > 0, dead, 'a person is asked where the words say death')
  })

t.test('and the dead of a list are: 20 of 300', async (t) => {
  const { store, upstreamId } = await setUp(t)
  await mailed(store, upstreamId, of(280, 1_000), 'accepted')
  await refused(store, upstreamId, { what: '', emails: of(20), said: (n) => PHRASES[n % 5] ?? '' })
  t.equal((await store.suppressed(WORKSPACE, of(20), Date.now())).length, 20)
})
