/** Several daemons on one PostgreSQL: one takes mail in, another carries it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.test('the doors here, the relay there', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const upstream = new UpstreamServer()
  const port = await upstream.listen()
  t.teardown(() => upstream.close())
  const door = new Postern()
  t.teardown(() => door.remove())
  const urlFile = join(door.dir, 'url')
  writeFileSync(urlFile, server.database(), { mode: 0o600 })
  const settings = { store: { driver: 'postgres', url_file: urlFile } }
  const doors = new Postern(settings)
  t.teardown(() => doors.remove())
  t.match(await door.cli('serve', '--only', 'http'), { code: 64, stderr: /needs store.driver postgres/ })
  t.match(await doors.cli('serve', '--only', 'http,ftp'), { code: 64, stderr: /--only takes of/ })
  await doors.start({}, '--only', 'http,submission,bounce')
  const pepper = join(doors.dir, 'data', 'pepper')
  const relay = new Postern({ ...settings, pepper_file: pepper })
  t.teardown(() => relay.remove())
  await relay.start({}, '--only', 'relay')
  t.same(relay.ports.submission, [])
  t.equal(relay.ports.http, 0)

  await doors.route(`smtp://127.0.0.1:${port}?tls=none&max_connections=3`)
  const key = await doors.key()
  const sent = await doors.api('POST', '/v1/emails', key, {
    ...{ from: 'a@acme.test', to: 'b@example.com', subject: 'It travels', text: 'hello' },
  })
  t.equal(sent.status, 202)
  await doors.until(key, sent.body.id, ['sent'])
  const shown = await doors.json('cluster', 'show')
  t.match(shown, { store: 'postgresql', same_settings: true })
  t.equal(shown.daemons.length, 2)
  t.match(
    shown.daemons.map(({ share }: { share: unknown }) => share).filter((share: unknown) => share !== null),
    [{ part: 1, of: 1 }],
  )

  const second = new Postern({ ...settings, pepper_file: pepper })
  t.teardown(() => second.remove())
  await second.start({}, '--only', 'relay')
  const sharesNow = async () => {
    const { daemons } = await doors.json('cluster', 'show')
    return daemons.flatMap(({ share }: { share: { part: number; of: number } | null }) => share ?? [])
  }
  await eventually('both have their share', async () => (await sharesNow()).length === 2)
  t.same(await sharesNow(), [
    { part: 1, of: 2 },
    { part: 2, of: 2 },
  ])
  const ids: string[] = []
  for (let i = 0; i < 30; i++) {
    const mail = { from: 'a@acme.test', to: `b${i}@example.com`, subject: `It travels ${i}`, text: 'hello' }
    ids.push((await doors.api('POST', '/v1/emails', key, mail)).body.id)
  }
  for (const id of ids) await doors.until(key, id, ['sent'])
  t.ok(upstream.mostOpen <= 3, `${upstream.mostOpen} connections at once, of 3 for both`)
  t.equal(upstream.received.length, 31, 'each once')
})
