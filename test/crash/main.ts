/** The full tier: `npm run crash` (200 kills by default; `-- CYCLES SEED` for others). Ends non-zero on any loss. */
import { killCycles } from './kill.js'

const [cycles = '200', seed = '1'] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const balance = await killCycles(Number(cycles), Number(seed), (line) => console.log(line))
console.log(JSON.stringify({ ...balance, duplicated: balance.duplicated.length }, null, 2))
const bad = balance.lost.length + balance.stuck.length + balance.wrong.length + balance.unexplained.length
process.exitCode = bad === 0 ? 0 : 1
