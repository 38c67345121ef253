import t from 'tap'
import { createTrouble } from '../../../src/base/service.js'

t.test('the first failure, one a minute, and the end', async (t) => {
  let now = 1_000
  const told: unknown[] = []
  const trouble = createTrouble(
    { failed: ({ message }) => told.push(message), over: (ms) => told.push(ms) },
    () => now,
  )
  trouble.succeeded()
  for (let second = 0; second < 150; second++) {
    trouble.failed(new Error(`at ${second}`))
    now += 1_000
  }
  t.strictSame(told.splice(0), ['at 0', 'at 60', 'at 120'])
  trouble.succeeded()
  trouble.succeeded()
  t.strictSame(told.splice(0), [150_000], 'told once')
  trouble.failed(new Error('again'))
  t.strictSame(told, ['again'], 'another one is told at once')
})
