/**
 * A data folder as Postern 0.1.0 left it (schema 8), and what its API answered
 * then. Both were written by that version; `more` adds settled mails in its
 * schema, as it would have stored them.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../src/store/sqlite/connect.js'
import { ROOT } from './postern.js'

const FOLDER = join(ROOT, 'test/store/of-0.1.0')

export interface Answers {
  /** base64 */
  readonly pepper: string
  readonly accountId: string
  readonly keys: Readonly<Record<string, string>>
  readonly ids: Readonly<Record<'later' | 'future' | 'past' | 'smtp' | 'killed' | 'leased', string>>
  readonly pages: readonly {
    readonly path: string
    readonly who: string
    readonly ids: readonly string[]
    readonly has_next: boolean
    readonly has_prev: boolean
    /** Of first pages. */
    readonly total?: number
  }[]
}

export const ANSWERS = JSON.parse(readFileSync(join(FOLDER, 'answers.json'), 'utf8')) as Answers

const MORE = `
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO emails (id, workspace, test, status, total, delivered, created_at, updated_at, pool, body, size, source, utf8,
    message_id, sender, subject, lists)
  SELECT printf('em_01k%023d', i), 1, 0, 'delivered', 1, 1, :at + i * 10, :at + i * 10, 1, i + 1000, 90, 'api', 0,
    printf('<em_01k%023d@mail.test>', i), 'Acme <no-reply@acme.test>', 'Receipt',
    printf('{"to":["u%d@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}', i) FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO recipients (id, email_id, workspace, pool, kind, status, attempts, updated_at, queued_at, lease_gen, address, address_lc,
    last_response)
  SELECT printf('01k%013d', i), printf('em_01k%023d', i), 1, 1, 'to', 'delivered', 1, :at + i * 10, :at + i * 10, 1,
    printf('u%d@dest.test', i), printf('u%d@dest.test', i), '250 2.0.0 queued as 4XYZ' FROM n;
WITH RECURSIVE n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < :count * 3 + 2)
INSERT INTO events (email_id, id, type, recipient_id, source, occurred_at, created_at, attempt, applied, more)
  SELECT printf('em_01k%023d', i / 3), printf('evt_01k%023d', i),
    CASE i % 3 WHEN 0 THEN 'email.queued' WHEN 1 THEN 'email.sent' ELSE 'email.delivered' END,
    printf('01k%013d', i / 3), 'smtp', :at + i * 3, :at + i * 3, 1, 1,
    '{"reply":{"code":250,"enhanced":"2.0.0","text":"queued as 4XYZ"},"mta":null,"detail":null}' FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO bodies (n, email_id, created_at, content, raw, beside)
  SELECT i + 1000, printf('em_01k%023d', i), :at + i * 10, '{"html":null,"text":"hello","headers":{}}', zeroblob(2000), 0 FROM n;
`

/** Makes `dataDir` one of 0.1.0, with `more` settled mails that are older than the others. */
export const makeOld = (dataDir: string, more = 0): void => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(dataDir, 'pepper'), Buffer.from(ANSWERS.pepper, 'base64'), { mode: 0o600 })
  const file = join(dataDir, 'postern.db')
  writeFileSync(file, '', { mode: 0o600 })
  const db = new Database(file)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = OFF')
  db.exec(readFileSync(join(FOLDER, 'postern.sql'), 'utf8'))
  const at = (db.prepare('SELECT min(created_at) FROM bodies').pluck().get() as number) - 30 * 86_400_000
  for (const text of more === 0 ? [] : MORE.split(';\n')) {
    if (text.trim() !== '') db.prepare(text).run(text.includes(':at') ? { count: more, at } : { count: more })
  }
  db.close()
}
