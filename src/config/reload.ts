/**
 * NAME      reload - what a new configuration changes, and when
 * DESCRIPTION
 *   SIGHUP puts a few settings into effect at once; the others wait for a
 *   restart, and are named in the log so that nobody believes they are in force.
 */
import { createHash } from 'node:crypto'
import type { Config } from './config.js'

/** Settings, or groups of them, that take effect without a restart. */
const LIVE = ['tls', 'log.level', 'retention', 'limits.min_free_disk', 'bounce.rules_file']

const flat = (value: unknown, key = ''): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, part]) => flat(part, key === '' ? name : `${key}.${name}`))
    : [[key, JSON.stringify(value ?? null)]]

interface Changes {
  readonly live: readonly string[]
  readonly restart: readonly string[]
}

const isLive = (key: string): boolean => LIVE.some((name) => key === name || key.startsWith(`${name}.`))

/** Settings by a mark of their value, so that two can be compared and none is shown. */
export type Marks = Readonly<Record<string, string>>

export const marksOf = (config: Config): Marks =>
  Object.fromEntries(
    flat(config).map(([key, value]) => [
      key,
      createHash('sha256').update(`${key}=${value}`).digest('hex').slice(0, 16),
    ]),
  )

/** What a reload puts in force: live settings as they are now, all others as they were at the start. */
export const marksAfter = (before: Marks, after: Marks): Marks => ({
  ...before,
  ...Object.fromEntries(Object.entries(after).filter(([key]) => isLive(key))),
})

/** The keys that differ, by whether a reload is enough for them. What `before` does not tell is passed over. */
export const changesIn = (before: Marks, after: Marks): Changes => {
  const changed = Object.keys(after).filter((key) => key in before && before[key] !== after[key])
  return { live: changed.filter(isLive), restart: changed.filter((key) => !isLive(key)) }
}
