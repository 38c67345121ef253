/**
 * NAME      query - a batch of mails as one statement
 * DESCRIPTION
 *   All acceptances travel as JSON, their bodies as one run of octets of which the database cuts each. The statement
 *   begins with the fence of its writer, and everything in it reads from that. The idempotent answer comes next: an
 *   acceptance whose lock is gone adds no rows. Its key is compared with an array of one, so that no plan can be to read all
 *   keys in their order beside those of the batch, which is cheap as long as there are few.
 *   A workspace or a pool that is not there is a NULL in a column that has none, and the batch fails.
 */

import { firstCounts, firstState, firstStatus } from '../../../lifecycle/accept.js'
import type { Acceptance, NewEmail, NewRecipient } from '../../../lifecycle/facts.js'
import { dsnActionOf, isTold } from '../../../lifecycle/pending-dsn.js'
import { aggregate } from '../../../mail/status.js'
import { flagsOf, kindOf } from '../../sql/log/codec.js'
import { packLists, shortAddress, shortMessageId } from '../../sql/mails.js'
import type { Day } from '../../sql/pages.js'
import type { Query } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import { heldBy, MAY_BE_SUPPRESSED } from '../operate/standing.js'
import { type Offer, untilOf } from './hot.js'

const ACCEPT = `
given AS (
  SELECT g.* FROM fence, json_to_recordset(CAST(? AS JSON))
    AS g (i int, workspace text, test smallint, key text, token text, status int, body text, now bigint)),
answered AS (
  UPDATE idempotency d SET status = g.status, body = g.body, completed_at = g.now
  FROM (SELECT g.*, w.n FROM given g JOIN workspaces w ON w.id = g.workspace OFFSET 0) g
  WHERE d.workspace = ANY (ARRAY[g.n]) AND d.test = ANY (ARRAY[g.test]) AND d.key = ANY (ARRAY[g.key])
    AND d.token = ANY (ARRAY[g.token]) AND d.completed_at IS NULL
  RETURNING g.i),
free AS (SELECT i, now FROM given WHERE key IS NULL OR i IN (SELECT i FROM answered)),
mails AS MATERIALIZED (
  SELECT m.*, f.now, w.n AS workspace_n, p.n AS pool_n, w.sender_dsn
  FROM free f JOIN json_to_recordset(CAST(? AS JSON)) AS m (i int, ord bigint, id text, workspace text, pool text,
    test smallint, status text, total int, scheduled int, queued int, bounced int, created_at bigint, scheduled_at bigint,
    at int, size int, source text, utf8 smallint, require_tls smallint, envid text, ret text, message text,
    message_host text, sender text, mail_from text, subject text, lists text, content text,
    submitter bigint) ON m.i = f.i
  LEFT JOIN workspaces w ON w.id = m.workspace LEFT JOIN pools p ON p.id = m.pool),
stored_bodies AS (
  INSERT INTO bodies (n, email_id, created_at, content, raw)
  SELECT ord, id, created_at, content, substring(CAST(? AS BYTEA) FROM at + 1 FOR size) FROM mails),
stored_mails AS (
  INSERT INTO emails (ord, id, workspace, test, status, total, scheduled, queued, bounced, created_at, updated_at,
    scheduled_at, pool, body, size, source, utf8, require_tls, envid, ret, message, message_host, sender, mail_from,
    subject, lists, submitter)
  SELECT ord, id, workspace_n, test, status, total, scheduled, queued, bounced, created_at, created_at, scheduled_at,
    pool_n, ord, size, source, utf8, require_tls, envid, ret, message, message_host, sender, mail_from, subject, lists,
    submitter
  FROM mails),
stored_tags AS (
  INSERT INTO tags (workspace, name, value, email_ord)
  SELECT m.workspace_n, t.name, t.value, m.ord
  FROM mails m JOIN json_to_recordset(CAST(? AS JSON)) AS t (ord bigint, name text, value text) ON t.ord = m.ord
  ON CONFLICT DO NOTHING),
people AS MATERIALIZED (
  SELECT r.*, m.i, m.id AS email, m.workspace_n, p.n AS pool_n, m.created_at, m.now, m.test, m.sender_dsn
  FROM mails m JOIN json_to_recordset(CAST(? AS JSON)) AS r (ord bigint, id text, pool text, kind text, status text,
    due_at bigint, written text, address_lc text, notify text, orcpt text, reason text, first int, event bigint,
    event_kind int, flags int, dsn text, hot int) ON r.ord = m.ord
  LEFT JOIN pools p ON p.id = r.pool),
taker AS MATERIALIZED (SELECT boot FROM writers WHERE boot = CAST(? AS BIGINT)),
taken AS MATERIALIZED (
  SELECT r.id, r.i, r.ord, r.workspace_n, w.ambiguous, b.boot, CAST(? AS BIGINT) AS lease_until
  FROM taker b CROSS JOIN people r JOIN workspaces w ON w.n = r.workspace_n
  WHERE r.hot = 1 AND NOT ${heldBy('r.pool', 'r.email')} AND NOT ${MAY_BE_SUPPRESSED}),
stored_people AS (
  INSERT INTO recipient_rows (id, email_ord, workspace, pool, kind, status, updated_at, queued_at, written, address_lc,
    notify, orcpt, reason, first)
  SELECT id, ord, workspace_n, pool_n, kind, status, created_at, now, written, address_lc, notify, orcpt, reason, first
  FROM people),
waiting AS (
  INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at, boot, lease_until)
  SELECT r.id, r.ord, r.workspace_n, r.pool_n, CASE WHEN t.boot IS NULL THEN 0 ELSE 1 END,
    CASE WHEN t.boot IS NULL THEN r.due_at END, t.boot, t.lease_until
  FROM people r LEFT JOIN taken t ON t.id = r.id WHERE r.due_at IS NOT NULL),
told AS (
  INSERT INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, reason)
  SELECT event, ord, workspace_n * 2 + test, event_kind, flags, id, now, 0, reason FROM people WHERE event IS NOT NULL),
owed AS (
  INSERT INTO owed_dsns (email_id, action, recipient_id, event_ord, at)
  SELECT email, dsn, id, event, now FROM people WHERE dsn IS NOT NULL AND sender_dsn = 1),
held AS (
  SELECT r.i, r.id FROM people r JOIN workspaces w ON w.n = r.workspace_n
  WHERE r.status = 'queued' AND ${heldBy('r.pool', 'r.email')}),
noted AS (
  INSERT INTO email_days AS d (day, behind, ahead)
  SELECT n.day, n.behind, n.ahead
  FROM fence, json_to_recordset(CAST(? AS JSON)) AS n (day bigint, behind bigint, ahead bigint) ORDER BY n.day
  ON CONFLICT (day) DO UPDATE SET behind = greatest(d.behind, excluded.behind), ahead = greatest(d.ahead, excluded.ahead))
SELECT f.i, (SELECT json_agg(h.id) FROM held h WHERE h.i = f.i) AS held,
  (SELECT json_agg(json_build_array(t.id, t.ambiguous, t.ord, t.workspace_n)) FROM taken t WHERE t.i = f.i) AS taken FROM fence LEFT JOIN free f ON true`

const given = ({ idempotency: answer, now }: Acceptance, i: number) => ({
  ...{ i, now, workspace: answer?.workspaceId, test: answer?.mode === 'test' ? 1 : 0 },
  ...{ key: answer?.key, token: answer?.token, status: answer?.status, body: answer?.body },
})

const textOf = (content: NewEmail['content']): string | null =>
  content === null || typeof content === 'string' ? content : Buffer.from(content).toString('utf8')

type SubmitterOf = (id: string | null | undefined) => number | null

const mailOf = (mail: NewEmail, i: number, ord: number, at: number, submitterOf: SubmitterOf) => {
  const { scheduled, queued, bounced, ...others } = firstCounts(mail.recipients, mail.scheduledAt)
  return {
    ...{ i, ord, at, id: mail.id, workspace: mail.workspaceId, pool: mail.poolId },
    ...{ test: mail.mode === 'test' ? 1 : 0, size: mail.raw.byteLength, total: mail.recipients.length },
    ...{ status: aggregate({ scheduled, queued, bounced, ...others }), scheduled, queued, bounced },
    ...{ created_at: mail.createdAt, scheduled_at: mail.scheduledAt, source: mail.source },
    ...{ utf8: mail.needsSmtpUtf8 ? 1 : 0, require_tls: mail.requireTls === true ? 1 : 0 },
    ...{ envid: mail.envid, ret: mail.ret, ...shortMessageId(mail.id, mail.messageId), sender: mail.from },
    ...{ mail_from: mail.mailFrom ?? null, subject: mail.subject, lists: packLists(mail) },
    ...{ content: textOf(mail.content), submitter: submitterOf(mail.submittedBy) },
  }
}

/** What the DSN would say that tells the sender, if the workspace wants that. */
const dsnOf = ({ mailFrom = null }: NewEmail, { dsn }: NewRecipient, at: number): string | null => {
  const change = { seen: 'suppressed', at, detail: null } as const
  const action = dsnActionOf(change)
  const submitted = { mailFrom, notify: dsn?.notify ?? null, queuedAt: at, senderDsn: true }
  return action !== null && isTold(action, change, submitted) ? action : null
}

const personOf = (
  mail: NewEmail,
  recipient: NewRecipient,
  number: number,
  now: number,
  ord: number,
  places: Places,
  { ids }: Offer,
) => {
  const status = firstStatus(recipient, mail.scheduledAt)
  const { dueAt, reason } = firstState(status, mail.scheduledAt ?? now, null)
  const { id, suppressed, dsn } = recipient
  return {
    ...{ ord, id, pool: recipient.poolId ?? mail.poolId, kind: recipient.kind, status, reason },
    ...{ due_at: dueAt, ...shortAddress(recipient.address), notify: dsn?.notify, orcpt: dsn?.orcpt },
    ...(suppressed
      ? {
          first: 0,
          event: places.next(),
          event_kind: kindOf(`email.${status}`),
          flags: flagsOf('system', true, true),
          dsn: dsnOf(mail, recipient, now),
        }
      : { first: number, hot: ids.has(id) ? 1 : undefined }),
  }
}

export type Mail = ReturnType<typeof mailOf>

/** What follows the fence. Answers with a row for each that is stored, and who of it is to be held. */
export const acceptQuery = (
  batch: readonly Acceptance[],
  places: Places,
  daysOf: (mails: readonly Mail[]) => readonly Day[],
  submitterOf: SubmitterOf,
  offer: Offer,
): Query => {
  const mails: Mail[] = []
  const people: ReturnType<typeof personOf>[] = []
  const tags: { readonly ord: number; readonly name: string; readonly value: string }[] = []
  const octets: Uint8Array[] = []
  let at = 0
  for (const [i, acceptance] of batch.entries()) {
    for (const mail of acceptance.mails) {
      const ord = places.next()
      mails.push(mailOf(mail, i, ord, at, submitterOf))
      octets.push(mail.raw)
      at += mail.raw.byteLength
      for (const { name, value } of mail.tags) tags.push({ ord, name, value })
      for (const [n, recipient] of mail.recipients.entries())
        people.push(personOf(mail, recipient, n + 1, acceptance.now, ord, places, offer))
    }
  }
  return {
    text: ACCEPT,
    values: [
      JSON.stringify(batch.map(given)),
      JSON.stringify(mails),
      Buffer.concat(octets),
      JSON.stringify(tags),
      JSON.stringify(people),
      offer.boot,
      untilOf(offer.now),
      JSON.stringify(daysOf(mails)),
    ],
  }
}
