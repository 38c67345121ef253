/** What a container's HEALTHCHECK hears: 0 or 1, and one line, of a daemon that runs, and of none. */
import t from 'tap'
import { Postern } from '../parts/postern.js'

t.test('healthcheck', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  t.match(await postern.cli('healthcheck'), { code: 1, stdout: /^no daemon runs on \S+\n$/, stderr: '' })
  await postern.start()
  t.match(await postern.cli('healthcheck'), { code: 0, stdout: 'the daemon is alive\n', stderr: '' })
  t.match(await postern.cli('healthcheck', '--ready'), { code: 0, stdout: 'the daemon is ready\n' })
  t.same(JSON.parse((await postern.cli('healthcheck', '--json')).stdout), {
    healthy: true,
    says: 'the daemon is alive',
  })
  await postern.stop()
  t.match(await postern.cli('healthcheck', '--ready'), { code: 1, stdout: /^no daemon runs on/ })
})
