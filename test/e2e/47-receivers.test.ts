/**
 * The receivers of config/RECEIVERS.md, as they stand there but for their port, each run by its own interpreter: what Postern
 * posts is taken; what is forged, altered or old is not. Those whose packages are not on this machine say so: hapi and
 * plain PHP need nothing more than the tests do. NODE_PATH, PYTHONPATH, RUBYLIB and STANDARDWEBHOOKS_GO, a folder with that module,
 * may bring the others.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { cleanEnv, Postern, ROOT } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

interface Way {
  readonly file: string
  readonly command: (port: number) => readonly string[]
  /** A command that succeeds where all that it needs is there. */
  readonly needs: readonly string[]
  /** What an application has around it. */
  readonly around?: Readonly<Record<string, string>>
}

const RECEIVERS = [
  ...readFileSync(join(ROOT, 'config/RECEIVERS.md'), 'utf8').matchAll(
    /^## (.*)\n\n```(?!sh\n)\w+\n([\s\S]*?)^```$/gm,
  ),
].map(([, name = '', text = '']) => ({ name, text }))

const node = (name: string): Way => ({
  file: 'hook.cjs',
  command: () => [process.execPath, 'hook.cjs'],
  needs: [process.execPath, '-e', `require('${name}'); require('standardwebhooks')`],
})

const DJANGO = `import sys
from wsgiref.simple_server import make_server
from django.conf import settings
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x")
from django.core.wsgi import get_wsgi_application
from django.urls import path
application = get_wsgi_application()
from hook import hook
urlpatterns = [path("hook", hook)]
make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
`
const RAILS = `$stdout.sync = true
require "rails"
require "action_controller/railtie"
require "standardwebhooks"
class App < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "x"
  config.hosts.clear
  config.logger = Logger.new($stdout)
  routes.append { post "/hook", to: "hooks#create" }
end
require_relative "hook"
App.initialize!
run App
`
const GO = `module hook
go 1.22
require github.com/standard-webhooks/standard-webhooks/libraries v0.0.0
replace github.com/standard-webhooks/standard-webhooks/libraries => ${process.env.STANDARDWEBHOOKS_GO}
`

const WAYS: Readonly<Record<string, Way>> = {
  Express: node('express'),
  Fastify: node('fastify'),
  hapi: node('@hapi/hapi'),
  Flask: {
    file: 'hook.py',
    command: (port) => ['python3', '-m', 'flask', '--app', 'hook', 'run', '--port', String(port)],
    needs: ['python3', '-c', 'import flask, standardwebhooks'],
  },
  Django: {
    file: 'hook.py',
    command: (port) => ['python3', 'app.py', String(port)],
    needs: ['python3', '-c', 'import django, standardwebhooks'],
    around: { 'app.py': DJANGO },
  },
  Rails: {
    file: 'hook.rb',
    command: (port) => ['rackup', '-o', '127.0.0.1', '-p', String(port)],
    needs: ['sh', '-c', `rackup --version && ruby -e 'require "rails"; require "standardwebhooks"'`],
    around: { 'config.ru': RAILS },
  },
  'PHP, Laravel': {
    file: 'hook.php',
    command: (port) => ['php', '-S', `127.0.0.1:${port}`, 'hook.php'],
    needs: ['php', '-v'],
  },
  Go: {
    file: 'hook.go',
    command: () => ['go', 'run', '.'],
    needs: ['sh', '-c', 'test -d "$STANDARDWEBHOOKS_GO" && go version'],
    around: { 'go.mod': GO },
  },
}

const path = [join(ROOT, 'node_modules'), process.env.NODE_PATH].filter(Boolean).join(delimiter)
const env = (more: NodeJS.ProcessEnv = {}) => cleanEnv({ NODE_PATH: path, ...more })

const lacks = ({ needs: [program = '', ...args] }: Way): string | false => {
  const { status } = spawnSync(program, args, { env: env(), cwd: tmpdir() })
  return status !== 0 && `not here: ${[program, ...args].join(' ')}`
}

/** Runs the sample; where it takes posts. */
const started = async (
  t: Test,
  { file, command, around = {} }: Way,
  port: number,
  text: string,
  secret: string,
) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-receiver-'))
  const files = { ...around, [file]: text.replaceAll('3000', String(port)) }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
  const [program = '', ...args] = command(port)
  const output: string[] = []
  const child: ChildProcess = spawn(program, args, {
    cwd: dir,
    env: env({ POSTERN_WEBHOOK_SECRET: secret, GOFLAGS: '-mod=mod' }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(String(chunk)))
  t.teardown(() => {
    // go run and rackup have children of their own
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid)
    rmSync(dir, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}/hook`
  await eventually(
    'it listens',
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    { seen: () => output.join('') },
  )
  return { url, output }
}

t.setTimeout(180_000)
const postern = new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')

t.same(
  RECEIVERS.map(({ name }) => name),
  Object.keys(WAYS),
  'each has its way to be run here',
)

for (const { name, text } of RECEIVERS) {
  const way = WAYS[name] as Way
  t.test(name, { skip: lacks(way) }, async (t) => {
    const port = await freePort()
    const made = await postern.api('POST', '/v1/webhooks', key, {
      endpoint: `http://127.0.0.1:${port}/hook`,
      events: ['email.delivered'],
    })
    const { id, signing_secret: secret } = made.body
    const { url, output } = await started(t, way, port, text, secret)

    const mail = { from: 'a@acme.test', to: 'delivered@example.com', text: 'Hi' }
    const sent = await postern.api('POST', '/v1/emails', key, mail)
    const post = await eventually('an event was posted', async () => {
      const { body } = await postern.api('GET', `/v1/webhooks/${id}/events`, key)
      return body.data.find((one: { status: string }) => one.status !== 'pending')
    })
    t.match(post, { status: 'success', http_status_code: 204 }, 'what Postern posts is taken', { output })
    await eventually('and read', () => output.join('').includes(sent.body.id))
    t.match(
      await postern.api('POST', `/v1/webhooks/${id}/test`, key),
      { body: { status: 'success', http_status_code: 204 } },
      'an event that is about no mail, too',
    )

    const body = JSON.stringify({
      type: 'email.delivered',
      data: { email_id: 'em_of_nobody', subject: 'Größe' },
    })
    const given = async (signedBy: string, minutes = 0, sentBody = body) => {
      const at = new Date(Date.now() + minutes * 60_000)
      const headers = {
        'content-type': 'application/json',
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(signedBy).sign('evt_1', at, body),
      }
      return (await fetch(url, { method: 'POST', headers, body: sentBody })).status
    }
    const other = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    t.equal(await given(secret), 204, 'signed with the secret')
    t.equal(await given(other), 401, 'forged')
    t.equal(await given(secret, 0, `${body} `), 401, 'altered')
    t.equal(await given(secret, -10), 401, 'old')
    t.equal(await given(secret, 10), 401, 'of a time that is yet to come')
    t.equal((await fetch(url, { method: 'POST', body })).status, 401, 'not signed at all')
    await postern.api('DELETE', `/v1/webhooks/${id}`, key)
  })
}
