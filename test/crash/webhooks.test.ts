/**
 * kill -9 while events are posted: every event reaches its endpoint, under one id. What
 * was listed as posted before is not posted again; what was under way may be, once a kill.
 */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { remoteReceiver } from '../parts/remote-receiver.js'

const KILLS = 4

t.setTimeout(240_000)
t.test('kill -9 while posting', { timeout: 240_000 }, async (t) => {
  const receiver = await remoteReceiver(t)
  const postern = new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } })
  t.teardown(() => postern.remove())
  await postern.start()
  const key = await postern.key('--mode', 'test', '--rate-limit', '10000')

  const made = await postern.api('POST', '/v1/webhooks', key, { endpoint: receiver.url('/a'), events: ['*'] })
  t.equal(made.status, 201)

  /** All members of a list, over its pages. */
  const all = async <T>(path: string, pick: (row: never) => T): Promise<T[]> => {
    const found: T[] = []
    for (let cursor = ''; ; ) {
      const query = `${path.includes('?') ? '&' : '?'}limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`
      const { body } = await postern.api('GET', path + query, key)
      found.push(...body.data.map(pick))
      if (!body.pagination.has_next) return found
      cursor = body.pagination.next_cursor
    }
  }
  const logged = () => all('/v1/events?change=true', ({ id }: { id: string }) => id)
  const listed = () => all(`/v1/webhooks/${made.body.id}/events`, ({ id }: { id: string }) => id)
  const send = async (): Promise<void> => {
    const one = { from: 'App <app@gw.test>', to: 'delivered@example.com', subject: 'told', text: 'hello' }
    const answer = await postern.api(
      'POST',
      '/v1/emails/batch',
      key,
      Array.from({ length: 100 }, () => one),
    )
    t.equal(answer.status, 202)
  }
  /** Once all mail has come to its end, and all that happened is posted. */
  const settled = () =>
    eventually(
      'all events are posted',
      async () => {
        const statuses = await all('/v1/emails', ({ status }: { status: string }) => status)
        if (!statuses.every((status) => status === 'delivered')) return false
        const [events, got] = [await logged(), new Set(receiver.idsOf('/a'))]
        return events.every((id) => got.has(id)) && events
      },
      { every: 300, seen: () => ({ got: receiver.idsOf('/a').length, output: postern.output.slice(-5) }) },
    )

  await send()
  const first = await settled()
  await eventually('they are listed', async () => {
    const posts = new Set(await listed())
    return first.every((id) => posts.has(id))
  })

  for (let n = 0; n < KILLS; n++) {
    const before = receiver.idsOf('/a').length
    await send()
    await eventually('some are posted', () => receiver.idsOf('/a').length > before + 20 * n)
    await postern.stop('SIGKILL')
    await postern.start()
  }
  const ids = await settled()
  t.equal(ids.length, 3 * 100 * (KILLS + 1), 'queued, sent, delivered')
  const times = new Map<string, number>()
  for (const id of receiver.idsOf('/a')) times.set(id, (times.get(id) ?? 0) + 1)
  t.same(
    ids.filter((id) => !times.has(id)),
    [],
    'nothing lost',
  )
  const known = new Set(await logged())
  t.same(
    [...times.keys()].filter((id) => !known.has(id)),
    [],
    'nothing else',
  )
  t.ok(
    first.every((id) => times.get(id) === 1),
    'what was listed is not posted again',
  )
  t.ok(Math.max(...times.values()) <= 1 + KILLS)
  t.comment(`${[...times.values()].filter((n) => n > 1).length} of ${ids.length} were posted again`)
  const signatures = receiver
    .got('/a')
    .every(({ headers }) => headers['webhook-signature']?.startsWith('v1,'))
  t.ok(signatures)
})
