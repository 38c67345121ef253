/**
 * NAME      reports - the reports of mails, as they came
 * DESCRIPTION
 *   Written in the commit of the event that tells of one, and gone with its mail, or
 *   before. The octets are somebody else's, so a mail keeps a bounded number; what changed nothing
 *   leaves room for what did, since an address that answers by itself may do so without end.
 */

import { type KeptReport, MAX_REPORTS } from '../../../lifecycle/facts.js'
import { kindOf } from '../../sql/log/codec.js'
import type { Db } from '../connect.js'

/** Each is up to 64 KiB: a page of them is deleted in a few milliseconds. */
const STEP = 50

/** Notices to senders were noted as events of the status that they told. */
export const REPORTS_STEP = `
CREATE TABLE reports (
  n INTEGER PRIMARY KEY,
  email INTEGER NOT NULL,
  name TEXT NOT NULL,
  at INTEGER NOT NULL,
  octets BLOB NOT NULL
);
CREATE UNIQUE INDEX reports_email ON reports (email, name);
CREATE INDEX reports_at ON reports (at);
UPDATE events SET kind = ${kindOf('email.sender_notified')}, flags = flags | 1, reason = NULL
  WHERE dedupe >= 'sender-dsn:' AND dedupe < 'sender-dsn;' AND reason = 'sender_notified';
`

export const DROP_REPORTS = 'DELETE FROM reports WHERE email = ?'

export const createKeepReport = (
  db: Db,
): ((email: number, report: KeptReport, now: number, applied: boolean) => void) => {
  const kept = db.prepare<[number], number>('SELECT count(*) FROM reports WHERE email = ?').pluck()
  const add = db.prepare('INSERT OR IGNORE INTO reports (email, name, at, octets) VALUES (?, ?, ?, ?)')
  return (email, { name, octets }, now, applied) => {
    if ((kept.get(email) ?? 0) < (applied ? 2 * MAX_REPORTS : MAX_REPORTS)) add.run(email, name, now, octets)
  }
}

/** One step; answers how many are gone. */
export const createReportSweep = (db: Db): ((before: number) => number) => {
  const drop = db.prepare<[number]>(
    `DELETE FROM reports WHERE n IN (SELECT n FROM reports WHERE at < ? LIMIT ${STEP})`,
  )
  return (before) => drop.run(before).changes
}
