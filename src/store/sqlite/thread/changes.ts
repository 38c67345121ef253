/**
 * NAME      changes - counts of the commits that may change what is remembered
 *   Keys, credentials, workspaces and pools hardly change, while mail is committed
 *   a hundred times a second. Each commit with any other verb than those of the
 *   mail's own way adds one to a row, in the same transaction and whichever
 *   process commits; read/known.ts forgets when the row has moved. A verb that
 *   nobody thought of counts, so the worst that a new one can do is cost a read.
 *   Another row, `rules`, counts less: what changes how a send is decided, and neither
 *   uses nor alarms. Triggers count it, whatever statement of whichever process it was. Each
 *   acceptance says under which it was decided, and one of others is not stored. Threads of the
 *   daemon see it in shared memory (store/known.ts), where it may be late: a hint.
 */
import type { Db } from '../connect.js'
import type { Verb, WireAcceptance, WriterCall } from './wire.js'

/** What they write, nobody remembers. */
const OF_MAIL: ReadonlySet<Verb> = new Set<Verb>([
  'accept',
  'claimKey',
  'releaseKey',
  'claim',
  'attempting',
  'settle',
  'release',
  'addUsed',
  'savePosts',
  'keepPlaces',
])

/** Call it inside the transaction; true when it counted. */
export const createCountChanges = (db: Db): ((calls: readonly WriterCall[]) => boolean) => {
  const add = db.prepare('UPDATE changes SET n = n + 1')
  return (calls) => calls.some(([, verb]) => !OF_MAIL.has(verb)) && add.run().changes > 0
}

/** The writer's side of `rules`; `told` is what the threads share. */
export const createRules = (db: Db, told: SharedArrayBuffer) => {
  const read = db.prepare<[], number>('SELECT n FROM rules').pluck()
  const shared = new Int32Array(told)
  let n = 0
  return {
    /** Inside the transaction. */
    look: (): void => {
      n = read.get() ?? 0
    },
    /** Decided under others. */
    isStale([, verb, [batch]]: WriterCall): boolean {
      const rules = verb === 'accept' ? (batch as WireAcceptance).rules : null
      return rules !== null && rules !== n
    },
    /** After the commit. */
    publish: (): void => void Atomics.store(shared, 0, n),
  }
}
