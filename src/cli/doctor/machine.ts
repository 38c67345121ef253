/**
 * NAME      machine - its clock and its limits
 */
import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { spanText } from '../time.js'
import { type Check, fail, ok, warn } from './finding.js'

const run = (file: string, ...words: readonly string[]): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(file, words, { timeout: 3_000 }, (error, stdout) =>
      resolve(error === null ? stdout.trim() : null),
    )
  })

const NTP = 'timedatectl set-ntp true'

/** No clock can be checked alone: this program was installed in its past, and somebody should keep it right. */
export const checkClock: Check = async ({ now }) => {
  const installed = statSync(new URL(import.meta.url)).mtimeMs
  const behind = installed - now
  if (behind > 60_000) {
    return [fail('clock', `stands ${spanText(behind)} before this program was installed`, NTP, 75)]
  }
  if ((await run('timedatectl', 'show', '--property=NTPSynchronized', '--value')) === 'no') {
    return [warn('clock', 'is kept right by nobody', NTP)]
  }
  return [ok('clock', new Date(now).toISOString())]
}

const ENOUGH_FILES = 4_096

export const checkLimits: Check = async () => {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return [] // not Linux
  }
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(limits) ?? []
  if (soft === 'unlimited' || Number(soft) >= ENOUGH_FILES) return [ok('open files', `up to ${soft}`)]
  return [
    warn('open files', `only ${soft} are allowed`, `ulimit -n ${ENOUGH_FILES}, or LimitNOFILE in the unit`),
  ]
}
