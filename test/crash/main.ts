/** The full tier: `npm run crash` (200 kills by default; `-- CYCLES SEED` for others). Then power cuts and failing disks, where these can be had. Ends non-zero on any loss. */
import { ioErrors } from './io-errors.js'
import { killCycles, seeded } from './kill.js'
import { powerCuts } from './power.js'

const [cycles = '200', seed = '1'] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const balance = await killCycles(Number(cycles), Number(seed), (line) => console.log(line))
console.log(JSON.stringify({ ...balance, duplicated: balance.duplicated.length }, null, 2))
const power = await powerCuts(Math.min(Number(cycles), 200), seeded(Number(seed)), (line) =>
  console.log(line),
)
if (typeof power === 'string') console.log(`no power cuts here: ${power}`)
else console.log(JSON.stringify(power, null, 2))
const faults = await ioErrors(Math.min(Number(cycles), 50), (line) => console.log(line))
if (typeof faults === 'string') console.log(`no failing disks here: ${faults}`)
else console.log(JSON.stringify(faults, null, 2))
const failed =
  typeof faults === 'string' ? 0 : faults.lost.length + faults.unsound.length + faults.otherEnds.length
const broken = typeof power === 'string' ? 0 : power.lost.length + power.unsound.length
const bad =
  broken +
  failed +
  balance.lost.length +
  balance.stuck.length +
  balance.wrong.length +
  balance.unexplained.length
process.exitCode = bad === 0 ? 0 : 1
