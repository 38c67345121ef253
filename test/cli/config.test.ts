/** Settings: every mistake with its place, what is in force, and the manual. */
import t from 'tap'
import { here, openDesk } from './desk.js'

const BAD = `hostname: mail.example.com
http:
  port: 99999
  hst: x
relay:
  retry: [1x]
`

t.test('check names file, line and column of every mistake', async (t) => {
  const desk = openDesk(t, BAD)
  const { code, stdout, stderr } = await desk.run(['config', 'check'])
  t.equal(code, 78)
  const lines = stdout.trim().split('\n')
  t.equal(lines.length, 3)
  t.match(lines[0], `${desk.configFile}:3:9: http.port: `)
  t.match(lines[1], `${desk.configFile}:4:3: http.hst: is not a setting; did you mean host?`)
  t.match(lines[2], `${desk.configFile}:6:11: relay.retry.0: `)
  t.match(stderr, /3 mistakes/)
  const asJson = await desk.run(['config', 'check', '--json'])
  t.equal(asJson.code, 78)
  t.match(JSON.parse(asJson.stdout), [
    { file: desk.configFile, line: 3, column: 9, key: 'http.port', value: '99999' },
    { key: 'http.hst', line: 4, remedy: 'did you mean host?' },
    { key: 'relay.retry.0', column: 11 },
  ])
})

t.test('any other command refuses a bad file with 78, and touches nothing', async (t) => {
  const desk = openDesk(t, BAD)
  const { code, stdout, stderr } = await desk.run(['key', 'list'])
  t.equal(code, 78)
  t.equal(stdout, '')
  t.match(stderr, `postern: ${desk.configFile}:3:9: http.port: `)
  const broken = openDesk(t, 'http: [1\n')
  t.match(await broken.run(['key', 'list']), { code: 78, stderr: /:\d+:\d+: is not valid YAML/ })
  const missing = await here(['key', 'list', '--config', '/nowhere/postern.yaml'])
  t.match(missing, { code: 78, stderr: /\/nowhere\/postern.yaml: cannot be read: ENOENT; name another file/ })
})

t.test('check warns of what is hardly meant, and finds it good', async (t) => {
  const desk = openDesk(t, 'identity: { local: false }\n')
  t.match(await desk.run(['config', 'check']), {
    code: 0,
    stderr: /warning: identity\.local: false: without a provider nobody can sign in[\s\S]*is good/,
  })
})

t.test('check tells what serve would refuse', async (t) => {
  const desk = openDesk(t, 'hostname: mail.example.com\nhttp: { host: 0.0.0.0 }\n')
  t.match(await desk.run(['config', 'check']), {
    code: 78,
    stdout: /http\.host: HTTP beyond loopback needs TLS/,
  })
  const good = openDesk(t)
  t.match(await good.run(['config', 'check']), { code: 0, stdout: '', stderr: /is good/ })
  t.same(await good.json(['config', 'check']), [])
})

t.test('check finds mistakes of every kind in one run, in the order of the lines', async (t) => {
  const text = `http: { host: 0.0.0.0, port: 1x }
management:
  port: 8090
submission:
  - { port: 8090, tls: none, host: 192.0.2.1 }
  - { port: 2465, tls: of }
tls:
  cert_file: nowhere.crt
  key_file: nowhere.key
bounce: { rules_file: nowhere.yaml }
relay: { retry: [10d], lifetime: 1d }
retention: { bodies: 100d, emails: 9x }
retenton: x
hostname: gw.postern.test
base_url: https://gw.postern.test
`
  const desk = openDesk(t, text)
  const { code, stdout, stderr } = await desk.run(['config', 'check'])
  t.equal(code, 78)
  const lines = stdout.trim().replaceAll(`${desk.configFile}:`, '').split('\n')
  t.strictSame(
    lines.map((line) => /^[\d:]+ [^:]*/.exec(line)?.[0] ?? line.replace(desk.dir, '')),
    [
      '1:15: http.host',
      '1:30: http.port',
      '5:36: submission.0.host',
      '6:24: submission.1.tls',
      '8:14: tls.cert_file',
      '9:13: tls.key_file',
      '11:18: relay.retry.0',
      '12:36: retention.emails',
      '13:1: retenton',
      '/nowhere.yaml: cannot be read: ENOENT',
    ],
  )
  t.match(stderr, /10 mistakes/)
})

t.test('print shows what is in force, reference explains it', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['config', 'print']), {
    hostname: 'gw.postern.test',
    rate_limit: { per_minute: 600 },
  })
  t.match((await desk.run(['config', 'print'])).stdout, /^hostname: gw.postern.test # .*postern.yaml:1:11$/m)
  t.match((await desk.run(['config', 'reference'])).stdout, /^bounce\.domain$/m)
  const rows = await desk.json(['config', 'reference'])
  t.ok(rows.every((row: { description: string }) => row.description !== ''))
})
