/** A remedy names the variable where no file would be edited: the setting came from a variable, or there is no file. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { DEFAULT_FILE } from '../../src/config/load.js'
import { BIN, cleanEnv } from '../parts/postern.js'

/** What `serve` says before it ends. */
const serve = (env: NodeJS.ProcessEnv, ...words: readonly string[]) => {
  const args = [BIN, 'serve', ...words]
  const { status, stderr } = spawnSync(process.execPath, args, { env: cleanEnv(env), encoding: 'utf8' })
  return { code: status, lines: stderr.trimEnd().split('\n') }
}
const written = (dir: string, settings: object): string => {
  const file = join(dir, 'postern.yaml')
  writeFileSync(file, JSON.stringify(settings))
  return file
}
const OPEN = {
  POSTERN_HOSTNAME: 'localhost',
  POSTERN_HTTP__HOST: '0.0.0.0',
  POSTERN_HTTP__BEHIND_PROXY: 'false',
}

t.test('without a file', { skip: existsSync(DEFAULT_FILE) && `there is ${DEFAULT_FILE}` }, (t) => {
  const POSTERN_DATA_DIR = join(t.testdir(), 'data')
  t.strictSame(serve({ POSTERN_DATA_DIR, ...OPEN }), {
    code: 78,
    lines: [
      'postern: http.host: HTTP beyond loopback needs TLS: API keys travel in every request, found 0.0.0.0; set POSTERN_HTTP__TLS=true, keep 127.0.0.1 behind a proxy with TLS, or set POSTERN_HTTP__BEHIND_PROXY=true where that proxy is another machine',
      'postern: hostname: beyond loopback, other servers must be able to look this name up, found localhost; set POSTERN_HOSTNAME=mail.example.com',
      'postern: base_url: clients elsewhere cannot follow links to this machine, found http://0.0.0.0:8080; set POSTERN_BASE_URL=https://mail.example.com',
    ],
  })
  const listener = {
    POSTERN_DATA_DIR,
    POSTERN_SUBMISSION__0__HOST: '0.0.0.0',
    POSTERN_SUBMISSION__0__TLS: 'none',
  }
  t.match(
    serve(listener).lines[0],
    /; set POSTERN_SUBMISSION__0__TLS=starttls, or POSTERN_SUBMISSION__0__IP_CREDENTIALS=true with/,
  )
  t.match(serve({ POSTERN_DATA_DIR, POSTERN_STORE__DRIVER: 'postgres' }), {
    code: 78,
    lines: [/^postern: POSTERN_STORE__DRIVER: store\.driver: needs POSTERN_STORE__URL_FILE, a file/],
  })
  t.match(serve({ POSTERN_DATA_DIR: '/proc/none' }).lines, [
    /; set POSTERN_DATA_DIR to a folder that this user/,
  ])
  t.end()
})

t.test('with a file', async (t) => {
  const dir = t.testdir()
  const taken = createServer()
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const doors = { submission: [{ port: 0, tls: 'starttls' }], bounce: { port: 0 }, management: { port: 0 } }
  const data_dir = join(dir, 'data')

  const open = written(dir, { data_dir, hostname: 'mail.example.com', http: { host: '0.0.0.0' } })
  const [line = ''] = serve({}, '--config', open).lines
  t.match(line, /; set http\.tls: true, keep .* or set http\.behind_proxy: true where/, 'its own words')
  t.match(
    serve(OPEN, '--config', open).lines[0],
    /; set http\.tls: true, .* or set POSTERN_HTTP__BEHIND_PROXY=true/,
  )

  const busy = written(dir, { ...doors, data_dir, http: { port } })
  t.match(serve({}, '--config', busy), { code: 75, lines: [/ or set http\.port to a free port$/] })
  const by = { POSTERN_HTTP__PORT: `${port}` }
  const other = written(dir, { ...doors, data_dir })
  t.match(serve(by, '--config', other), { code: 75, lines: [/ or set POSTERN_HTTP__PORT to a free port$/] })
  taken.close()
})

t.test('doctor says it, too', { skip: existsSync(DEFAULT_FILE) && `there is ${DEFAULT_FILE}` }, (t) => {
  const env = cleanEnv({ POSTERN_DATA_DIR: join(t.testdir(), 'data'), ...OPEN })
  const { stdout } = spawnSync(process.execPath, [BIN, 'doctor', '--json'], { env, encoding: 'utf8' })
  const remedies = (JSON.parse(stdout) as { remedy: string | null }[]).map(({ remedy }) => remedy)
  t.ok(remedies.includes('set POSTERN_HOSTNAME=mail.example.com'), remedies.join('\n'))
  t.end()
})
