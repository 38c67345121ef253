/**
 * A data folder moves into PostgreSQL (config/POSTGRES.md), by real daemons: all that the API and the command line said is
 * said there, whatever waited leaves once, and whenever the move is killed, one of the two serves at most.
 * Larger: POSTERN_MAILS=20000 POSTERN_CUTS=8 TAP_TIMEOUT=3600 node dist/test/e2e/73-move.test.js
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AllStates, SETTINGS } from '../parts/all-states.js'
import { Asker, differences } from '../parts/answers.js'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const MAILS = Number(process.env.POSTERN_MAILS ?? 300)
/** Mails that are asked for one by one. */
const DETAILS = 60
/** So many times it is killed at a point, and as many times while it copies. */
const CUTS = Number(process.env.POSTERN_CUTS ?? 1)
const BEFORE_ITS_END = ['emails', 'begin', 'copied', 'recovered', 'events', 'marked', 'statistics', 'queue']

/** That it tells of. */
const TABLES = 37

interface Ended {
  readonly signal: NodeJS.Signals | null
  readonly code: number | null
  readonly said: string
  readonly ms: number
}

/** A folder, and the daemon of another machine on the database that it moves to. */
interface Both {
  readonly here: Postern
  readonly there: Postern
  readonly urlFile: string
  readonly database: string
}

const bothOf = async (t: Test, here: Postern): Promise<Both> => {
  const server = await postgres()
  const folder = mkdtempSync(join(tmpdir(), 'postern-move-'))
  const urlFile = join(folder, 'database.url')
  const url = server.database()
  writeFileSync(urlFile, url, { mode: 0o600 })
  const pepper = join(here.dir, 'data', 'pepper')
  const store = { driver: 'postgres', url_file: urlFile }
  const there = new Postern({ ...SETTINGS, store, pepper_file: pepper })
  t.teardown(async () => {
    await there.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  return { here, there, urlFile, database: url.split('/').at(-1) ?? '' }
}

/** `postern store move`, which dies at a point, or as soon as it has told of so many tables. */
const moves = (
  { here, urlFile }: Both,
  { undo = false, point = '', tables = 0 }: { undo?: boolean; point?: string; tables?: number } = {},
): Promise<Ended> =>
  new Promise((resolve) => {
    const began = performance.now()
    const args = [
      BIN,
      'store',
      'move',
      '--to',
      urlFile,
      ...(undo ? ['--undo'] : []),
      '--config',
      here.configFile,
    ]
    const env = cleanEnv(point === '' ? {} : { POSTERN_CRASH_AT: point })
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
        if (tables > 0 && said.split('\n').length > tables) child.kill('SIGKILL')
      })
    child.once('close', (code, signal) => {
      resolve({ signal, code, said, ms: performance.now() - began })
    })
  })

/** Whether a daemon comes up; if not, the line with which it ended. */
const starts = (postern: Postern): Promise<true | string> =>
  postern.start().then(
    () => true as const,
    ({ message }: Error) => message,
  )

/** Which of the two serves: both are asked to at once. What does not says where the mail is. */
const serving = async (t: Test, { here, there }: Both): Promise<readonly boolean[]> => {
  const [old, other] = await Promise.all([starts(here), starts(there)])
  if (old !== true)
    t.match(
      old,
      /serve ended with 78:(?:.|\n)*its mail moved to|serve ended with 78:(?:.|\n)*moved to PostgreSQL/,
    )
  if (other !== true)
    t.match(other, /serve ended with 78:(?:.|\n)*(?:is not finished: run postern store move|went back to)/)
  return [old === true, other === true]
}

/** Another folder like this one, whose daemon is down. */
const copyOf = (t: Test, { dir }: Postern): Postern => {
  const postern = new Postern(SETTINGS)
  cpSync(join(dir, 'data'), join(postern.dir, 'data'), { recursive: true })
  t.teardown(() => postern.remove())
  return postern
}

const stopBoth = async ({ here, there }: Both): Promise<void> => {
  await Promise.all([here.stop(), there.stop()])
}

const kindOf = ({ ids }: AllStates, id: string): string | undefined =>
  Object.entries(ids).find(([, all]) => all.includes(id))?.[0]

const [HERE, NOWHERE, THERE] = [
  [true, false],
  [false, false],
  [false, true],
] as const

const why = noPostgres()
if (why) t.plan(0, `skipped: ${why}`)
else {
  const made = await AllStates.make(t, MAILS)
  const both = await bothOf(t, made.postern)
  const { here, there } = both
  const workspaces = ['default', 'waiting', 'asleep']
  const day = new Date(Date.now() - 86_400_000).toISOString()
  const asker = (postern: Postern, details: number) =>
    new Asker(postern, { session: made.session, workspaces, day, details })
  const before = await asker(here, DETAILS).all()
  const list = (postern: Postern) => asker(postern, 0).list('/v1/emails?mode=live')
  const whole = await list(here)
  const marks = await made.marks()
  const left = made.copies()
  await here.stop()

  t.test('there and back, while nobody used it', async (t) => {
    t.match(await moves(both), { code: 0, said: /moved to 127/ })
    t.match(await moves(both), { code: 65, said: /is in 127.* already/ })
    t.match(await moves(both, { undo: true }), { code: 0, said: /back from/ })
    t.same(await serving(t, both), HERE)
    t.same(await list(here), whole)
    await stopBoth(both)
  })

  t.test('killed anywhere, one of the two serves at most', async (t) => {
    const points = Array.from({ length: CUTS }, (_, i) => BEFORE_ITS_END[i % BEFORE_ITS_END.length])
    for (const point of points) {
      t.match(await moves(both, { point: `move.${point}` }), { signal: 'SIGKILL' }, String(point))
      t.same(await serving(t, both), HERE)
      t.same(await list(here), whole, 'and whole')
      await stopBoth(both)
    }
    t.same(made.copies(), left, 'nothing has left meanwhile')
  })

  t.test('killed while it copies, the same command ends it', async (t) => {
    for (let i = 0; i <= CUTS; i++) {
      const both = await bothOf(t, copyOf(t, here))
      const ended = await moves(both, { tables: Math.ceil((TABLES * i) / (CUTS + 1)) })
      const now = await serving(t, both)
      t.comment(`${MAILS} mails, ${ended.signal ?? 'to its end'} after ${Math.round(ended.ms)} ms: ${now}`)
      t.ok([...(i > 0 ? [HERE, NOWHERE] : []), THERE].some((one) => String(one) === String(now)))
      const serves = now[0] ? both.here : both.there
      if (String(now) === String(NOWHERE)) {
        t.match(await moves(both), { code: 0 })
        await both.there.start()
      }
      t.same(await list(serves), whole, 'and whole')
      await stopBoth(both)
    }
    t.same(made.copies(), left, 'nothing has left meanwhile')
  })

  t.test('killed at its end, the same command goes on, or back', async (t) => {
    for (const [undo, point, now] of [
      [false, 'move.departed', NOWHERE],
      [true, 'undo.closed', NOWHERE],
      [true, '', HERE],
      [false, 'move.opened', THERE],
    ] as const) {
      t.match(await moves(both, { undo, point }), point === '' ? { code: 0 } : { signal: 'SIGKILL' }, point)
      t.same(await serving(t, both), now, `${undo ? 'undo' : 'move'} ${point}`)
      await stopBoth(both)
    }
  })

  t.test('all is said as before', async (t) => {
    await there.start()
    const { management } = there.ports
    await eventually('it is indexed', async () => {
      const text = await (await fetch(`http://127.0.0.1:${management}/metrics`)).text()
      return /^postern_search_lag_seconds 0$/m.test(text)
    })
    t.same(differences(before, await asker(there, DETAILS).all()), [])
    for (const { path, text } of marks) {
      const answered = await there.api('GET', path, made.session)
      t.equal(answered.status, 200)
      t.same(answered.body.data, JSON.parse(text).data, 'from a mark of before it goes on')
    }
    t.same(made.copies(), left, 'nothing has left')
  })

  t.test('what waited leaves once', async (t) => {
    const { key, body, id } = made.once
    const again = await there.api('POST', '/v1/emails', made.liveKey, body, { 'idempotency-key': key })
    t.match(again, { status: 202, body: { id } }, 'an answer that was given is given again')
    made.isLater(false)
    await made.letGo(there)
    const { waiting, asleep, held, later, smtp, sent, appointed } = made.ids
    const all = new Set([...waiting, ...asleep, ...held, ...later, ...smtp, ...sent])
    const come = () => made.copies()
    const missing = () => {
      const there = come()
      return [...all].filter((id) => !there.has(id))
    }
    await eventually('all has left', () => missing().length === 0, {
      ...{
        every: 200,
        moves: () => made.upstream.received.length,
        seen: () => missing().map((id) => [id, kindOf(made, id)]),
      },
    })
    const [early = ''] = appointed
    const at = new Date(Date.now() + 500).toISOString()
    t.equal((await there.api('PATCH', `/v1/emails/${early}`, made.liveKey, { scheduled_at: at })).status, 200)
    await there.until(made.liveKey, early, ['sent'])
    t.same(
      [...come().keys()].filter((id) => id !== early && !all.has(id)),
      [],
      'and nothing else',
    )
    const twice = [...come()].filter(([id, n]) => n !== (smtp.includes(id) ? 2 : 1))
    t.same(twice, [], 'each once, and what was for two at two times')
  })

  t.test('nothing was posted twice, and there is no way back', async (t) => {
    const { received } = made.taking
    const told = () =>
      received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type === 'email.sent')
    const heard = () => new Set(told().map(({ data }) => data.email_id))
    const allHeard = () => {
      const there = heard()
      return made.ids.later.every((id) => there.has(id))
    }
    await eventually('webhooks hear of it', allHeard, { every: 200, moves: () => received.length })
    const posts = received.map(({ headers }) => headers['webhook-id'])
    t.equal(new Set(posts).size, posts.length)
    t.match(await moves(both, { undo: true }), { code: 65, said: /is in use .*: stop all daemons/ })
    await there.stop()
    t.match(await moves(both, { undo: true }), { code: 65, said: /was used since the move \(.*emails/ })
    t.same(await serving(t, both), THERE)
  })

  t.test('a daemon is killed with mail on its way, and its folder moves', async (t) => {
    const upstream = new UpstreamServer({ hold: (stage) => stage === 'dot' })
    const port = await upstream.listen()
    const here = new Postern({ ...SETTINGS, relay: { retry: ['1s'], lifetime: '1d' } })
    t.teardown(async () => {
      await here.remove()
      await upstream.close()
    })
    await here.start()
    await here.route(`smtp://127.0.0.1:${port}?tls=none`)
    await here.json('workspace', 'create', 'careful', '--pool', 'main', '--ambiguous', 'hold')
    const keys = [
      await here.key(),
      (await here.json('key', 'create', '--workspace', 'careful')).secret as string,
    ]
    const ids: string[] = []
    for (const key of keys) {
      const mail = { from: 'a@gw.test', to: 'b@sink.test', subject: 'x', text: 'x' }
      ids.push((await here.api('POST', '/v1/emails', key, mail)).body.id)
    }
    const dots = () => upstream.lines.filter((line) => line === 'DATA').length
    await eventually('both are on their way', () => dots() === 2)
    await here.stop('SIGKILL')
    upstream.drop()
    upstream.script = {}
    const both = await bothOf(t, here)
    t.match(await moves(both), { code: 0 })
    await both.there.start()
    const [free = '', careful = ''] = ids
    await both.there.until(keys[0] ?? '', free, ['sent'])
    const { body } = await both.there.api('GET', `/v1/emails/${careful}/events`, keys[1] ?? '')
    t.match(body.data[0], { detail: { ambiguous: true } })
    t.same(
      upstream.received.map(({ wire }) => wire.includes(free)),
      [true],
      'one goes again, the other is held',
    )
  })
}
