/**
 * NAME      notices - events without a mail, in the transaction that runs
 */
import { isNote } from '../../../mail/event-type.js'
import type { Notice } from '../../port/log.js'
import { flagsOf, kindOf } from '../../sql/log/codec.js'
import { type Asking, run } from '../../sql/query.js'
import { many, manyMarks, type Places } from '../../sql/table.js'

const ROW = '(?, coalesce((SELECT n FROM workspaces WHERE id = ?), 0) * 2 + ?, ?, ?, ?, 0, ?, ?)'
const insert = (rows: string): string =>
  `INSERT INTO events (ord, scope, kind, flags, occurred_at, late, dedupe, more) VALUES ${rows} ON CONFLICT DO NOTHING`
const ADD = insert(ROW)
const ADD_MANY = insert(manyMarks(ROW))

const valuesOf = (ord: number, notice: Notice): readonly unknown[] => {
  const { type, accountId, workspaceId, mode, now, data, dedupe = null } = notice
  const more = JSON.stringify({ account: accountId, data })
  const flags = flagsOf('system', true, !isNote(type))
  return [ord, workspaceId, mode === 'test' ? 1 : 0, kindOf(type), flags, now, dedupe, more]
}

/** Its place; null when its dedupe key was there. */
export const createAddNotice = (places: Places) =>
  function* (notice: Notice): Asking<number | null> {
    const ord = places.next()
    return (yield* run(ADD, ...valuesOf(ord, notice))) === 0 ? null : ord
  }

/** At most MANY. */
export const createNoteAll = (places: Places) =>
  function* (notices: readonly Notice[]): Asking<void> {
    if (notices.length > 0)
      yield* run(ADD_MANY, ...many(notices.map((notice) => valuesOf(places.next(), notice))).flat())
  }
