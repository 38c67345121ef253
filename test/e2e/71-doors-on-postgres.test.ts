/**
 * Tests of doors and stages again, their stores on a PostgreSQL (parts/store.ts): those that ask most of a database in
 * the shortest time. All of them run so by hand: TEST_STORE=postgres node dist/test/run/main.js http/ cli/ dashboard/ …
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../parts/postern.js'
import { noPostgres } from '../parts/postgres.js'

const FILES = [
  ...['alarm/alarms', 'cli/tenants', 'cli/suppression', 'dashboard/pages/queue'],
  ...[
    'http/emails',
    'http/idempotency',
    'http/search',
    'http/statistics',
    'smtp/submission-door',
    'submission/again',
  ],
  ...['followers/reader', 'webhook/engine/place'],
]

t.test('on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const env = { ...process.env, TEST_STORE: 'postgres' }
  const child = spawn(process.execPath, [join(ROOT, 'dist/test/run/main.js'), '--jobs', '1', ...FILES], {
    env,
  })
  t.teardown(() => child.kill('SIGTERM'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      said += chunk
    })
  const code = await new Promise((resolve) => child.once('close', resolve))
  const ended = [...said.matchAll(/^((?:not )?ok) \d+ - ([\w/-]+)/gm)]
  for (const [, how, name] of ended) t.equal(how, 'ok', name ?? '')
  t.same(
    FILES.filter((file) => !ended.some(([, , name]) => name === file)),
    [],
    'none was left out',
  )
  t.equal(code, 0)
  if (code !== 0) t.comment(said)
})
