/** Resident memory (PSS) with an empty queue, with mail waiting, and with more of it. */
import { atMost } from './goals.js'
import { memoryMiB, sleep, source } from './load.js'
import { type Peer, startPostern, startPostfix } from './peers.js'

const SETTLE_MS = 8_000

const queue = async (peer: Peer, count: number): Promise<number> => {
  for (let sent = 0; sent < count; sent += 5_000) {
    const part = Math.min(5_000, count - sent)
    await source({ port: peer.port, sessions: 20, count: part, size: 5_000, reuse: true })
  }
  await sleep(SETTLE_MS)
  return memoryMiB(peer.pid)
}

/** `further` mails are queued on top of the first, when it is not 0; Postfix is spared them. */
export const memoryBench = async (queued: number, further: number): Promise<void> => {
  console.log('\nmemory, PSS of all processes')
  const postfix = await startPostfix(null)
  await sleep(1_500)
  const theirs = { idle: memoryMiB(postfix.pid), full: await queue(postfix, queued) }
  await postfix.stop()

  const postern = await startPostern(null)
  await sleep(1_500)
  const idle = memoryMiB(postern.pid)
  const full = await queue(postern, queued)
  console.log(`    empty queue       ${idle.toFixed(0)} MiB   Postfix ${theirs.idle.toFixed(0)} MiB`)
  console.log(
    `    ${queued} queued      ${full.toFixed(0)} MiB   ${atMost(130, full, ' MiB')}   Postfix ${theirs.full.toFixed(0)} MiB`,
  )
  if (further > 0) {
    const grown = (await queue(postern, further)) - full
    const goal = (20 * further) / 100_000
    console.log(`    ${further} more       ${grown.toFixed(0)} MiB more   ${atMost(goal, grown, ' MiB')}`)
  }
  await postern.stop()
}
