/** Moves a store, or takes it back, and dies at the point that it is told. */
import { readCrashPoint } from '../../src/base/crash.js'
import { moveStore, undoMove } from '../../src/store/open.js'

const [verb, dataDir = '', urlFile = '', point] = process.argv.slice(2)
const faultPoint = readCrashPoint(point)
const options = { dataDir, urlFile, version: '1.0.0', say: () => {}, ...(faultPoint && { faultPoint }) }
await (verb === 'undo' ? undoMove(options) : moveStore(options))
