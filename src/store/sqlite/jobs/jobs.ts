/**
 * NAME      jobs - the table of what is done to many mails at once
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { JobRow, Jobs } from '../../port/jobs.js'
import type { Writes } from '../../port/verbs.js'
import { advanced, canceled, JOBS_KEPT_MS } from '../../rules/jobs.js'
import type { Db, Row } from '../connect.js'
import { inserter } from '../order/insert.js'
import { listOf, pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { table } from '../schema/record.js'
import type { WriteContext } from '../write/context.js'

export const JOBS_STEP = `
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  filter TEXT NOT NULL, -- JSON
  q TEXT,
  matched INTEGER NOT NULL,
  is_capped INTEGER NOT NULL,
  state TEXT NOT NULL,
  place TEXT NOT NULL,
  done INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  last_error TEXT,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX jobs_account ON jobs (account_id, ord);
CREATE INDEX jobs_running ON jobs (ord) WHERE state = 'running';
`

export const JOBS = table<JobRow>('jobs', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  action: 'plain',
  reason: 'plain',
  filter: 'json',
  q: 'plain',
  matched: 'plain',
  isCapped: 'bool',
  state: 'plain',
  place: 'plain',
  done: 'plain',
  skipped: 'plain',
  failed: 'plain',
  lastError: 'plain',
  createdBy: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  finishedAt: 'plain',
})

export const createJobWrites = (context: WriteContext): Writes<Jobs> => {
  const { db } = context
  const insert = inserter(context, JOBS)
  const find = db.prepare<[string], Row>(`SELECT ${JOBS.columns} FROM jobs WHERE id = ?`)
  const turn = (id: string, next: (job: JobRow) => JobRow | null): boolean => {
    const row = find.get(id)
    const after = row === undefined ? null : next(JOBS.decode(row))
    if (after === null) return false
    const { set, values } = JOBS.change(after)
    db.prepare(`UPDATE jobs SET ${set} WHERE id = ?`).run(...values, id)
    return true
  }
  return {
    addJob: (row) => void insert(row),
    advanceJob: (id, from, step) => turn(id, (job) => advanced(job, from, step)),
    cancelJob: (accountId, id, now) =>
      turn(id, (job) => (job.accountId === accountId ? canceled(job, now) : null)),
  }
}

/** Removes those that ended long ago; how many. */
export const createJobSweep = (db: Db) => {
  const drop = db.prepare(
    'DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE finished_at < ? LIMIT 200)',
  )
  return (now: number): number => drop.run(now - JOBS_KEPT_MS).changes
}

export const createJobReads = (sql: Statements) => {
  const all = (where: string, ...params: readonly unknown[]): JobRow[] =>
    sql(`SELECT ${JOBS.columns} FROM jobs WHERE ${where}`)
      .all(...params)
      .map(JOBS.decode)
  return {
    job: (accountId: string, id: string): JobRow | null =>
      all('account_id = ? AND id = ?', accountId, id)[0] ?? null,
    jobs(accountId: string, page: Page, workspaceId: string | null): Rows<JobRow> {
      const list =
        workspaceId === null
          ? listOf('jobs', 'account_id = ?', [accountId])
          : listOf('jobs', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
      return pageOf(sql, list, page, (id) => all('id = ?', id)[0] ?? null)
    },
    runningJobs: (): readonly JobRow[] => all("state = 'running' ORDER BY ord"),
  }
}
