/** What a command prints with --json is the API's own record, member by member, while the daemon runs. */
import t from 'tap'
import { Postern } from '../parts/postern.js'

const postern = new Postern()
t.teardown(() => postern.remove())
await postern.start()
const session = (await postern.json('session', 'create')).token as string
const key = await postern.key('--mode', 'test')
const get = async (path: string, as = session) => (await postern.api('GET', path, as)).body
const all = async (path: string, as = session) => (await get(path, as)).data
/** Sends that pass between the two looks may touch these. */
const still = ({ updated_at: _, last_used_at: __, ...rest }: Record<string, unknown>) => rest
type Row = Record<string, unknown>

t.test('lists and records', async (t) => {
  await postern.json('workspace', 'create', 'Second', '--default-from', 'a@acme.test')
  await postern.json('pool', 'create', 'eu', '--upstream', 'smtp://mta1.test:587?tls=required&weight=3')
  await postern.json('credential', 'create', '--workspace', 'default', '--cidr', '10.1.0.0/16')
  await postern.json('suppression', 'add', 'gone@example.com', '--reason', 'asked', '--expires', '90d')
  const same = async (words: readonly string[], path: string) => {
    const [printed, answered] = [await postern.json(...words), await all(path)]
    t.ok(printed.length > 0, words.join(' '))
    t.strictSame(printed.map(still), answered.map(still), words.join(' '))
  }
  await same(['workspace', 'list'], '/v1/workspaces')
  await same(['key', 'list'], '/v1/api-keys')
  await same(['credential', 'list'], '/v1/credentials')
  await same(['pool', 'list'], '/v1/egress-pools')
  const suppressed = await postern.json('suppression', 'list')
  const workspace = await postern.json('workspace', 'show', 'default')
  const named = { 'x-workspace-id': workspace.id }
  const listed = (await postern.api('GET', '/v1/suppressions', session, undefined, named)).body.data
  t.strictSame(suppressed, listed)
  t.strictSame(await postern.json('suppression', 'show', 'gone@example.com'), suppressed[0])
  t.strictSame(workspace, await get(`/v1/workspaces/${workspace.id}`))
  const pool = await postern.json('pool', 'show', 'eu')
  t.strictSame(pool, await get(`/v1/egress-pools/${pool.id}`))
  t.strictSame((await postern.json('pool', 'update', 'eu', '--name', 'eu2')).name, 'eu2')
  t.strictSame(await postern.json('pool', 'delete', 'eu2', '--yes'), {
    id: pool.id,
    object: 'egress_pool',
    deleted: true,
  })
})

t.test('a mail', async (t) => {
  const mail = {
    from: 'a@acme.test',
    to: 'delivered@example.com',
    subject: 'x',
    html: '<p>x</p>',
    tags: [{ name: 'a', value: 'b' }],
  }
  const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
  await postern.until(key, id, ['delivered'])
  t.strictSame(await postern.json('email', 'show', id), await get(`/v1/emails/${id}`, key))
  t.strictSame(await postern.json('email', 'list'), await all('/v1/emails', key))
  t.strictSame(await postern.json('email', 'events', id), await all(`/v1/emails/${id}/events`, key))
})

t.test('a scheduled mail: another time, then none', async (t) => {
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const later = new Date(Date.now() + 7_200_000).toISOString()
  const mail = {
    from: 'a@acme.test',
    to: 'delivered@example.com',
    subject: 'x',
    text: 'x',
    scheduled_at: soon,
  }
  const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
  const moved = await postern.json('email', 'reschedule', id, '--at', later)
  t.equal(moved.scheduled_at, later)
  t.strictSame(moved, await get(`/v1/emails/${id}`), 'as the operator reads it')
  t.notSame(moved, await get(`/v1/emails/${id}`, key), 'the commands that mend it are not for a workspace')
  t.match(await postern.cli('email', 'reschedule', id, '--at', 'tomorrow'), {
    code: 65,
    stderr: /--at: must be an ISO 8601 time/,
  })
  t.match(await postern.cli('email', 'reschedule', id, '--at', '2001-01-01T00:00:00Z'), {
    code: 65,
    stderr: /past/,
  })
  t.match(await postern.cli('email', 'cancel', id), { code: 64, stderr: /--yes/ })
  const gone = await postern.json('email', 'cancel', id, '--yes')
  t.equal(gone.status, 'canceled')
  t.strictSame(gone, await get(`/v1/emails/${id}`, key))
  t.match(await postern.cli('email', 'reschedule', id, '--at', later), { code: 65, stderr: /not scheduled/ })
})

t.test('a created key, but for its secret', async (t) => {
  const wish = { name: 'x', workspace_id: 'default', mode: 'test' }
  const made = (await postern.api('POST', '/v1/api-keys', session, wish)).body as Row
  const printed = await postern.json(
    'key',
    'create',
    '--workspace',
    'default',
    '--mode',
    'test',
    '--name',
    'x',
  )
  t.strictSame(Object.keys(printed), Object.keys(made))
})
