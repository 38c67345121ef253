/**
 * NAME      setup - what applied setups made, and the lock of each
 */
import type { ManagedKey, Setups } from '../../../src/store/port/tenants.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'

const idOf = (accountId: string, setup: string, { kind, workspace, name }: ManagedKey): string =>
  JSON.stringify([accountId, setup, kind, workspace, name])

export const createSetups = ({ setups, managed }: State): Plain<Setups> => ({
  managed: (accountId) =>
    managed
      .where((row) => row.accountId === accountId)
      .sort((a, b) => {
        const [x, y] = [a, b].map(({ setup, kind, workspace, name }) => [setup, kind, workspace, name])
        const at = x?.findIndex((text, i) => text !== y?.[i]) ?? -1
        return at < 0 ? 0 : Buffer.compare(Buffer.from(x?.[at] ?? ''), Buffer.from(y?.[at] ?? ''))
      })
      .map(({ accountId: _, ...row }) => row),
  managedNames: (accountId, objectIds) =>
    managed
      .where((row) => row.accountId === accountId && objectIds.includes(row.objectId ?? ''))
      .map(({ setup, kind, workspace, name, objectId }) => ({
        ...{ setup, kind, workspace, name, objectId: objectId ?? '' },
      })),
  beginSetup({ accountId, setup, owner, until }, now) {
    const id = JSON.stringify([accountId, setup])
    const standing = setups.get(id)
    if (standing !== null && standing.owner !== null && standing.until > now) return 'taken'
    if (standing === null) setups.add(id, { owner, until })
    else setups.change(id, { owner, until })
    return 'done'
  },
  noteManaged({ accountId, setup, owner, until }, kept, gone) {
    const lock = JSON.stringify([accountId, setup])
    if (setups.get(lock)?.owner !== owner) return false
    setups.change(lock, { until })
    for (const key of [...gone, ...kept]) managed.delete(idOf(accountId, setup, key))
    for (const row of kept) managed.add(idOf(accountId, setup, row), { ...row, accountId, setup })
    return true
  },
  endSetup({ accountId, setup, owner }) {
    const id = JSON.stringify([accountId, setup])
    if (setups.get(id)?.owner === owner) setups.change(id, { owner: null, until: 0 })
  },
})
