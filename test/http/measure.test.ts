/** Counters with bounded labels, and the lag of a loop. */
import t from 'tap'
import { Busiest, Lag, metricsText } from '../../src/http/metrics.js'
import { eventually } from '../parts/eventually.js'

const told = (counts: Busiest): Record<string, number> =>
  Object.fromEntries(
    counts.samples().map(({ labels, value }) => [`${labels?.workspace} ${labels?.status}`, value]),
  )

t.test('the busiest keep a name, the rest is other, and nothing is lost or falls', async (t) => {
  const counts = new Busiest(2)
  const add = (workspace: string, by: number) => counts.add(workspace, { status: 'sent' }, by)
  add('a', 3)
  add('b', 1)
  add('c', 2)
  t.strictSame(told(counts), { 'a sent': 3, 'b sent': 1, 'other sent': 2 })
  add('c', 100)
  t.strictSame(told(counts), { 'a sent': 3, 'other sent': 102 }, 'c takes the place of b and begins at none')
  add('c', 5)
  add('b', 1)
  counts.add('c', { status: 'bounced' })
  t.strictSame(told(counts), { 'a sent': 3, 'c sent': 5, 'c bounced': 1, 'other sent': 103 })
  for (let i = 0; i < 20; i++) told(counts)
  t.strictSame(
    told(counts),
    { 'a sent': 3, 'c sent': 5, 'c bounced': 1, 'other sent': 103 },
    'quiet changes none',
  )
})

t.test('a hundred thousand workspaces are a hundred series', async (t) => {
  const counts = new Busiest(100)
  for (let i = 0; i < 100_000; i++) counts.add(`ws_${i}`, { status: 'sent' })
  t.equal(counts.samples().length, 101)
  const sum = counts.samples().reduce((all, { value }) => all + value, 0)
  t.equal(sum, 100_000)
})

t.test('lag is what a loop is late, without the timer that measures', async (t) => {
  const lag = new Lag()
  lag.start()
  t.teardown(() => lag.stop())
  const max = (): number => lag.metrics().find(({ name }) => name.includes('max'))?.samples[0]?.value ?? 0
  await eventually('a loop that was busy for 300 ms is seen to be late', () => {
    const busy = Date.now() + 300
    while (Date.now() < busy);
    return max() >= 0.2
  })
  t.ok(lag.metrics().every(({ samples }) => samples.every(({ value }) => value >= 0)))
})

t.test('a label can not end its line, nor can a help text', async (t) => {
  const text = metricsText([
    {
      name: 'x',
      help: 'a\nb \\ c',
      type: 'gauge',
      samples: [{ labels: { host: 'a"\n\\\r\u2028x 1' }, value: 1 }],
    },
  ])
  t.equal(text, '# HELP x a\\nb \\\\ c\n# TYPE x gauge\nx{host="a\\"\\n\\\\\r\u2028x 1"} 1\n')
})
