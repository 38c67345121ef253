/** The codec of marks: what was written reads back for its account, and nothing else does. */
import fc from 'fast-check'
import t from 'tap'
import { CursorCodec, filterHash } from '../../src/http/list.js'
import { MarkCodec } from '../../src/record/event.js'

const PEPPER = Buffer.alloc(32, 7)
const codec = new MarkCodec(PEPPER)
const ACCOUNT = 'acct_1'

t.test('reads back, for its account only', async (t) => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,40}$/), (mark) => {
      const text = codec.write(mark, ACCOUNT)
      t.match(text, /^m1_[A-Za-z0-9_-]+$/)
      t.equal(codec.read(text, ACCOUNT), mark)
      t.equal(codec.read(text, 'acct_2'), null)
      t.equal(new MarkCodec(Buffer.alloc(32, 8)).read(text, ACCOUNT), null)
    }),
    { numRuns: 50 },
  )
})

t.test('a change of any character, one more or one less is no mark', async (t) => {
  for (const mark of ['1', '12', '900719925474099']) {
    const text = codec.write(mark, ACCOUNT)
    for (let i = 0; i < text.length; i++) {
      for (const other of ['A', 'B', 'Q', '_', '=', ' ']) {
        if (text[i] === other) continue
        t.equal(codec.read(text.slice(0, i) + other + text.slice(i + 1), ACCOUNT), null, `${other} at ${i}`)
      }
      t.equal(codec.read(text.slice(0, i), ACCOUNT), null, `cut at ${i}`)
    }
    for (const junk of ['A', '=', ' ', '\n', '*'])
      t.equal(codec.read(text + junk, ACCOUNT), null, `+ ${junk}`)
  }
  for (const text of ['', 'm1_', 'm1_AAAA', 'v1_', ' ']) t.equal(codec.read(text, ACCOUNT), null, text)
})

t.test('a cursor is no mark, even one of this account and place', async (t) => {
  const cursor = new CursorCodec(PEPPER).write(
    { direction: 'newer', limit: 20, anchor: '12', filters: filterHash({}) },
    ['events', ACCOUNT],
  )
  t.equal(codec.read(cursor, ACCOUNT), null)
  t.equal(codec.read(cursor.replace('v1_', 'm1_'), ACCOUNT), null)
})
