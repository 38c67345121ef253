/** What is asked of the running daemon goes where it listens, never to whoever holds the configured port. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { Postern } from '../parts/postern.js'
import { here } from './desk.js'

const heard: string[] = []
const stranger = createServer((req, res) => {
  heard.push(`${req.method} ${req.url}`)
  res.end('{"data":[],"throttled":[],"captures":false}')
})

t.test('a port that another program holds', async (t) => {
  const daemon = new Postern()
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
  t.teardown(() => stranger.close())
  t.teardown(() => daemon.remove())
  const { port } = stranger.address() as AddressInfo
  await daemon.json('pool', 'create', 'main', '--upstream', 'smtp://127.0.0.1:9?tls=none')
  await daemon.start()
  // as when the port was stepped over, or the setting was changed since the start
  const settings = JSON.parse(readFileSync(daemon.configFile, 'utf8'))
  const other = join(daemon.dir, 'other.yaml')
  writeFileSync(other, JSON.stringify({ ...settings, management: { host: '127.0.0.1', port } }))
  const run = (...args: readonly string[]) => here([...args, '--config', other])

  t.match(await run('upstream', 'list'), { code: 0, stdout: /BREAKER/, stderr: /^(?!.*no daemon)/ })
  t.match(await run('queue', 'throttles'), { code: 0, stderr: /no domains that keep mail waiting/ })
  t.match(await run('queue', 'retry', '--all', '--yes', '--reason', 'x'), { code: 0 })
  t.match(await run('queue', 'top'), { code: 0 })
  t.match((await here(['doctor', '--config', other])).stdout, /daemon: is running and ready/)
  t.match(
    (await run('status')).stdout,
    /^daemon +runs, since \d{4}-.*\ndoors +http 127\.0\.0\.1:\d+, .*management /m,
  )
  t.same(heard, [], 'the other program was not asked')

  // a daemon that was killed leaves its note behind, and its port to whoever comes
  const left = JSON.parse(readFileSync(join(settings.data_dir, 'listening.json'), 'utf8'))
  await daemon.stop('SIGKILL')
  writeFileSync(
    join(settings.data_dir, 'listening.json'),
    JSON.stringify({ ...left, ports: { ...left.ports, management: port } }),
  )
  t.match(await run('upstream', 'list'), { code: 0, stderr: /no daemon answers/ })
  t.match(await run('queue', 'retry', '--all', '--yes', '--reason', 'x'), { code: 0 })
  t.same(heard, [])
})
