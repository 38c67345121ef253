/**
 * NAME      running - does the daemon go by what is on the disk?
 * DESCRIPTION
 *   A renewed certificate that nobody told the daemon of runs out in its hands,
 *   and a changed setting that waits for a restart comes as a surprise months
 *   later. Both look well to whoever reads the files alone.
 */

import { ConfigError } from '../../config/problem.js'
import { changesIn, type Marks, marksOf } from '../../config/reload.js'
import { readCertificate } from '../../keys/certificate.js'
import { settledElsewhere } from '../listening.js'
import { type Check, type Facts, type Finding, fail, ok, warn } from './finding.js'
import { askManagement } from './ports.js'

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
