/**
 * The body's end and its dots: whatever the chunks, the same bytes; and nothing
 * but CRLF.CRLF ends it.
 */
import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/base/memory.js'
import { Body } from '../../src/smtp/stream.js'

const room = (): Budget => new Budget(1e9)

/** Feeds a text in the given chunk sizes (cycled). */
const feedAll = (wire: Buffer, sizes: readonly number[], body = new Body(1e9, room())) => {
  let at = 0
  for (let i = 0; at < wire.length; i++) {
    const chunk = wire.subarray(at, at + (sizes[i % sizes.length] ?? 1))
    const end = body.feed(Buffer.from(chunk))
    if (end !== -1) return { body, rest: wire.subarray(at + end).toString('latin1') }
    at += chunk.length
  }
  return { body, rest: null }
}

/** How a client sends a message: dots stuffed, and the end. */
const onWire = (message: string): string =>
  `${message.replace(/^\./, '..').replaceAll('\r\n.', '\r\n..')}.\r\n`

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 })
/** Text made of all that could matter. */
const soup = fc.string({
  unit: fc.constantFrom('\r', '\n', '.', '\r\n', '\r\n.', '\r\n..', 'a', '\0', 'ł'),
  maxLength: 60,
})

t.test('any message in any chunks arrives as it was', async () => {
  fc.assert(
    fc.property(soup, sizes, fc.constantFrom('', 'QUIT\r\n', '.\r\n'), (text, cut, behind) => {
      const message = Buffer.from(`${text}\r\n`).toString('latin1')
      const { body, rest } = feedAll(Buffer.from(onWire(message) + behind, 'latin1'), cut)
      return body.bytes().toString('latin1') === message && rest === behind && body.size === message.length
    }),
    { numRuns: 2000 },
  )
})

t.test('an empty message', async (t) => {
  const { body, rest } = feedAll(Buffer.from('.\r\nNOOP\r\n'), [1])
  t.equal(body.bytes().length, 0)
  t.equal(rest, 'NOOP\r\n')
})

t.test('nothing else ends it', async (t) => {
  fc.assert(
    fc.property(soup, sizes, (text, cut) => {
      // no true end in it: a line of a lone dot becomes a line of a stuffed one
      const wire = Buffer.from(`a${text}`.replaceAll('\r\n.\r', '\r\n.').replaceAll('\r\n.', '\r\n.a'))
      return feedAll(wire, cut).rest === null
    }),
    { numRuns: 2000 },
  )
  for (const end of [
    '\n.\n',
    '\r\n.\n',
    '\n.\r\n',
    '\r.\r',
    '\r\n.\r',
    '\r.\r\n',
    '\r\n.\r.',
    '\r\n..\r\n',
  ]) {
    for (const cut of [[1], [2], [3], [100]]) {
      t.equal(feedAll(Buffer.from(`body${end}MAIL FROM:<x@y.test>\r\n`), cut).rest, null, JSON.stringify(end))
    }
  }
})

t.test('one chunk size or another: the same end', async () => {
  fc.assert(
    fc.property(soup, sizes, (text, cut) => {
      const wire = Buffer.from(`${text}\r\n.\r\n`)
      const whole = feedAll(wire, [wire.length])
      const cutUp = feedAll(wire, cut)
      return whole.body.bytes().equals(cutUp.body.bytes()) && whole.rest === cutUp.rest
    }),
    { numRuns: 2000 },
  )
})

t.test('beyond the limit bytes are counted, not kept', async (t) => {
  const shared = new Budget(1000)
  const body = new Body(100, shared)
  const wire = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(10))
  t.equal(body.feed(wire.subarray(0, 100)), -1)
  t.notOk(body.oversized)
  t.equal(body.feed(wire.subarray(100)), -1)
  t.ok(body.oversized)
  t.equal(body.size, 1000)
  t.equal(body.bytes().length, 0)
  t.equal(shared.used, 0, 'all the memory was given back')
})

const KB = 1024

t.test('a large message is one, however it came', async (t) => {
  const sizes = [100, 900, 910, 920, 3700, 8000, 40_000].flatMap((lines) => [
    [lines, 70_000] as const,
    [lines, 13] as const,
  ])
  for (const [lines, cut] of sizes) {
    const message = Buffer.from(`${'0123456789'.repeat(7)}\r\n`.repeat(lines))
    const wire = Buffer.concat([message, Buffer.from('.\r\n')])
    const { body, rest } = feedAll(wire, [1000, 1, cut], new Body(9000 * KB, room()))
    t.equal(rest, '')
    const bytes = body.bytes()
    t.ok(bytes.equals(message))
    t.ok(bytes.byteOffset >= body.headroom)
    body.release()
    if (message.length > 64 * KB) t.equal(bytes.length, 0, 'its memory is given back at once')
  }
})

t.test('what a large message was read in is given back as soon as it is one', async (t) => {
  const chunk = (): Buffer => Buffer.alloc(20 * KB, 'a')
  const chunks = [chunk(), chunk(), chunk(), chunk()]
  const last = Buffer.from(`\r\n.\r\n${'NOOP\r\n'.repeat(1000)}`)
  const body = new Body(900 * KB, room())
  for (const one of chunks) body.feed(one)
  t.equal(body.feed(last), 5)
  t.equal(body.bytes().length, 80 * KB + 2)
  t.equal(body.bytes().length, 80 * KB + 2)
  t.same(
    chunks.map(({ length }) => length),
    [0, 0, 0, 0],
  )
  t.equal(last.length, 6005, 'but not what holds the next command')
})

t.test('a message that finds no memory is counted, not kept', async (t) => {
  const shared = new Budget(1024 * KB)
  const [told, untold] = [new Body(10_000 * KB, shared), new Body(10_000 * KB, shared)]
  t.ok(told.reserve(300 * KB), 'what was told is taken before it comes, twice')
  t.equal(shared.used, 600 * KB)
  untold.feed(Buffer.alloc(10 * KB, 'a'))
  t.equal(shared.used, 620 * KB, 'a small one takes what it is')
  untold.feed(Buffer.alloc(100 * KB, 'a'))
  t.equal(shared.used, 856 * KB, 'a large one whole steps of 256 KiB')
  told.feed(Buffer.alloc(290 * KB, 'a'))
  t.equal(shared.used, 856 * KB)
  untold.feed(Buffer.alloc(200 * KB, 'a'))
  t.ok(untold.crowdedOut)
  t.equal(untold.bytes().length, 0)
  t.equal(shared.used, 600 * KB)
  t.notOk(new Body(10_000 * KB, shared).reserve(300 * KB))
  told.feed(Buffer.alloc(5 * KB, 'a'))
  t.notOk(told.crowdedOut, 'who has its part keeps it')
  told.release()
  told.release()
  t.equal(shared.used, 0)
})

t.test('what comes after a release takes no memory', async (t) => {
  const shared = new Budget(1000 * KB)
  const body = new Body(1000 * KB, shared)
  body.feed(Buffer.alloc(100, 'a'))
  body.release()
  body.feed(Buffer.alloc(100 * KB, 'a'))
  t.equal(shared.used, 0)
})
