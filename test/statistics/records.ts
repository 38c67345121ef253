/**
 * NAME      records - records of the log, made up for the tests of statistics
 */
import type { LogRow } from '../../src/store/port/log.js'

export const T0 = Date.UTC(2026, 10, 20, 10)
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** A recipient that was accepted at T0. */
export const record = (over: Partial<LogRow> = {}, mail: Partial<LogRow['mail']> = {}): LogRow => ({
  id: 'evt_1',
  type: 'email.queued',
  mark: '1',
  accountId: 'acct_1',
  workspaceId: 'ws_1',
  mode: 'live',
  change: true,
  begunHere: true,
  emailId: 'em_1',
  recipientId: '1',
  recipient: 'ana@example.com',
  source: 'api',
  occurredAt: T0,
  createdAt: T0,
  reply: null,
  mta: null,
  attempt: null,
  applied: true,
  reason: null,
  detail: null,
  data: null,
  ...over,
  mail: {
    id: 'em_1',
    poolId: 'pool_1',
    from: 'a@acme.test',
    to: ['ana@example.com'],
    subject: 'Receipt',
    messageId: '<1@acme.test>',
    tags: [],
    createdAt: T0,
    scheduledAt: null,
    ...mail,
  },
})
