/** What servers say may be any text, cut anywhere: it is mended before it is stored. */
import t from 'tap'
import { type Outcome, observed } from '../../src/lifecycle/facts.js'
import { settle } from '../../src/outcome/reply.js'

t.test('text that not every database keeps', async (t) => {
  const given: Outcome[] = []
  const queue = {
    async settle(outcomes: readonly Outcome[]) {
      given.push(...outcomes)
      return []
    },
  }
  const fine = observed({
    recipientId: 'r',
    seen: 'rejected',
    at: 1,
    source: 'smtp',
    detail: { said: '\u{1f600}' },
  })
  const cut = '\u{1f600}'.slice(0, 1)
  const reply = { code: 550, enhanced: null, text: `no\u0000 ${cut}` }
  const mta = { poolId: 'p', upstreamId: null, host: `h${cut}` }
  await settle(queue, [
    fine,
    { ...fine, reply, mta, dedupe: '\u0000', detail: { a: cut, ms: 3, held: true } },
  ])
  t.equal(given[0], fine)
  t.same(given[1], {
    ...{ ...fine, reply: { ...reply, text: 'no\ufffd \ufffd' }, mta: { ...mta, host: 'h\ufffd' } },
    ...{ dedupe: '\ufffd', detail: { a: '\ufffd', ms: 3, held: true } },
  })
})
