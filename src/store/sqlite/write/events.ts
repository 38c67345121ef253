/**
 * NAME      events - records of the log, and their numbers
 * DESCRIPTION
 *   Events are only ever added, each with its place, which is its key. The first event of a recipient is not
 *   among them: it is made of the recipient's row.
 *   A server that was tried is a row of `mtas`, the detail of an attempt one of `attempt_details`.
 */
import type { RunResult } from 'better-sqlite3'
import { isNote } from '../../../mail/event-type.js'
import type { Notice } from '../../port/log.js'
import { flagsOf, kindOf, type Numbers, packMore, scopeOf } from '../../sql/log/codec.js'
import type { EventDraft, MailPlace } from '../../sql/log/draft.js'
import type { WriteContext } from './context.js'

export const createNumbers = ({ db, onRollback }: Pick<WriteContext, 'db' | 'onRollback'>): Numbers => {
  const sql = {
    mta: db
      .prepare<[string, string, string | null], number>(
        'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS ?',
      )
      .pluck(),
    addMta: db.prepare('INSERT INTO mtas (pool_id, upstream_id, host) VALUES (?, ?, ?)'),
    detail: db.prepare<[string], number>('SELECT n FROM attempt_details WHERE detail = ?').pluck(),
    addDetail: db.prepare('INSERT INTO attempt_details (detail) VALUES (?)'),
  }
  const known = new Map<string, number>()
  onRollback(() => known.clear())
  const numberOf = (key: string, find: () => number | undefined, add: () => RunResult): number => {
    const n = known.get(key) ?? find() ?? Number(add().lastInsertRowid)
    known.set(key, n)
    return n
  }
  return {
    // servers that others name are as many as they like
    mta: ({ poolId, upstreamId, host }) =>
      upstreamId === null
        ? 0
        : numberOf(
            `${poolId} ${upstreamId} ${host}`,
            () => sql.mta.get(poolId, upstreamId, host),
            () => sql.addMta.run(poolId, upstreamId, host),
          ),
    detail: (shape) =>
      numberOf(
        shape,
        () => sql.detail.get(shape),
        () => sql.addDetail.run(shape),
      ),
  }
}

/** Answers with the event's place. */
export type AddEvent = (draft: EventDraft) => number

/** Its place; null when its dedupe key was there. */
type AddNotice = (notice: Notice) => number | null

const COLUMNS = 'ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more'
const INSERT = `INTO events (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export const createAddEvent = (context: Pick<WriteContext, 'db' | 'order' | 'onRollback'>): AddEvent => {
  const { db, order } = context
  const insert = db.prepare(`INSERT ${INSERT}`)
  const find = db.prepare<[string], MailPlace>(
    'SELECT ord, workspace * 2 + test AS scope FROM emails WHERE id = ?',
  )
  const numbers = createNumbers(context)
  const placeOf = (id: string): MailPlace => {
    const mail = find.get(id)
    if (mail === undefined) throw new Error(`no email ${id}`)
    return mail
  }
  return (draft) => {
    const ord = order.next()
    const mail = typeof draft.mail === 'string' ? placeOf(draft.mail) : draft.mail
    insert.run(
      ord,
      mail.ord,
      mail.scope,
      kindOf(`email.${draft.status}`),
      flagsOf(draft.source, draft.applied, draft.change),
      draft.recipientId,
      draft.occurredAt,
      draft.now - draft.occurredAt,
      draft.attempt,
      draft.reason,
      draft.dedupe,
      packMore(draft.more, numbers),
    )
    return ord
  }
}

/** Answers with its place. */
export const createAddNotice = ({
  db,
  order,
  names,
}: Pick<WriteContext, 'db' | 'order' | 'names'>): AddNotice => {
  const insert = db.prepare(`INSERT OR IGNORE ${INSERT}`)
  return ({ type, accountId, workspaceId, mode, now, data, dedupe = null }) => {
    const ord = order.next()
    const scope = scopeOf(workspaceId === null ? 0 : names.workspace(workspaceId), mode === 'test')
    const more = JSON.stringify({ account: accountId, data })
    const flags = flagsOf('system', true, !isNote(type))
    const { changes } = insert.run(
      ord,
      null,
      scope,
      kindOf(type),
      flags,
      null,
      now,
      0,
      null,
      null,
      dedupe,
      more,
    )
    return changes === 0 ? null : ord
  }
}
