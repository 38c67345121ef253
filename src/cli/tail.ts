/**
 * NAME      tail - following mails from outside the daemon
 * DESCRIPTION
 *   Looks at the newest mails twice a second and tells what changed since the
 *   last look: one line for each mail that has moved, with the way it went so far.
 *   With --json, one record a line. Mails older than the newest 200 are not watched.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { emailSummary } from '../http/render.js'
import type { EmailFilter, EmailRow, Store } from '../store/port.js'
import { collect } from './rows.js'
import { clean, type Paint, paintStatus, type Terminal } from './terminal.js'
import { spanText } from './time.js'

const WATCHED = 200
const EVERY_MS = 500

interface Seen {
  readonly updatedAt: number
  readonly path: readonly string[]
}

const lineOf = (paint: Paint, row: EmailRow, path: readonly string[]): string => {
  const all = [...row.to, ...row.cc, ...row.bcc]
  const to = all.length > 1 ? `${all[0]} +${all.length - 1}` : (all[0] ?? '')
  const way = path.map((status) => paintStatus(paint, status)).join(' → ')
  const took = row.updatedAt > row.createdAt ? `  ${paint.dim(spanText(row.updatedAt - row.createdAt))}` : ''
  return `${row.id}  ${clean(to)}  ${way}${took}`
}

/** Runs until the process is interrupted. */
export const tail = async (store: Store, filter: EmailFilter, terminal: Terminal): Promise<void> => {
  const seen = new Map<string, Seen>()
  const look = async (tell: boolean): Promise<void> => {
    const rows = await collect((page) => store.emails(filter, page), WATCHED)
    for (const row of [...rows].reverse()) {
      const before = seen.get(row.id)
      if (before?.updatedAt === row.updatedAt && before.path.at(-1) === row.status) continue
      const path = before?.path.at(-1) === row.status ? before.path : [...(before?.path ?? []), row.status]
      seen.set(row.id, { updatedAt: row.updatedAt, path })
      if (!tell) continue
      terminal.write(terminal.json ? JSON.stringify(emailSummary(row)) : lineOf(terminal.paint, row, path))
    }
    const watched = new Set(rows.map((row) => row.id))
    for (const id of seen.keys()) if (!watched.has(id)) seen.delete(id)
  }
  let going = true
  const end = (): void => {
    going = false
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  terminal.say('following; ^C ends')
  await look(false)
  while (going) {
    await sleep(EVERY_MS)
    await look(true)
  }
}
