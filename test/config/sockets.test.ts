import t from 'tap'
import { readProcAddress } from '../../src/base/systemd.js'
import { changesIn, marksAfter, marksOf } from '../../src/config/config.js'
import { readConfig } from '../../src/config/load.js'
import { safetyProblems } from '../../src/config/safety.js'
import { adoptSockets } from '../../src/config/sockets.js'

const config = readConfig({ name: '/x.yaml', text: 'hostname: mail.example.com' })
const socket = (fd: number, name: string, host: string, port: number) => ({ fd, name, at: { host, port } })

t.test('the ports of postern.socket need no names', async (t) => {
  const adopted = adoptSockets(config, [
    socket(3, 'postern.socket', '::', 25),
    socket(4, 'postern.socket', '::', 465),
    socket(5, 'postern.socket', '::', 587),
  ])
  t.strictSame(
    [...adopted.sockets],
    [
      ['bounce', 3],
      ['submission.1', 4],
      ['submission.0', 5],
    ],
  )
  t.match(adopted.config.bounce, { host: '::', port: 25 })
  t.match(adopted.config.submission[1], { host: '::', port: 465, tls: 'implicit' })
  t.strictSame(safetyProblems(adopted.config), [])
})

t.test('what is really open is what is judged', async (t) => {
  const { config: open } = adoptSockets(config, [socket(3, 'http', '0.0.0.0', 80)])
  t.match(
    safetyProblems(open).map(({ key }) => key),
    ['http.host'],
  )
})

t.test('two for one, and one for none', async (t) => {
  const twice = [socket(3, 'bounce', '::', 25), socket(4, '', '0.0.0.0', 25)]
  t.throws(() => adoptSockets(config, twice), {
    message: /is a second socket for bounce, found 0\.0\.0\.0:25/,
  })
  t.throws(() => adoptSockets(config, [{ fd: 3, name: '', at: null }]), { message: /descriptor 3/ })
  const noSmtp = readConfig({ name: '/x.yaml', text: 'submission: []' })
  t.throws(() => adoptSockets(noSmtp, [socket(3, '', '::', 587)]), { message: /fits no listener/ })
})

t.test('addresses of /proc/net', async (t) => {
  t.strictSame(readProcAddress('0100007F:1F90'), { host: '127.0.0.1', port: 8080 })
  t.strictSame(readProcAddress('00000000000000000000000000000000:0019'), { host: '::', port: 25 })
  t.strictSame(readProcAddress('00000000000000000000000001000000:0019'), { host: '::1', port: 25 })
  t.equal(readProcAddress('nonsense'), null)
})

t.test('a reload knows what it changes, and what must wait', async (t) => {
  const after = readConfig({
    name: '/x.yaml',
    text: 'hostname: other.example.com\nlog: {level: debug}\nlimits: {min_free_disk: 1GiB, idle: 1m}\nsubmission: []',
  })
  const [before, fresh] = [marksOf(config), marksOf(after)]
  const changes = changesIn(before, fresh)
  t.strictSame([...changes.live].sort(), ['limits.min_free_disk', 'log.level'])
  t.strictSame([...changes.restart].sort(), ['bounce.domain', 'hostname', 'limits.idle', 'submission'])
  t.strictSame(changesIn(before, before), { live: [], restart: [] })
  t.strictSame(
    changesIn(marksAfter(before, fresh), fresh),
    { live: [], restart: changes.restart },
    'a reload puts the live ones in force',
  )
})
