/**
 * NAME      remembered - reads whose answers are kept until such a row changes
 * DESCRIPTION
 *   What every mail and every request asks for; memory.ts tells how long an answer is good.
 */
import type { Remember } from './memory.js'

type Read = (...args: readonly string[]) => unknown

/** The same reads, those of these names remembered. */
export const remembering = <R extends object>(
  reads: R,
  names: readonly (keyof R & string)[],
  remember: Remember,
): R => {
  const kept = names.map((name): [string, Read] => {
    const read = reads[name] as Read
    return [name, (...args) => remember(`${name} ${args.join(' ')}`, () => read(...args))]
  })
  return { ...reads, ...Object.fromEntries(kept) }
}
