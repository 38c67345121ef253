import { createHash } from 'node:crypto'
import t from 'tap'
import { importCredentials } from '../../../src/tenant/credential.js'
import { page } from '../../store/fixture.js'
import { codeOf, openHouse } from '../house.js'

const secretOf = (n: number): string => createHash('sha384').update(`secret ${n}`).digest('base64')

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    ...{ at: from + i + 1, username: `shop${from + i}`, password: secretOf(from + i) },
  }))

const open = async (t: Parameters<typeof openHouse>[0]) => {
  const house = await openHouse(t)
  const { tenants, account } = house
  const skipped: string[] = []
  const order = {
    ...({
      workspace: 'default',
      mode: 'live',
      signal: new AbortController().signal,
      progress: () => {},
    } as const),
    skipped: ({ at }: { at: number }, why: string) => void skipped.push(`${at}: ${why}`),
  }
  return {
    ...house,
    order,
    skipped,
    run: (wish: Partial<Parameters<typeof importCredentials>[2]>) =>
      importCredentials(tenants.deps, account.id, { ...order, lines: [], ...wish }),
  }
}

t.test('who was imported can log in, with the right secret only', async (t) => {
  const { run, tenants } = await open(t)
  const chosen = { at: 3, username: 'printer', password: 'abc' }
  const done = await run({ lines: [...linesOf(0, 2), chosen] })
  t.match(done, { rows: { length: 3 }, there: 0, wrong: 0, isWhole: true })
  const into = (user: string, secret: string) => tenants.authenticatePassword(user, secret, '192.0.2.7')
  t.match(await into('shop1', secretOf(1)), { via: 'credential' })
  t.match(await into('printer', 'abc'), { via: 'credential' })
  t.equal(await codeOf(into('shop1', secretOf(0))), 'auth.credentials_invalid')
  t.equal(await codeOf(into('printer', secretOf(0))), 'auth.credentials_invalid')
})

t.test('bad lines are told and skipped, and a second run changes nothing', async (t) => {
  const { run, skipped, tenants, account, store } = await open(t)
  await tenants.createCredential(account.id, {
    workspace: 'default',
    username: 'own',
    password: 'letmein-12',
  })
  const lines = [
    ...linesOf(0, 60),
    { at: 61, username: '', password: 'x' },
    { at: 62, username: 'own', password: secretOf(62) },
    { at: 63, username: 'shop3', password: '' },
    { at: 64, username: 'late', password: secretOf(64) },
    { at: 65, username: 'late', password: secretOf(65) },
  ]
  t.match(await run({ lines }), { rows: { length: 61 }, there: 0, wrong: 2, isWhole: true })
  t.match(skipped, [
    /^61: username: must/,
    /^62: .*taken/,
    /^63: password: must not be empty/,
    /^65: .*taken/,
  ])
  const before = await store.credentialsByUsername('shop7')
  t.match(await run({ lines }), { rows: { length: 0 }, there: 62, wrong: 2, isWhole: true })
  t.same(await store.credentialsByUsername('shop7'), before)
  t.equal(await codeOf(run({ workspace: 'nowhere' })), 'workspace.not_found')
})

t.test('what is interrupted leaves whole chunks, and goes on later', async (t) => {
  const { run, store, account } = await open(t)
  const ended = new AbortController()
  const told: number[] = []
  const progress = (done: number): void => {
    told.push(done)
    if (told.length === 2) ended.abort()
  }
  const lines = linesOf(0, 130)
  t.match(await run({ lines, signal: ended.signal, progress }), { rows: { length: 100 }, isWhole: false })
  t.same(told, [50, 100])
  t.equal((await store.credentials(account.id, page({ limit: 200 }))).rows.length, 100)
  t.match(await run({ lines }), { rows: { length: 30 }, there: 100, isWhole: true })
})
