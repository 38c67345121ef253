import t from 'tap'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { type AttemptEnd, askedWaitMs, fromAttempt, isDead } from '../../src/outcome/reply.js'

const HOUR = 3_600_000
const NOW = 1_800_000_000_000
const PLAN = {
  retry: [60_000, HOUR],
  lifetime: 24 * HOUR,
  random: () => 0.5,
  steadySince: () => Number.NEGATIVE_INFINITY,
}

const claimed: Claimed = {
  recipientId: '0000000000000001',
  emailId: 'em_1',
  workspaceId: 'ws_1',
  poolId: 'pool_1',
  mode: 'live',
  address: 'you@example.com',
  dsn: null,
  envid: null,
  ret: null,
  messageId: '<a@b>',
  from: 'a@b',
  needsSmtpUtf8: false,
  attempts: 0,
  createdAt: NOW - HOUR,
  queuedAt: NOW - HOUR,
  leaseGen: 7,
  size: 10,
  raw: null,
}

const end = (stage: string, code: number | null, change: Partial<AttemptEnd> = {}): AttemptEnd => ({
  claimed,
  at: NOW,
  began: { at: NOW, tick: 0 },
  upstreamId: 'up_1',
  host: 'mx.test',
  stage,
  reply: code === null ? null : { code, enhanced: null, text: 'text' },
  error: code === null ? 'connection closed' : null,
  ...change,
})

t.test('replies decide by class and stage', async (t) => {
  const seen = (stage: string, code: number | null) => fromAttempt(end(stage, code), PLAN).seen
  t.equal(seen('dot', 250), 'accepted')
  t.equal(seen('data', 250), 'postponed', 'a 2xx before the dot is no acceptance')
  for (const stage of ['mail', 'rcpt', 'data', 'body', 'dot']) {
    t.equal(seen(stage, 550), 'rejected')
    t.equal(seen(stage, 451), 'postponed')
    t.equal(seen(stage, 535), 'postponed', 'our login, not the mail')
    t.equal(seen(stage, null), 'postponed')
  }
  for (const stage of ['connect', 'greeting', 'tls', 'auth']) {
    t.equal(seen(stage, 554), 'postponed', 'nobody has heard of the mail yet')
  }
})

t.test('an outcome carries the attempt', async (t) => {
  t.match(fromAttempt(end('dot', 250, { detail: { ms: 12 } }), PLAN), {
    recipientId: claimed.recipientId,
    source: 'smtp',
    leaseGen: 7,
    attempt: 1,
    retryAt: null,
    mta: { poolId: 'pool_1', upstreamId: 'up_1', host: 'mx.test' },
    detail: { stage: 'dot', ms: 12 },
  })
  t.match(fromAttempt(end('connect', null), PLAN), {
    reason: 'connection',
    reply: null,
    detail: { error: 'connection closed' },
  })
})

t.test('retries back off, as told, and never outlive the mail', async (t) => {
  const at = (attempts: number) =>
    (fromAttempt(end('rcpt', 451, { claimed: { ...claimed, attempts } }), PLAN).retryAt ?? 0) - NOW
  t.equal(at(0), 30_000)
  t.equal(at(1), HOUR / 2)
  t.equal(at(9), HOUR / 2)
  const told = { code: 451, enhanced: '4.7.1', text: 'Greylisted, please try again in 300 seconds' }
  t.equal((fromAttempt(end('rcpt', 451, { reply: told }), PLAN).retryAt ?? 0) - NOW, 300_000)
  const old = { ...claimed, attempts: 5, queuedAt: NOW - 24 * HOUR + 1_000 }
  t.equal(fromAttempt(end('rcpt', 451, { claimed: old }), PLAN).retryAt, NOW + 1_000)
  const dead = fromAttempt(end('rcpt', 451, { claimed: { ...old, queuedAt: NOW - 24 * HOUR } }), PLAN)
  t.match(dead, { seen: 'expired', reason: 'lifetime', retryAt: null })
  t.match(dead.reply, { code: 451, enhanced: '4.4.7', text: /451 text/ })
  t.match(fromAttempt(end('connect', null, { claimed: { ...old, queuedAt: 0 } }), PLAN), {
    seen: 'expired',
    reply: { enhanced: '4.4.7', text: /connection closed/ },
  })
})

t.test('a wrong clock costs an attempt, never the life of a mail', async (t) => {
  const old = { ...claimed, attempts: 1, queuedAt: NOW - 25 * HOUR }
  const seen = (change: Partial<AttemptEnd>, steady = 0) =>
    fromAttempt(end('rcpt', 451, { claimed: old, ...change }), { ...PLAN, steadySince: () => steady })
  const began = (tick: number) => ({ began: { at: NOW, tick } })
  t.match(seen(began(HOUR)), { seen: 'expired' }, 'the clock has been steady for the longest retry wait')
  const early = seen(began(HOUR - 1))
  t.match(early, { seen: 'postponed', reply: { code: 451 } }, 'the clock was set within that time')
  t.equal(early.retryAt, NOW + HOUR / 2, 'it waits as it would have')
  const few = seen({ ...began(HOUR), claimed: { ...old, attempts: 0 } })
  t.match(few, { seen: 'postponed' }, 'fewer attempts than there are retry waits')
  t.equal(few.retryAt, NOW + 30_000, 'what is missing comes soon')
  const during = seen({ began: { at: NOW - 2 * HOUR, tick: HOUR } })
  t.match(during, { seen: 'postponed' }, 'it began within the lifetime')
  t.ok((during.retryAt ?? 0) <= NOW, 'the next one begins at once, and may end it')
  const untried = { claimed: { ...old, attempts: 0 }, untried: true }
  t.match(seen({ ...began(HOUR), ...untried }), { seen: 'expired' }, 'nobody could try')
  t.match(seen({ ...began(HOUR - 1), ...untried }), { seen: 'postponed' })
})

t.test('what was set free has a round of retries', async (t) => {
  const old = { ...claimed, attempts: 9, queuedAt: NOW - 30 * HOUR }
  const seen = (freedAt: number) => fromAttempt(end('rcpt', 451, { claimed: { ...old, freedAt } }), PLAN)
  t.match(seen(NOW - 1), { seen: 'postponed' })
  t.match(seen(NOW - 2 * HOUR), { seen: 'expired' })
})

t.test('waiting times in words', async (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ['Please try again in 300 seconds', 300_000],
    ['try again after 5 minutes', 300_000],
    ['Greylisted for 60 seconds', 60_000],
    ['come back in 00:05:00', 0],
    ['Too many connections, retry in 10 min', 600_000],
    ['wait 2 hours', 7_200_000],
    ['try again in 999999 hours', 4 * HOUR],
    ['try again later', 0],
    ['mailbox of 300 seconds', 0],
    ['', 0],
  ]
  for (const [text, wait] of cases) t.equal(askedWaitMs(text), wait, text)
})

t.test('after the dot, a workspace may have a mail held instead of sent again', async (t) => {
  const lost = { detail: { ambiguous: true } }
  const held = { ...claimed, ambiguous: 'hold' as const }
  t.match(fromAttempt(end('dot', null, lost), PLAN), { seen: 'postponed', reason: 'ambiguous' })
  t.type(fromAttempt(end('dot', null, lost), PLAN).retryAt, 'number')
  t.equal(fromAttempt(end('dot', null, { ...lost, claimed: held }), PLAN).retryAt, null)
  t.type(fromAttempt(end('body', null, { claimed: held }), PLAN).retryAt, 'number')
  t.type(fromAttempt(end('dot', 451, { claimed: held }), PLAN).retryAt, 'number')
})

t.test('why', async (t) => {
  const refused = (text: string, enhanced: string, code = 550) =>
    fromAttempt(end('rcpt', code, { reply: { code, enhanced, text } }), PLAN)
  const gone = refused('no such user here', '5.1.1')
  t.match(gone, { reason: 'unknown_user', detail: { class: 'hard', fault: 'recipient' } })
  t.ok(isDead(gone))
  const full = refused('mailbox full', '5.2.2')
  t.match(full, { reason: 'mailbox_full', detail: { class: 'soft' } })
  t.notOk(isDead(full))
  t.notOk(isDead(refused('no such user here', '4.1.1', 450)))
  const at = (stage: string, enhanced: string | null) =>
    isDead(fromAttempt(end(stage, 550, { reply: { code: 550, enhanced, text: 'no such user here' } }), PLAN))
  t.notOk(at('mail', '5.1.1'), 'MAIL is about us')
  t.notOk(at('dot', null), 'words at the dot may be about the content')
  t.ok(at('dot', '5.1.1'))
})
