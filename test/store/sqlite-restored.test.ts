/** A database that comes back from a copy: its webhooks go on from the end of the log. */
import t from 'tap'
import { databaseFile } from '../../src/base/folder.js'
import { newId } from '../../src/base/id.js'
import { putToRest } from '../../src/store/sqlite/admin.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { endpointFor, postFor } from './contract-hooks.js'
import { newAccount, T0 } from './fixture.js'

const SOMEBODY = { kind: 'cli', id: 'cli:1000', name: 'bo', address: null } as const

for (const send of [false, true])
  t.test(
    send ? 'what waits stays due, posts as well' : 'what may have been posted since is not',
    async (t) => {
      const dataDir = t.testdir()
      const first = openSqliteStore({ dataDir, daemon: false })
      await first.open()
      const at = await newAccount(first)
      const row = endpointFor(at)
      const post = postFor(row.id)
      await first.createEndpoint(row, 'm1')
      await first.savePosts([post])
      const replay = { id: newId('rep'), endpointId: row.id, failed: false, place: 'm1', since: null }
      await first.addReplay({ ...replay, until: T0, made: 0, createdAt: T0 })
      await first.close()

      putToRest(databaseFile(dataDir), { send, now: T0 + 1, actor: SOMEBODY, copy: 'copy.db' })
      const store = openSqliteStore({ dataDir, daemon: false })
      t.teardown(() => store.close())
      await store.open()
      const known = await store.endpoint(at.accountId, row.id)
      t.equal(known?.state.mark, send ? 'm1' : null)
      t.equal(known?.waiting, send ? 1 : 0)
      t.equal((await store.replays()).length, send ? 1 : 0)
      t.match(await store.post(row.id, post.id), { state: send ? 'waiting' : 'canceled' })
    },
  )
