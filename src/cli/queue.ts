/**
 * NAME      queue - what waits, and for how long
 */
import type { EmailRecord } from '../store/port.js'
import { command, type Subject } from './command.js'
import { type House, withHouse } from './context.js'
import { collect } from './rows.js'
import { paintStatus, table } from './terminal.js'
import { ago, spanText } from './time.js'

const namesOf = async ({ store, account }: House): Promise<ReadonlyMap<string, string>> => {
  const pools = await collect((page) => store.pools(account.id, page))
  const workspaces = await collect((page) => store.workspaces(account.id, page))
  return new Map([
    ...pools.map((row) => [row.id, row.name] as const),
    ...workspaces.map((row) => [row.id, row.slug] as const),
  ])
}

const top = command({
  usage: 'top',
  summary: 'How much waits, by pool and workspace',
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const depths = [...(await house.store.depth())].sort((a, b) => b.due - a.due)
      const names = await namesOf(house)
      const records = depths.map((row) => ({
        egress_pool_id: row.poolId,
        workspace_id: row.workspaceId,
        due: row.due,
        leased: row.leased,
        waiting: row.waiting,
        oldest_due_at: row.oldestDueAt === null ? null : new Date(row.oldestDueAt).toISOString(),
      }))
      terminal.data(records, (paint) =>
        table(
          paint,
          ['pool', 'workspace', 'due', 'under way', 'waiting', 'oldest'],
          depths.map((row) => [
            names.get(row.poolId) ?? row.poolId,
            names.get(row.workspaceId) ?? row.workspaceId,
            row.due,
            row.leased,
            row.waiting,
            row.oldestDueAt === null || row.oldestDueAt > Date.now() ? null : ago(row.oldestDueAt),
          ]),
        ),
      )
      if (depths.length === 0) terminal.say('the queue is empty')
    }),
})

const UNDONE = ['queued', 'deferred', 'scheduled'] as const

const waitingMails = async ({ store, account }: House, limit: number): Promise<readonly EmailRecord[]> => {
  const scope = { accountId: account.id, workspaceId: null, mode: null }
  const filter = { ...scope, to: null, tag: null, createdAfter: null, createdBefore: null }
  const found: EmailRecord[] = []
  for (const status of UNDONE) {
    for (const row of await collect((page) => store.emails({ ...filter, status }, page), limit)) {
      const record = await store.email(scope, row.id)
      if (record !== null) found.push(record)
    }
  }
  return found
}

const list = command({
  usage: 'list',
  summary: 'Recipients that wait, soonest first',
  options: { limit: { type: 'number', default: 50, describe: 'How many mails of each status at most' } },
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const rows = (await waitingMails(house, args.limit))
        .flatMap((email) => email.recipients.map((recipient) => ({ email, recipient })))
        .filter(({ recipient }) => recipient.dueAt !== null)
        .sort((a, b) => (a.recipient.dueAt ?? 0) - (b.recipient.dueAt ?? 0))
      const records = rows.map(({ email, recipient }) => ({
        email_id: email.id,
        workspace_id: email.workspaceId,
        egress_pool_id: email.poolId,
        address: recipient.address,
        status: recipient.status,
        attempts: recipient.attempts,
        due_at: recipient.dueAt === null ? null : new Date(recipient.dueAt).toISOString(),
        last_response: recipient.lastResponse,
      }))
      const now = Date.now()
      terminal.data(records, (paint) =>
        table(
          paint,
          ['email', 'recipient', 'status', 'tries', 'next', 'last response'],
          rows.map(({ email, recipient }) => {
            const wait = (recipient.dueAt ?? now) - now
            return [
              email.id,
              recipient.address,
              recipient.status,
              recipient.attempts,
              wait <= 0 ? 'now' : `in ${spanText(wait)}`,
              recipient.lastResponse,
            ]
          }),
          (text, column) => (column === 2 ? paintStatus(paint, text) : text),
        ),
      )
    }),
})

export const queueSubject: Subject = { name: 'queue', commands: [top, list] }
