/**
 * NAME      warmup - what upstreams that warm up were given, day by day
 */
import { limitOf, placeOf, type WarmupDay } from '../../../src/lifecycle/warmup.js'
import type { UpstreamRow } from '../../../src/store/port/tenants.js'
import type { Warmups } from '../../../src/store/port/watch.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'

const keyOf = (id: string, day: number): string => `${id} ${day}`
const inOrder = (a: WarmupDay, b: WarmupDay): number => (a.id === b.id ? a.day - b.day : a.id < b.id ? -1 : 1)

export const createWarmups = ({ warmupDays }: State): Plain<Warmups> => ({
  warmupDays: () => warmupDays.where(() => true).sort(inOrder),
  takeWarmup({ id, day, count, now, ...plan }) {
    const limit = limitOf(
      plan,
      placeOf(
        warmupDays.where((one) => one.id === id),
        day,
      ),
    )
    if (limit === null) return { granted: count, left: null }
    const key = keyOf(id, day)
    if (warmupDays.get(key) === null) warmupDays.add(key, { id, day, used: 0, beganAt: now })
    const { used, beganAt } = warmupDays.get(key) as WarmupDay
    const granted = Math.max(0, Math.min(count, limit - used))
    if (granted > 0) warmupDays.change(key, { used: used + granted, beganAt: used === 0 ? now : beganAt })
    return { granted, left: Math.max(0, limit - used - granted) }
  },
  returnWarmup(id, day, count) {
    const row = warmupDays.get(keyOf(id, day))
    if (row !== null) warmupDays.change(keyOf(id, day), { used: Math.max(0, row.used - count) })
  },
})

export const forgetWarmups = (
  { warmupDays }: State,
  before: readonly UpstreamRow[],
  after: readonly UpstreamRow[],
): void => {
  for (const { warmup } of before)
    if (warmup != null && !after.some((one) => one.warmup?.id === warmup.id))
      warmupDays.drop(({ id }) => id === warmup.id)
}
