/**
 * What pretends to end a message and does not, cut at every octet, in both settings: one
 * message at most comes out, and what would leave for the upstream ends once, at its end.
 */
import t from 'tap'
import { Budget } from '../../src/base/memory.js'
import { prepareForRelay } from '../../src/mail/submitted.js'
import { scan, toPayload } from '../../src/relay/dialogue/wire.js'
import { Body } from '../../src/smtp/stream.js'
import { readFinished } from '../../src/submission/finished-message.js'

const ENDS = ['\r\n', '\r', '\n', '\r\r\n', '\n\r', '\r\n\r', '\0\n', '\r\0\n', '\u2028']
const PRETENDED = ENDS.flatMap((before) => ENDS.map((after) => `${before}.${after}`)).filter(
  (one) => !one.includes('\r\n.\r\n'),
)
const HEAD = 'From: a@b.test\r\nSubject: x\r\n\r\none'
const SMUGGLED = 'MAIL FROM:<evil@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nSubject: two\r\n\r\ntwo'
const PLACES = { header: 'header', from: 'from', body: 'body' }

/** The message as the door gathers it from these chunks; throws where it ends too early or never. */
const gathered = (chunks: readonly Buffer[]): Buffer => {
  const body = new Body(10_000, new Budget(1_000_000))
  for (const [i, chunk] of chunks.entries()) {
    const end = body.feed(chunk)
    if (i < chunks.length - 1 ? end !== -1 : end !== chunk.length)
      throw new Error(`ends in chunk ${i} at ${end}`)
  }
  return body.bytes()
}

/** What follows 354 at the upstream, or null when the message is refused. */
const leaving = (raw: Buffer, lineEndings: 'normalize' | 'strict'): string | null => {
  const errors: never[] = []
  const rules = { hostname: 'gw.test', lineEndings, defaultFrom: null }
  const finished = readFinished(raw, rules, PLACES, errors)
  if (finished === null || errors.length > 0) return null
  const made = { messageId: '<1@gw.test>', date: 'x', receivedLine: 'Received: x\r\n' }
  const octets = prepareForRelay(finished.raw, finished.submitted, made)
  const { body, end } = toPayload(octets, scan(octets))
  return Buffer.concat([body, end]).toString('latin1')
}

for (const lineEndings of ['strict', 'normalize'] as const) {
  t.test(`${lineEndings}: no cut lets anything through`, async (t) => {
    let taken = 0
    for (const pretended of PRETENDED) {
      const wire = Buffer.from(`${HEAD}${pretended}${SMUGGLED}\r\n.\r\n`)
      const expected = leaving(gathered([wire]), lineEndings)
      if (expected !== null) {
        taken++
        if (expected.indexOf('\r\n.\r\n') !== expected.length - 5)
          t.fail(`ends early: ${JSON.stringify(pretended)}`)
        if (/[^\r]\n|\r[^\n]|\0/.test(expected)) t.fail(`a bare line end: ${JSON.stringify(pretended)}`)
        if (!expected.includes('MAIL FROM:<evil@b.test>'))
          t.fail(`content is lost: ${JSON.stringify(pretended)}`)
      }
      const one = (at: number) => [wire.subarray(0, at), wire.subarray(at)]
      const ways = [...wire.keys()].slice(1).map(one)
      ways.push([...wire.keys()].map((at) => wire.subarray(at, at + 1)))
      for (const way of ways)
        if (leaving(gathered(way), lineEndings) !== expected) t.fail(`cut: ${JSON.stringify(pretended)}`)
    }
    t.equal(taken === PRETENDED.length, lineEndings === 'normalize', `${taken} of ${PRETENDED.length} taken`)
  })
}
