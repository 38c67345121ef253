/** A thread's nursery stays small, however busy it is: with six threads it is what the daemon's memory would be. */
import { spawnSync } from 'node:child_process'
import t from 'tap'

const THREAD = new URL('../../../src/base/thread.js', import.meta.url)

/** A thread that makes garbage of which much lives for a while, and says how large its nursery has become. */
const BUSY = `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { parentPort } from 'node:worker_threads'
  for (let i = 0, held = []; i < 4e6; i++) {
    held.push({ i, text: 'x' + i })
    if (held.length > 100_000) held = []
  }
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  parentPort.postMessage(space.space_size)
`

const PROGRAM = `
  import { once } from 'node:events'
  import { startThread } from '${THREAD}'
  const thread = startThread(new URL('data:text/javascript;base64,${Buffer.from(BUSY).toString('base64')}'), {})
  const [size] = await once(thread, 'message')
  console.log(size)
`

/** Without the limit: 32 MiB or more. A page more than 8 is what a collection under way looks like. */
t.test('a busy thread keeps a small nursery', async (t) => {
  // tap's import hooks run in a thread of their own, which starts when it likes
  const node = [process.execPath, '--max-semi-space-size=8'] // as bin/postern starts it
  const words = ['-u', 'NODE_OPTIONS', ...node, '--input-type=module', '-e', PROGRAM]
  const { stdout, stderr } = spawnSync('env', words, { encoding: 'utf8' })
  const size = Number(stdout)
  t.ok(size > 0, stderr)
  t.ok(size <= 12 * 1024 * 1024, `${size} bytes`)
})
