/** Sentences about mails, and what is found in them. */
import t from 'tap'
import { codeIn, linksIn, mainLink, picturesIn, roughText } from '../../../src/dashboard/mail/checks.js'
import {
  codeWords,
  type Email,
  isVague,
  reasonWords,
  type ShownRecipient,
  unappliedWords,
  verdictOf,
} from '../../../src/dashboard/mail/verdict.js'
import { CATEGORIES } from '../../../src/mail/report/category.js'

const AT = '2026-11-22T09:00:00.000Z'

const one = (status: ShownRecipient['status'], more: Partial<ShownRecipient> = {}): ShownRecipient => ({
  ...{ address: 'ana@example.com', kind: 'to', status, attempts: 1, last_response: null },
  ...{ updated_at: '2026-11-22T09:00:02.000Z', waiting: null },
  ...more,
})

const mail = (recipients: readonly ShownRecipient[]): Email => {
  const counts: Record<string, number> = {}
  for (const { status } of recipients) counts[status] = (counts[status] ?? 0) + 1
  const worst = ['bounced', 'deferred', 'queued', 'sent', 'delivered'] as const
  const status = worst.find((word) => counts[word]) ?? 'queued'
  return {
    ...{ id: 'em_1', workspace_id: 'ws_1', mode: 'live', source: 'api', from: 'a@b.test' },
    ...{ to: [], cc: [], bcc: [], reply_to: [], subject: 's', tags: [], message_id: '<1@x>' },
    ...{ scheduled_at: null, created_at: AT, updated_at: AT, waiting: recipients[0]?.waiting ?? null },
    ...{ status, counts, recipients },
  }
}

/** Words of others are isolated, which nobody sees. */
const title = (...recipients: readonly ShownRecipient[]) =>
  verdictOf(mail(recipients), [], Date.parse(AT)).title.replace(/[\u2068\u2069]/g, '')

t.test('one sentence says what became of a mail', async (t) => {
  t.equal(title(one('delivered')), 'Delivered.')
  t.equal(title(one('bounced', { reason: 'unknown_user' })), 'Bounced: the mailbox does not exist.')
  t.equal(title(one('bounced', { last_response: '550 no' })), 'Bounced: 550 no.')
  t.equal(title(one('sent')), 'Sent; no report has come yet.')
  const waiting = {
    reason: 'no_upstream',
    detail: 'pool x has no upstream; an operator runs: postern y',
    until: null,
  }
  t.equal(title(one('queued', { waiting })), 'Waits: pool x has no upstream.')
  const down = {
    reason: 'upstreams_down',
    detail: 'no upstream of pool x answers; mta1:25: greeting: 421 maintenance; an operator runs: postern y',
    until: null,
  }
  t.equal(title(one('deferred', { waiting: down })), 'Waits: no upstream of pool x answers.')
  t.equal(title(one('delivered'), one('delivered'), one('delivered')), 'Delivered to all 3.')
  t.match(
    title(one('delivered'), one('bounced'), one('delivered')),
    /^Bounced for 1 of 3 recipients; 2 have it\.$/,
  )
})

t.test('what has ended is not said to be tried again', async (t) => {
  t.match(codeWords('4.4.7'), /tried again by itself/)
  t.notMatch(codeWords('4.4.7', true), /again/)
})

t.test('codes and reasons in plain words', async (t) => {
  for (const reason of Object.keys(CATEGORIES)) t.ok(reasonWords(reason), reason)
  t.match(codeWords('5.1.1'), /this address at it does not\. Sending again/)
  t.match(codeWords('4.2.2'), /full\. It is tried again/)
  t.match(codeWords('5.7.999'), /policy/, 'an unknown detail falls back on its subject')
  t.equal(codeWords('2.0.0'), null)
  for (const none of [null, undefined, '', '5', '9.1.1', 'x.y.z']) t.equal(codeWords(none), null)
  t.equal(reasonWords('constructor'), null)
  t.match(unappliedWords('already_bounced'), /was bounced already/)
})

t.test('the link and the code of a mail', async (t) => {
  const html = '<a href="https://x.test/unsubscribe">u</a><a href=\'https://x.test/verify?t=1&amp;u=2\'>v</a>'
  const links = linksIn(html, null)
  t.same(
    links.map(({ url }) => url),
    ['https://x.test/unsubscribe', 'https://x.test/verify?t=1&u=2'],
  )
  t.equal(mainLink(links)?.url, 'https://x.test/verify?t=1&u=2')
  t.equal(mainLink(linksIn(null, 'See https://x.test/a.'))?.url, 'https://x.test/a')
  t.equal(codeIn('Your code is 493 201', ''), '493 201')
  t.equal(codeIn('Sign in', 'Use the code 112233 within 10 minutes'), '112233')
  t.equal(codeIn('Order 118838', 'It cost 1999 euros'), null)
  t.same(picturesIn('<img src="https://a/b" alt=""><img src="cid:x">'), { all: 2, remote: 1, silent: 1 })
})

t.test('tags that never end are read once, not once for each of them', (t) => {
  const many = (piece: string) => piece.repeat(500_000)
  t.same(linksIn(many('<a href '), null), [])
  t.same(picturesIn(many('<img ')), { all: 0, remote: 0, silent: 0 })
  t.equal(picturesIn(`<img src=${' '.repeat(3_900)}>`.repeat(2_000)).remote, 0)
  t.equal(roughText(`<p>a</p>${many('<style')}`), ' a ')
  t.equal(roughText('Your <b>code</b><style>p{}</style> 1 < 2'), 'Your code 1 < 2')
  t.end()
})

t.test('a code that stands for any rule says less than a reason', async (t) => {
  for (const code of ['4.7.1', '5.7.0', '5.7.1']) t.equal(isVague(code), true, code)
  for (const code of ['5.7.26', '4.2.1', '5.1.1', '', null]) t.equal(isVague(code), false, String(code))
})
