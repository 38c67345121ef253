/** The window that all streams share: who comes late gets the same, also what was forgotten as text. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { viewOf, Window } from '../../../src/http/feed.js'
import { MarkCodec } from '../../../src/record/event.js'
import type { LogFilter, LogRow } from '../../../src/store/port/log.js'

const COUNT = 200
const LARGE = 'x'.repeat(100_000)

const rowAt = (n: number): LogRow => ({
  id: `evt_${n}`,
  type: 'domain.verified',
  mark: String(n + 1),
  accountId: 'acct_1',
  workspaceId: null,
  mode: 'live',
  change: true,
  begunHere: true,
  emailId: null,
  recipientId: null,
  recipient: null,
  source: 'system',
  occurredAt: 0,
  createdAt: 0,
  reply: null,
  mta: null,
  attempt: null,
  applied: true,
  reason: null,
  detail: null,
  mail: null,
  data: { domain: LARGE },
})

const filter: LogFilter = {
  accountId: 'acct_1',
  workspaceId: null,
  accountWide: true,
  mode: null,
  types: null,
  emailId: null,
  recipient: null,
  change: null,
  createdAfter: null,
  createdBefore: null,
}

const idsIn = (window: Window, types: LogFilter['types']): string[] => {
  const view = viewOf({ ...filter, types }, null)
  const ids: string[] = []
  for (let mark = '0'; mark !== window.mark; ) {
    const taken = window.take(view, mark)
    for (const [, id] of String(taken.chunk).matchAll(/"id":"(evt_\d+)"/g)) ids.push(String(id))
    mark = taken.mark
  }
  return ids
}

t.test('20 MB of records, twice over', async (t) => {
  const window = new Window(new MarkCodec(randomBytes(32)))
  window.reset('0')
  const rows = Array.from({ length: COUNT }, (_, n) => rowAt(n))
  window.add({ rows, mark: String(COUNT), isEnd: true })
  const wanted = rows.map(({ id }) => id)
  t.strictSame(idsIn(window, null), wanted)
  t.strictSame(idsIn(window, ['domain.verified']), wanted, 'another filter, from the very beginning')
  const early = window.take(viewOf({ ...filter, change: true }, null), '0')
  t.match(String(early.chunk), /"id":"evt_0"/)
  window.reset('0')
  window.add({ rows: [rowAt(7)], mark: '8', isEnd: true })
  t.strictSame(idsIn(window, null), ['evt_7'], 'afresh')
})
