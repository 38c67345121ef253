import t from 'tap'
import { killCycles } from './kill.js'

t.test('ten times kill -9 under load: nothing acknowledged is lost', { timeout: 240_000 }, async (t) => {
  const seed = Number(Date.now() % 1_000_000)
  t.comment(`seed ${seed}`)
  const balance = await killCycles(10, seed, (line) => t.comment(line))
  t.comment(
    `acknowledged ${balance.acknowledged}, duplicated ${balance.duplicated.length}, slowest start ${Math.round(balance.slowestStartMs)} ms`,
  )
  t.ok(balance.acknowledged > 100, 'the load was a load')
  t.same(balance.lost, [], 'lost')
  t.same(balance.stuck, [], 'stuck')
  t.same(balance.wrong, [], 'wrong')
  t.same(balance.unexplained, [], 'a second copy without an ambiguous attempt in its timeline')
})
