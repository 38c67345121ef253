/** Starting a thread leaves the nursery of the main thread as small as it was. */
import { spawnSync } from 'node:child_process'
import t from 'tap'

const THREAD = new URL('../../../src/base/host/thread.js', import.meta.url)

/** A program that makes garbage after a thread has started, and says how large its nursery has become. */
const PROGRAM = `
  import { once } from 'node:events'
  import { getHeapSpaceStatistics } from 'node:v8'
  import { startThread } from '${THREAD}'
  const thread = startThread(new URL('data:text/javascript,'), {})
  await once(thread, 'online')
  for (let i = 0, held = []; i < 2e6; i++) {
    held.push({ i, text: 'x' + i })
    if (held.length > 20_000) held = []
  }
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  console.log(space.space_size)
`

/** Without it: 32 or 64 MiB. A page more than 8 is what a collection under way looks like. */
t.test('a busy main thread beside others keeps a small nursery', async (t) => {
  // tap's import hooks run in a thread of their own, which starts when it likes
  const words = ['-u', 'NODE_OPTIONS', process.execPath, '--input-type=module', '-e', PROGRAM]
  const { stdout, stderr } = spawnSync('env', words, { encoding: 'utf8' })
  const size = Number(stdout)
  t.ok(size > 0, stderr)
  t.ok(size <= 12 * 1024 * 1024, `${size} bytes`)
})
