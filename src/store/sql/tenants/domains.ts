/**
 * NAME      domains - writing sending domains
 */
import type { Notice } from '../../port/log.js'
import type { Domains } from '../../port/tenants.js'
import { insertNew, type Places } from '../insert.js'
import { type AskedWrites, type Asking, run } from '../query.js'
import { change } from '../rows.js'
import { DOMAINS } from './tables.js'
import { written } from './writes.js'

/** `addNotice` writes in the commit that runs. */
export const domainWrites = (
  places: Places,
  addNotice: (notice: Notice) => Asking<unknown>,
): AskedWrites<Domains> => {
  const add = insertNew(DOMAINS, places)
  return {
    *createDomain(row) {
      return written(yield* add(row))
    },
    *updateDomain({ id, accountId, createdAt, name, ...rest }, updatedAt, notice) {
      const where = 'account_id = ? AND id = ? AND updated_at = ?'
      const isDone = (yield* change(DOMAINS, rest, where, accountId, id, updatedAt)) === 1
      if (isDone && notice !== null) yield* addNotice(notice)
      return isDone
    },
    *removeDomain(accountId, id) {
      return (yield* run('DELETE FROM domains WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
}
