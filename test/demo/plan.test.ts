import t from 'tap'
import { MAILS, planWeek, WEEK_MS } from '../../src/demo/plan.js'
import { simulationFor } from '../../src/sandbox/simulation.js'

const week = planWeek()
const mails = week.flatMap(({ mails }) => mails)
const addressOf = (to: unknown): string => /<(.+)>$/.exec(String(to))?.[1] ?? ''

t.test('the plan of a week is the same each time', async (t) => {
  t.strictSame(planWeek(), week)
  t.equal(mails.length, MAILS)
  const order = week.map(({ before }) => before)
  t.strictSame(
    order,
    [...order].sort((a, b) => b - a),
  )
  t.ok((order[0] ?? 0) < WEEK_MS && (order.at(-1) ?? 0) > 0, 'all of it is within the week')
})

t.test('it has mail of both tenants, and every outcome that the sandbox plays', async (t) => {
  t.strictSame([...new Set(mails.map(({ tenant }) => tenant))].sort(), ['power', 'shop'])
  const names = new Set(mails.map(({ draft }) => simulationFor(addressOf(draft.to)).name))
  for (const name of [
    'delivered',
    'bounced',
    'bounced-later',
    'late-bounce',
    'deferred',
    'deferred+forever',
    'delayed',
    'relayed',
    'slow',
    'complained',
    'ooto',
  ])
    t.ok(names.has(name), name)
})

t.test('it writes to nobody', async (t) => {
  const all = mails.flatMap(({ draft }) => [draft.from ?? '', String(draft.to)])
  t.strictSame(
    all.filter((one) => !/@[a-z-]+\.example>$/.test(one)),
    [],
  )
})
