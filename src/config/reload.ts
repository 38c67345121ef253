/**
 * NAME      reload - what a new configuration changes, and when
 * DESCRIPTION
 *   SIGHUP puts a few settings into effect at once; the others wait for a
 *   restart, and are named in the log so that nobody believes they are in force.
 */
import type { Config } from './config.js'

/** Settings, or groups of them, that take effect without a restart. */
const LIVE = ['tls', 'log.level', 'retention', 'limits.min_free_disk', 'bounce.rules_file']

const flat = (value: unknown, key = ''): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, part]) => flat(part, key === '' ? name : `${key}.${name}`))
    : [[key, JSON.stringify(value ?? null)]]

export interface Changes {
  readonly live: readonly string[]
  readonly restart: readonly string[]
}

/** The keys that differ, by whether a reload is enough for them. */
export const changesOf = (before: Config, after: Config): Changes => {
  const old = new Map(flat(before))
  const changed = flat(after).flatMap(([key, value]) => (old.get(key) === value ? [] : [key]))
  const isLive = (key: string): boolean => LIVE.some((name) => key === name || key.startsWith(`${name}.`))
  return { live: changed.filter(isLive), restart: changed.filter((key) => !isLive(key)) }
}
