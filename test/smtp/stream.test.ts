/** Lines and bodies out of chunks: order, backpressure, limits. */
import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/base/memory.js'
import { Body, DoorStream } from '../../src/smtp/stream.js'

/** A stream that writes down what it hands out; DATA switches to a body. `later` answers asynchronously. */
const record = (later: (line: string) => boolean) => {
  const heard: string[] = []
  const stream = new DoorStream(20)
  const answer = (what: string, done: () => void): void => {
    heard.push(what)
    if (later(what)) setImmediate(done)
    else done()
  }
  stream.online = (line, done) => {
    const text = line.toString('latin1')
    if (text === 'DATA') {
      const body = new Body(1000, new Budget(1_000_000))
      stream.collect(body, (ready) => answer(`body ${body.bytes().toString('latin1')}`, ready))
    }
    answer(text, done)
  }
  stream.ontoolong = (done) => answer('too long', done)
  return { stream, heard }
}

const writeAll = (stream: DoorStream, wire: Buffer, cuts: readonly number[]): Promise<void> =>
  new Promise((resolve) => {
    for (let at = 0, i = 0; at < wire.length; i++) {
      const size = cuts[i % cuts.length] ?? 1
      stream.write(wire.subarray(at, at + size))
      at += size
    }
    stream.end(resolve)
  })

t.test('whatever the chunks and whoever waits, the same lines in the same order', async () => {
  const piece = fc.constantFrom(
    'NOOP\r\n',
    'RSET\n',
    '\r\n',
    `${'x'.repeat(21)}\r\n`,
    `${'y'.repeat(50)}\r\n`,
    'DATA\r\nab\r\n..c\r\n.\r\n',
  )
  const expected: Record<string, string[]> = {
    'NOOP\r\n': ['NOOP'],
    'RSET\n': ['RSET'],
    '\r\n': [''],
    [`${'x'.repeat(21)}\r\n`]: ['too long'],
    [`${'y'.repeat(50)}\r\n`]: ['too long'],
    'DATA\r\nab\r\n..c\r\n.\r\n': ['DATA', 'body ab\r\n.c\r\n'],
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      fc.func(fc.boolean()),
      async (pieces, cuts, later) => {
        const { stream, heard } = record(later)
        await writeAll(stream, Buffer.from(pieces.join('')), cuts)
        const wanted = pieces.flatMap((one) => expected[one] ?? [])
        if (JSON.stringify(heard) !== JSON.stringify(wanted))
          throw new Error(JSON.stringify({ heard, wanted }))
      },
    ),
    { numRuns: 300 },
  )
})

t.test('half a line at the end is no command', async (t) => {
  const { stream, heard } = record(() => false)
  await writeAll(stream, Buffer.from('NOOP\r\nQUI'), [100])
  t.same(heard, ['NOOP'])
})

t.test('a line without end is not kept', async (t) => {
  const { stream, heard } = record(() => false)
  for (let i = 0; i < 100; i++) {
    stream.write(Buffer.alloc(10, 'x'))
    // biome-ignore lint/complexity/useLiteralKeys: the bracket is how TypeScript lets one look at what is private
    t.ok(stream['pending'].length <= 20, 'no more than a line may have')
  }
  await writeAll(stream, Buffer.from('\r\nNOOP\r\n'), [100])
  t.same(heard, ['too long', 'NOOP'])
})

t.test('nothing is handed out once closed', async (t) => {
  const { stream, heard } = record(() => false)
  const online = stream.online
  stream.online = (line, done) => {
    if (line.toString() === 'STOP') stream.isClosed = true
    online(line, done)
  }
  await writeAll(stream, Buffer.from('NOOP\r\nSTOP\r\nNOOP\r\nNOOP\r\n'), [100])
  t.same(heard, ['NOOP', 'STOP'])
})

t.test('onidle comes once for a pipelined group', async (t) => {
  const { stream, heard } = record(() => false)
  const idle: number[] = []
  stream.onidle = () => idle.push(heard.length)
  await writeAll(stream, Buffer.from('A\r\nB\r\nC\r\n'), [100])
  t.same(idle, [3])
})

t.test('thousands of lines in a chunk neither overflow the stack nor stop', async (t) => {
  const { stream, heard } = record(() => false)
  await writeAll(stream, Buffer.from('NOOP\r\n'.repeat(20_000)), [1_000_000])
  t.equal(heard.length, 20_000)
})
