/** What a send was decided by changes while it is being stored: it is decided again, twice at most by rows at hand. */
import t from 'tap'
import { codeOf } from '../tenant/house.js'
import { draft, openOffice, plain } from './house.js'

t.test('each time that it is stored the rules move', async (t) => {
  const { store, live, workspace, with: withStore } = await openOffice(t, true)
  t.ok(store.known, 'a daemon has rows at hand')
  const tried: (number | null)[] = []
  const claimed: string[] = []
  const change = { defaultFrom: null as string | null, moves: 0, suspends: false }
  const { accept, claimKey } = store
  const submission = withStore({
    store: {
      ...store,
      async claimKey(claim) {
        claimed.push(claim.token)
        return claimKey(claim)
      },
      async accept(batch) {
        tried.push(batch.rules ?? null)
        if (change.suspends) await store.suspendWorkspace(workspace, null, 1)
        else if (tried.length <= change.moves)
          await store.updateWorkspace(workspace.id, { defaultFrom: `n${tried.length}@acme.test` })
        return accept(batch)
      },
    },
  })
  const send = async (idempotency: { key: string; fingerprint: string } | null) => {
    tried.length = 0
    claimed.length = 0
    return submission.submit(live, null, draft(), { ...plain, idempotency })
  }
  for (const idempotency of [null, { key: 'k', fingerprint: 'f' }]) {
    for (const [moves, tries] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [9, 3],
    ] as const) {
      change.moves = moves
      const wish = idempotency && { ...idempotency, key: `k${moves}` }
      t.match(await send(wish), { status: 202, replayed: false })
      t.equal(tried.length, tries, `${moves} moves`)
      t.equal(tried[2] ?? null, null, 'at last by rows that were read for it')
      t.ok(new Set(tried).size === tries, 'each by other rules')
      t.equal(claimed.length, wish === null ? 0 : 1, 'one lock')
      if (wish !== null) t.match(await send(wish), { status: 202, replayed: true })
    }
  }
  change.suspends = true
  for (const wish of [null, { key: 'late', fingerprint: 'f' }])
    t.equal(await codeOf(send(wish)), 'workspace.suspended', 'it is decided again, and not stored')
  change.suspends = false
  await store.resumeWorkspace(workspace.id, 2)
  t.match(await send({ key: 'late', fingerprint: 'f' }), { replayed: false }, 'its key is free')
})
