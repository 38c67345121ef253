/**
 * NAME      state - alarms, endpoints that take nothing, and a daemon that does not go by what is on the disk
 * DESCRIPTION
 *   A renewed certificate that the daemon was not told of expires there, and a changed setting that waits for a restart comes as
 *   a surprise months later. Both look well in the files alone.
 */

import { changesIn, type Marks, marksOf } from '../../config/config.js'
import { ConfigError } from '../../config/problem.js'
import { readCertificate } from '../../keys/certificate.js'
import type { KnownEndpoint } from '../../store/port/hooks.js'
import type { CliContext } from '../context.js'
import { collect } from '../list.js'
import { settledElsewhere } from '../listening.js'
import { ago } from '../time.js'
import { alarmSearch, heldByAlarm, releaseCommand, standingAlarms } from '../workspace-alarms.js'
import { type Check, type Facts, type Finding, fail, ok, warn } from './finding.js'
import { askManagement } from './host.js'

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

const findingOf = ({ id, url, status, disabledReason, state }: KnownEndpoint): readonly Finding[] => {
  // what somebody has disabled is as they want it
  if (status === 'disabled' && disabledReason !== 'requested') {
    const why = disabledReason === 'gone' ? 'it answered 410' : 'it took nothing for five days'
    return [warn('webhook', `${url} is disabled: ${why}`, `postern webhook update ${id} --enable`)]
  }
  if (status === 'disabled' || state.health !== 'failing') return []
  const since = state.failingSince === null ? '' : `; it began ${ago(state.failingSince)}`
  return [warn('webhook', `${url} takes nothing${since}`, `postern webhook events ${id} --failed`)]
}

export const checkWebhooks = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const all = { accountId: account.id, workspaceId: null, mode: null }
  const rows = await collect((page) => store.endpoints(all, page))
  return rows.flatMap(findingOf)
}

interface Status {
  readonly certificate: { readonly fingerprint: string; readonly expires_at: number }
  /** null: the daemon of `postern dev`. */
  readonly settings: Marks | null
}

const SOON = 21 * 86_400_000
const RELOAD = 'systemctl reload postern'

const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

const checkServed = async (
  { certificate: served }: Status,
  { config, now }: Facts,
): Promise<readonly Finding[]> => {
  try {
    const { fingerprint, expiresAt } = await readCertificate(config)
    if (fingerprint === served.fingerprint) return []
    const detail = `the daemon still serves the one until ${day(served.expires_at)}, on disk is one until ${day(expiresAt)}`
    const isUrgent = served.expires_at - now < SOON
    return [
      isUrgent ? fail('served certificate', detail, RELOAD, 78) : warn('served certificate', detail, RELOAD),
    ]
  } catch (error) {
    // what is wrong with the file is told by the check of the certificate
    if (error instanceof ConfigError) return []
    throw error
  }
}

const checkSettings = ({ settings }: Status, { written }: Facts): readonly Finding[] => {
  if (settings === null) return []
  const elsewhere = settledElsewhere(written)
  const { live, restart } = changesIn(settings, marksOf(written))
  const told = (keys: readonly string[], remedy: string): readonly Finding[] => {
    const changed = keys.filter((key) => !elsewhere.has(key)).sort()
    if (changed.length === 0) return []
    return [warn('running configuration', `not in force yet: ${changed.join(', ')}`, remedy)]
  }
  return [...told(live, RELOAD), ...told(restart, 'systemctl restart postern')]
}

export const checkRunning: Check = async (facts) => {
  if (!facts.running || facts.config.management.port === 0) return []
  let status: Status
  try {
    status = JSON.parse((await askManagement(facts.config.management, '/status')).text) as Status
  } catch {
    // that it does not answer is told by the check of the daemon
    return []
  }
  // a daemon that was there before this version was installed
  if (status.certificate === undefined)
    return [warn('running configuration', 'the daemon is of another version', 'systemctl restart postern')]
  const found = [...(await checkServed(status, facts)), ...checkSettings(status, facts)]
  return found.length > 0
    ? found
    : [ok('running configuration', 'certificate and settings are those on disk')]
}
