/**
 * NAME      tail - following mails from outside the daemon
 * DESCRIPTION
 *   Looks at the newest mails twice a second and tells what changed since the
 *   last look: a line for each recipient that has moved, with its way so far. With
 *   --json, one record a line. Mails older than the newest 200 are not watched.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { emailSummary } from '../http/render.js'
import type { EmailFilter, EmailRow, Store } from '../store/port.js'
import { collect } from './rows.js'
import { clean, type Paint, paintStatus, type Terminal } from './terminal.js'
import { spanText } from './time.js'
import { type Way, waysOf } from './timeline.js'

const WATCHED = 200
const EVERY_MS = 500

type Reads = Pick<Store, 'email' | 'emails' | 'events'>

const waysNow = async (store: Reads, row: EmailRow): Promise<readonly Way[]> => {
  const scope = { accountId: row.accountId, workspaceId: row.workspaceId, mode: row.mode }
  const record = await store.email(scope, row.id)
  if (record === null) return []
  return waysOf(record, await collect((page) => store.events(row.id, page)))
}

const lineOf = (paint: Paint, row: EmailRow, way: Way): string => {
  const steps = way.steps.map((status) => paintStatus(paint, status)).join(' → ')
  const took = way.at > row.createdAt ? `  ${paint.dim(spanText(way.at - row.createdAt))}` : ''
  return `${row.id} ${clean(way.address)}  ${steps}${took}`
}

/** Remembers what was told, and tells only what is new. */
const teller = (store: Reads, terminal: Terminal) => {
  const told = new Map<string, { updatedAt: number; steps: Map<string, number> }>()
  const tell = async (row: EmailRow, before: ReadonlyMap<string, number>): Promise<Map<string, number>> => {
    if (terminal.json) {
      terminal.write(JSON.stringify(emailSummary(row)))
      return new Map()
    }
    const ways = await waysNow(store, row)
    for (const way of ways) {
      if (way.steps.length > (before.get(way.address) ?? 0)) terminal.write(lineOf(terminal.paint, row, way))
    }
    return new Map(ways.map((way) => [way.address, way.steps.length]))
  }
  return async (rows: readonly EmailRow[], silent: boolean): Promise<void> => {
    for (const row of [...rows].reverse()) {
      const before = told.get(row.id)
      if (before?.updatedAt === row.updatedAt) continue
      const steps = silent ? new Map<string, number>() : await tell(row, before?.steps ?? new Map())
      told.set(row.id, { updatedAt: row.updatedAt, steps })
    }
    const watched = new Set(rows.map((row) => row.id))
    for (const id of told.keys()) if (!watched.has(id)) told.delete(id)
  }
}

/** Runs until the process is interrupted. */
export const tail = async (store: Reads, filter: EmailFilter, terminal: Terminal): Promise<void> => {
  let going = true
  const end = (): void => {
    going = false
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  const look = () => collect((page) => store.emails(filter, page), WATCHED)
  const tell = teller(store, terminal)
  await tell(await look(), true)
  terminal.say('following; ^C ends')
  while (going) {
    await sleep(EVERY_MS)
    await tell(await look(), false)
  }
}
