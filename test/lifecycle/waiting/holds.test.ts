import fc from 'fast-check'
import t from 'tap'
import { covers, holdBack, isAway, type Owned, type Scope, setFree } from '../../../src/lifecycle/orders.js'

const ONE: Owned = {
  accountId: 'acc_1',
  workspaceId: 'ws_1',
  poolId: 'pool_1',
  emailId: 'em_1',
  address: 'ana@mail.example.com',
}
const ALL: Scope = { accountId: 'acc_1', workspaceId: null, poolId: null, domain: null, emailId: null }
const FITS: Partial<Scope> = {
  workspaceId: 'ws_1',
  poolId: 'pool_1',
  domain: 'mail.example.com',
  emailId: 'em_1',
}
const OTHER: Partial<Scope> = {
  workspaceId: 'ws_2',
  poolId: 'pool_2',
  domain: 'example.com',
  emailId: 'em_2',
}

t.test('a scope covers what each of its parts fits', async (t) => {
  const parts = Object.keys(FITS) as (keyof Scope)[]
  t.ok(covers(ALL, ONE), 'an account')
  t.notOk(covers({ ...ALL, accountId: 'acc_2' }, ONE), 'no other account')
  for (const part of parts) {
    t.ok(covers({ ...ALL, [part]: FITS[part] }, ONE), `${part} that fits`)
    t.notOk(
      covers({ ...ALL, ...FITS, [part]: OTHER[part] }, ONE),
      `${part} that does not, among others that do`,
    )
  }
  t.ok(covers({ ...ALL, ...FITS }, ONE))
  t.notOk(covers({ ...ALL, domain: 'l.example.com' }, ONE), 'whole domains only')
})

t.test('who is away', async (t) => {
  t.same([null, 'hold_1', 'lot_1', 'ambiguous', 'exported'].map(isAway), [false, false, true, false, false])
})

const at = fc.integer({ min: 0, max: 1000 })

t.test('held, then free: as if no time had passed', async () => {
  fc.assert(
    fc.property(at, at, at, at, (queuedAt, waited, rested, dueIn) => {
      const heldAt = queuedAt + waited
      const dueAt = heldAt + dueIn
      const held = holdBack(dueAt, 'hold_1', heldAt)
      t.same(held, { held: 'hold_1', heldAt, heldDue: dueAt, dueAt: null })
      const now = heldAt + rested
      const free = setFree({ ...held, queuedAt }, [], now)
      t.same(free, { held: null, heldAt: now, heldDue: null, dueAt, queuedAt: now - waited })
    }),
    { numRuns: 50 },
  )
})

t.test('what was never due is due when it is free; what has no time of its hold keeps its age', async (t) => {
  t.match(setFree({ heldAt: null, heldDue: null, queuedAt: 5 }, [], 100), {
    dueAt: 100,
    queuedAt: 5,
    heldAt: 100,
  })
  // paused from 20 to 60: held at 50, it had waited 10
  t.equal(setFree({ heldAt: 50, heldDue: 1, queuedAt: 10 }, [[20, 60]], 100).queuedAt, 90)
})
