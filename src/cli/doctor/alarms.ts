/**
 * NAME      alarms - workspaces of whose mail too much goes wrong
 */

import type { CliContext } from '../context.js'
import { collect } from '../rows.js'
import { alarmSearch, heldByAlarm, releaseCommand, standingAlarms } from '../workspace-alarms.js'
import { type Finding, warn } from './finding.js'

export const checkAlarms = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const holds = await store.holds(account.id)
  const rows = await collect((page) => store.workspaces(account.id, page))
  return rows.flatMap((row) => {
    const isHeld = heldByAlarm(row, holds)
    const said = standingAlarms(row)
    if (said.length === 0 && !isHeld) return []
    const detail = [...said, ...(isHeld ? ['its mail is held'] : [])].join('; ')
    const remedy = isHeld
      ? releaseCommand(row)
      : `postern email list --workspace ${row.slug} --q ${alarmSearch(row)}`
    return warn('alarm', `${row.slug}: ${detail}`, remedy)
  })
}
