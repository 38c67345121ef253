/**
 * NAME      tables - mail as SQLite keeps it, for what is shared
 */
import type { LogEnds } from '../../sql/log/reads.js'
import type { MailTables } from '../../sql/mails.js'
import { type Asking, first, type Row } from '../../sql/query.js'

export const MAIL: MailTables = {
  recipients: 'recipients',
  waiting: 'recipients',
  accountOfNotice: "v.more ->> '$.account'",
  mtaOfEvent: "json_extract(e.more, '$[1]')",
  record: 'recipients',
  domainOf: "substr(r.address_lc, instr(r.address_lc, '@') + 1)",
  by: (index) => (index === null ? ' NOT INDEXED' : ` INDEXED BY ${index}`),
  // one writer, and a snapshot has all that it committed
  frontiers: null,
}

export function* logEnds(): Asking<LogEnds> {
  const { floor, last } = (yield* first('SELECT s.floor, o.last FROM log_state s, order_state o')) as Row as {
    readonly floor: number
    readonly last: number
  }
  return { oldest: { ord: floor, n: 0 }, newest: { ord: Math.max(last + 1, floor), n: 0 } }
}
