/** A backup taken while mail pours in holds every mail that was acknowledged before it began. */
import { join } from 'node:path'
import t from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

t.test('backup under load, restore, count', { timeout: 240_000 }, async (t) => {
  const mx = await new PlainMx().start()
  const [postern, other] = [new Postern({ rate_limit: { per_minute: 1_000_000 } }), new Postern()]
  t.teardown(async () => {
    await postern.remove()
    await other.remove()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
  const key = await postern.key('--rate-limit', '1000000')
  const acknowledged: string[] = []
  let running = true
  const load = [1_000, 1_000, 20_000, 100_000].map(async (size, worker) => {
    while (running) {
      const to = `w${worker}@sink.test`
      const mail = { from: 'load@gw.test', to, subject: 'copied', text: 'x'.repeat(size) }
      const answer = await postern.api('POST', '/v1/emails', key, mail)
      if (answer.status === 202) acknowledged.push(answer.body.id)
    }
  })
  await eventually('a hundred mails', () => acknowledged.length >= 100)
  const before = [...acknowledged]
  const file = join(postern.dir, 'copy.db')
  const copied = await postern.json('backup', file, '--with-secrets')
  const during = acknowledged.length - before.length
  running = false
  await Promise.all(load)
  t.same(copied.missing_bodies, [])
  t.match({ ...(await postern.cli('restore', file, '--yes')) }, { code: 75 }, 'not over a daemon that runs')

  await other.json('restore', file, '--yes')
  const store = openSqliteStore({ dataDir: join(other.dir, 'data'), daemon: false })
  t.teardown(() => store.close())
  await store.open()
  t.same(await store.check(), [])
  const known = new Set(await store.knownEmails(before))
  t.same(
    before.filter((id) => !known.has(id)),
    [],
    'nothing is missing',
  )
  for (const id of before) if ((await store.body(id)) === null) t.fail(`${id} has no body`)
  t.comment(`${before.length} acknowledged before, ${during} during the backup`)
  await other.start()
  t.equal((await other.api('GET', `/v1/emails/${before[0]}`, key)).status, 200, 'its keys work there')
})
