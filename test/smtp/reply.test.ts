/** One line, one enhanced code, 512 octets, and no text of a bug. */
import fc from 'fast-check'
import t from 'tap'
import { FAULTS, Fault, type FaultCode } from '../../src/base/fault.js'
import { faultReply, Refusal, recode, replyTo, SAY } from '../../src/smtp/commands.js'
import { anyCharacter } from '../parts/any-text.js'

const REQUEST = 'req_00000000000000000000000000'
const ONE = /^[245]\d\d [245]\.\d{1,3}\.\d{1,3} [ -~]+$/

t.test('every fault has a reply', async (t) => {
  for (const code of Object.keys(FAULTS) as FaultCode[]) {
    const reply = faultReply(new Fault(code), REQUEST)
    t.match(reply, ONE)
    t.ok(reply.includes(`${code}: `) && reply.endsWith(`(${REQUEST})`), reply)
  }
  for (const reply of Object.values(SAY)) if (!reply.startsWith('354')) t.match(reply, ONE)
})

t.test('whatever the detail, one line of at most 512 octets', async () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 700 }),
      fc.option(fc.double({ min: 0, max: 1e6 })),
      (detail, retry) => {
        const fault = new Fault('rate_limit.exceeded', {
          detail,
          ...(retry === null ? {} : { retryAfter: retry }),
        })
        const reply = faultReply(fault, REQUEST)
        return ONE.test(reply) && reply.length <= 510 && reply.endsWith(`(${REQUEST})`)
      },
    ),
  )
})

t.test('a refusal that repeats what the client said is no longer than that', async (t) => {
  t.equal(new Refusal(`555 5.5.4 Parameter ${'X'.repeat(2000)} is not supported`).reply.length, 510)
})

t.test('fields and waiting times are said', async (t) => {
  const fault = new Fault('validation.request_invalid', {
    errors: [
      { field: 'header.from', message: 'is missing', kind: 'missing' },
      { field: 'body', message: 'has a bare LF', kind: 'format' },
    ],
  })
  t.match(faultReply(fault, REQUEST), /header\.from: is missing; body: has a bare LF/)
  t.match(faultReply(new Fault('rate_limit.exceeded', { retryAfter: 0.2 }), REQUEST), /, retry in 1s \(req/)
  const told = new Fault('rate_limit.exceeded', { retryAfter: 9, detail: 'retry in 9s' })
  t.equal(faultReply(told, REQUEST).match(/retry in/g)?.length, 1)
})

t.test('a bug is reported, not shown', async (t) => {
  const bugs: unknown[] = []
  const reply = replyTo(new Error('secret'), REQUEST, (error) => bugs.push(error))
  t.equal(reply, `451 4.3.0 internal.unexpected: Unexpected error (${REQUEST})`)
  t.equal(bugs.length, 1)
  t.equal(
    replyTo(new Refusal('550 5.1.1 no'), REQUEST, () => t.fail()),
    '550 5.1.1 no',
  )
  t.equal(recode('421 4.7.0', '535 5.7.8 x: y'), '421 4.7.0 x: y')
})
