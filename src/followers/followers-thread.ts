/**
 * NAME      followers-thread - everything that follows the log of events
 *   Whoever follows the log without being asked runs here, apart from the doors and from
 *   the relay: a slow endpoint or a long fold keeps no mail waiting. It reads on a
 *   connection of its own and writes through the store's writer, like everybody.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.js'
import { createGiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import { startAll, stopAll } from '../base/service.js'
import { enterThread } from '../base/thread.js'
import type { Recorded } from '../outcome/report.js'
import { reachStore } from '../store/open.js'
import type { FollowerStart, FollowersLogLine, FromFollowers, ToFollowers } from './followers.js'
import { followersOf } from './reader.js'

const start = workerData as FollowerStart
const port = parentPort as MessagePort
enterThread('postern-follow')
const tell = (message: FromFollowers): void => port.postMessage(message)

let lines: FollowersLogLine[] = []
const write =
  (level: FollowersLogLine['level']) =>
  (fields: FollowersLogLine['fields'], text?: string): void => {
    if (lines.push({ level, fields, text }) > 1) return
    // the lines of one turn cross the threads together
    setImmediate(() => {
      tell({ say: 'log', lines })
      lines = []
    })
  }
/** The levels that the stages use; the main thread writes the lines. */
const log = { info: write('info'), warn: write('warn'), error: write('error') } as unknown as Log

const store = await reachStore(start.store)
const live = { rules: start.rules }
let reports: { made: Recorded[]; lost: number } = { made: [], lost: 0 }
/** Those of one turn cross the threads together. */
const reported = (made: Recorded | null): void => {
  if (reports.made.length + reports.lost === 0)
    setImmediate(() => {
      tell({ say: 'reported', ...reports })
      reports = { made: [], lost: 0 }
    })
  if (made === null) reports.lost++
  else reports.made.push(made)
}
const way = createGiveWay((why) => why === 'behind' && tell({ say: why }))
const services = await followersOf({
  ...{ ...start, store, clock: systemClock, log },
  ...{ rules: () => live.rules, way, reported },
})

const stop = async (): Promise<void> => {
  await stopAll(services, ({ name }, error) =>
    log.error({ service: name, error: error.message }, 'stop failed'),
  )
  await store.close()
  setImmediate(() => tell({ say: 'stopped' }))
}

port.on('message', (message: ToFollowers) => {
  if (message.say === 'rules') live.rules = message.rules
  else if (message.say === 'live') way.live()
  else void stop()
})
await startAll(services)
tell({ say: 'ready' })
