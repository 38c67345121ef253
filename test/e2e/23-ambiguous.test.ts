/**
 * The one window in which nobody knows whether a mail was taken: the connection,
 * or the whole process, dies between the final dot and its answer. A workspace
 * that says `hold` never sends such a mail again by itself; one that says `retry`
 * does; and the timeline tells either.
 */
import t, { type Test } from 'tap'
import { here } from '../cli/desk.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(120_000)
const server = new UpstreamServer()
const port = await server.listen()
const daemon = new Postern({ relay: { poll: '100ms', retry: ['1s'] } })
t.teardown(async () => {
  await daemon.remove()
  await server.close()
})
await daemon.start()
const key = await daemon.key()
await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)

const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await here([...args, '--json', '--config', daemon.configFile])
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const send = async (to: string): Promise<string> => {
  const body = { from: 'a@acme.test', to, subject: 'Hello', text: 'hello' }
  const answer = await daemon.api('POST', '/v1/emails', key, body)
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body.id as string
}
const policy = (ambiguous: 'hold' | 'retry') =>
  json('workspace', 'update', 'default', '--ambiguous', ambiguous)
/** How often the whole message reached the upstream. */
let dots = new Map<string, number>()
let fate: 'reset' | undefined = 'reset'
server.script.act = (stage) => (stage === 'dot' ? fate : undefined)
server.script.hold = (stage, go) => {
  if (stage !== 'dot') return false
  const rcpt = server.lines.findLast((line) => line.startsWith('RCPT')) ?? ''
  const [, to = ''] = /<([^>]*)>/.exec(rcpt) ?? []
  dots.set(to, (dots.get(to) ?? 0) + 1)
  go()
  return true
}
const entryOf = async (id: string) =>
  (await json('queue', 'list')).find((entry: { email_id: string }) => entry.email_id === id)
const eventsOf = async (id: string) => (await daemon.api('GET', `/v1/emails/${id}/events`, key)).body.data

/** It rests; nothing sends it but an operator. */
const rests = async (t: Test, id: string, to: string): Promise<void> => {
  await eventually('it is held', async () => (await entryOf(id))?.held === 'ambiguous')
  t.match(await entryOf(id), { due_at: null, under_way: false })
  // a mail that came later has gone in the meantime, and one retry step has passed
  fate = undefined
  await daemon.until(key, await send(`after-${to}`), ['sent'])
  await json('queue', 'retry', '--all')
  await daemon.until(key, await send(`last-${to}`), ['sent'])
  t.equal(dots.get(to), 1, 'one copy')
  t.match(await json('queue', 'top'), [{ held: 1 }])
  await json('queue', 'release', '--email', id, '--reason', 'the upstream never had it')
  await daemon.until(key, id, ['sent'])
  t.equal(dots.get(to), 2)
}

const tells = async (t: Test, id: string): Promise<void> => {
  const events = await eventsOf(id)
  t.ok(
    events.some((event: { reason: string | null }) => event.reason === 'ambiguous'),
    'the timeline tells it',
  )
  t.match((await here(['email', 'show', id, '--config', daemon.configFile])).stdout, /ambiguous/)
}

for (const how of ['fresh', 'claimed'] as const) {
  t.test(`a connection that dies after the dot, ${how} mail`, { timeout: 60_000 }, async (t) => {
    for (const word of ['hold', 'retry'] as const) {
      await policy(word)
      dots = new Map()
      const to = `${how}-${word}@example.com`
      // what was on hold is claimed from the store, not handed over
      if (how === 'claimed') await json('queue', 'hold', '--all', '--reason', 'test')
      fate = 'reset'
      const id = await send(to)
      if (how === 'claimed') await json('queue', 'release', '--all', '--reason', 'test')
      if (word === 'hold') await rests(t, id, to)
      else {
        await eventually('it goes again', () => (dots.get(to) ?? 0) >= 2)
        fate = undefined
        await daemon.until(key, id, ['sent'])
      }
      await tells(t, id)
    }
  })
}

t.test('kill -9 after the dot', { timeout: 60_000 }, async (t) => {
  for (const word of ['hold', 'retry'] as const) {
    await policy(word)
    dots = new Map()
    fate = undefined
    const to = `killed-${word}@example.com`
    await daemon.stop()
    await daemon.start({ POSTERN_CRASH_AT: 'relay.after-dot' })
    const id = await send(to)
    t.equal(await daemon.ended, null, 'died by the signal')
    await daemon.start()
    if (word === 'hold') await rests(t, id, to)
    else await daemon.until(key, id, ['sent'])
    t.equal(dots.get(to), 2)
    await tells(t, id)
  }
})
