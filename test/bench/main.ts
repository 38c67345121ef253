/**
 * `npm run bench [-- --runs 3 --count 3000 --warm 20000 --only accept|relay|start|http|pages|kept|memory|fleet|attack|events|dashboard|guard|grown|postgres|latency
 *                    --rows 100000 --queued 20000 --further 100000]`
 * Postern beside Postfix (mail) and beside a bare hapi route (HTTP), interleaved
 * in one run on one machine, with fresh instances for every figure. Quote the
 * ratios: the load generator shares the cores, and machines differ.
 * `--only postgres --rows 100000 --queued 1000000` moves so many mails, and claims among so many.
 * `--rows 10000000` is the large tier of the pages; `--further` queues more mail
 * on top, to see what memory it costs.
 */
import { noPostfix } from '../parts/postfix.js'
import { attackBench } from './attack.js'
import { dashboardBench } from './dashboard.js'
import { eventsBench } from './events.js'
import { fleetBench } from './fleet.js'
import { guardBench } from './guard.js'
import { httpBench } from './http.js'
import { latencyBench } from './latency.js'
import { mailBench } from './mail.js'
import { memoryBench } from './memory.js'
import { numberOf, readOptions } from './options.js'
import { startBench } from './start.js'
import { grownBench, QUEUED, ROWS } from './stored/grown.js'
import { keptBench } from './stored/kept.js'
import { pagesBench } from './stored/pages.js'
import { postgresBench } from './stored/postgres.js'

const options = readOptions(process.argv.slice(2))
const runs = numberOf(options, 'runs', 3)
const count = numberOf(options, 'count', 3_000)
const warm = numberOf(options, 'warm', 20_000)
const wanted = (name: string): boolean => options.only === undefined || name.startsWith(options.only)

const why = noPostfix()
if (why !== null) console.log(`no comparison with Postfix: ${why}`)
else if (/^(?:accept|relay)/.test(options.only ?? 'accept')) await mailBench({ runs, count, warm, wanted })
if (wanted('start')) await startBench(runs)
if (wanted('http')) await httpBench(runs, count, Math.min(warm, 4_000))
if (wanted('latency')) await latencyBench(runs, count, Math.min(warm, 4_000))
if (wanted('fleet')) await fleetBench(runs, count)
if (wanted('events')) await eventsBench(runs, count)
if (wanted('dashboard')) await dashboardBench(runs, count, numberOf(options, 'rows', 100_000))
if (wanted('attack')) await attackBench(runs, count)
if (wanted('pages')) await pagesBench(numberOf(options, 'rows', 100_000))
if (wanted('kept')) await keptBench(count * 5)
if (wanted('guard')) await guardBench(runs, count)
if (wanted('grown')) {
  const queued = numberOf(options, 'queued', QUEUED)
  await grownBench(Math.min(count, 1_000), { queued, rows: numberOf(options, 'rows', ROWS) })
}
if (wanted('postgres'))
  await postgresBench(runs, count, numberOf(options, 'rows', 20_000), numberOf(options, 'queued', 20_000))
if (why === null && wanted('memory')) {
  const further = options.further === undefined ? 0 : numberOf(options, 'further', 100_000)
  await memoryBench(numberOf(options, 'queued', 20_000), further)
}
