/** kill -9 at the steps of a move: what was cut off is done again, and no mail is lost or sent twice. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isOnPostgres } from '../parts/store.js'
import { accepted } from '../store/fixture.js'
import { type Desk, openDesk, postern } from './desk.js'
import { due, withStore } from './waiting.js'

const skip = isOnPostgres && 'these steps are those of SQLite'

t.test('killed between any two steps, nothing is lost and nothing is sent twice', { skip }, async (t) => {
  const points = [
    ['export', 'markStep.after-commit'],
    ['export', 'turnLot.before-commit'],
    ['export', 'turnLot.after-commit'],
    ['import', 'carryIn.after-commit'],
    ['import', 'body.after-write'],
    ['take-back', 'turnLot.after-commit'],
    ['forget', 'turnLot.after-commit'],
    ['forget', 'lotStep.before-commit'],
  ] as const
  for (const [verb, point] of points) {
    const [here, there] = [openDesk(t), openDesk(t)]
    await here.json(['workspace', 'list'])
    await there.json(['workspace', 'list'])
    await withStore(here, async (store, at) => {
      for (const raw of [Buffer.alloc(100), Buffer.alloc(70_000)])
        await accepted(store, at, { createdAt: Date.now(), raw })
    })
    const killed = (desk: Desk, args: readonly string[]) =>
      postern(['--config', desk.configFile, 'queue', ...args], '', desk.dir, { POSTERN_CRASH_AT: point })
    let file = join(here.dir, 'a.jsonl')
    if (verb === 'export') {
      await killed(here, ['export', file, '--all', '--yes'])
      t.notOk(existsSync(file), `${point}: no file has its name before it is whole`)
      for (const { id } of await here.json(['queue', 'lots']))
        await here.json(['queue', 'take-back', id, '--yes'])
      t.equal((await due(here)).length, 2, `${point}: all is here`)
      file = join(here.dir, 'b.jsonl')
    }
    const { lot } = await here.json(['queue', 'export', file, '--all', '--yes'])
    if (verb === 'take-back') {
      await killed(here, ['take-back', lot, '--yes'])
      t.match(await here.run(['queue', 'forget', lot, '--yes']), { code: 65 }, `${point}: the way is chosen`)
      await here.json(['queue', 'take-back', lot, '--yes'])
      t.equal((await due(here)).length, 2, point)
      continue
    }
    if (verb === 'import') await killed(there, ['import', file, '--yes'])
    await there.json(['queue', 'import', file, '--yes'])
    t.equal((await due(there)).length, 2, `${point}: all is there`)
    if (verb === 'forget') {
      await killed(here, ['forget', lot, '--yes'])
      t.match(
        await here.run(['queue', 'take-back', lot, '--yes']),
        { code: 65 },
        `${point}: the way is chosen`,
      )
    }
    await here.json(['queue', 'forget', lot, '--yes'])
    t.same(await due(here), [], `${point}: and nothing is here`)
    t.match(await here.json(['queue', 'lots']), [{ id: lot, recipients: 0 }])
    await withStore(there, async (store) => t.same(await store.check(), [], point))
  }
})
