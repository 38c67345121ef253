import t from 'tap'
import { free, Growing } from '../../../src/base/memory.js'

const KIB = 1024
const part = (i: number): Buffer => Buffer.alloc(100 * KIB, i)

t.test('it grows as it is written, and reserves no more than a few times of that', async (t) => {
  const memory = new Growing(10_000 * KIB)
  for (let i = 0; i < 90; i++) {
    memory.append(part(i))
    const { buffer } = memory.bytes()
    const { maxByteLength } = buffer as ArrayBuffer & { readonly maxByteLength: number }
    t.ok(maxByteLength <= Math.max(1024 * KIB, 4 * memory.size), 'what V8 counts as used')
  }
  t.ok(memory.bytes().equals(Buffer.concat(Array.from({ length: 90 }, (_, i) => part(i)))))
  t.throws(() => memory.append(Buffer.alloc(1500 * KIB)), RangeError)
  const whole = memory.whole()
  t.equal(whole.buffer.byteLength, 9000 * KIB)
  memory.free()
  t.equal(whole.length, 0)
})

t.test('memory is given back, unless others have a part in it', async (t) => {
  const [alone, shared] = [Buffer.alloc(100), Buffer.alloc(100)]
  const view = shared.subarray(10)
  free([alone, view, Buffer.from('of the pool'), Buffer.alloc(0)])
  t.equal(alone.length, 0)
  t.equal(view.length, 90)
})
