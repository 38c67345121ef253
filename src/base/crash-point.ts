/**
 * NAME      crash-point - where a crash test wants the process to die
 * DESCRIPTION
 *   POSTERN_CRASH_AT names a point that the store or the relay passes, and after a
 *   colon the how many-th time (1 by default): `accept.before-commit:3`. A store's
 *   points are its verbs, before and after their commit; the relay's begin with
 *   `relay.`. In production the variable is not set and nothing of this exists.
 */
interface CrashPoint {
  readonly name: string
  readonly hit: number
}

export const readCrashPoint = (text: string | undefined): CrashPoint | null => {
  const [, name, hit = '1'] = /^([\w.-]+)(?::(\d+))?$/.exec(text ?? '') ?? []
  return name === undefined ? null : { name, hit: Number(hit) }
}
