/**
 * NAME      remembered - reads whose answers are kept until such a row changes
 * DESCRIPTION
 *   What every mail and every request asks for; memory.ts tells how long an answer is good.
 */
import type { Remember } from './memory.js'

type Read = (a?: string, b?: string) => unknown

const kept = (name: string, read: Read, remember: Remember): Read => {
  const start = `${name} `
  const answer = (a?: string, b?: string): unknown =>
    a === undefined ? read() : b === undefined ? read(a) : read(a, b)
  return (a, b) => remember(b === undefined ? start + a : `${start + a} ${b}`, () => answer(a, b))
}

/** The same reads, those of these names remembered; these take two texts at most. */
export const remembering = <R extends object>(
  reads: R,
  names: readonly (keyof R & string)[],
  remember: Remember,
): R => {
  const remembered = names.map((name) => [name, kept(name, reads[name] as Read, remember)])
  return { ...reads, ...Object.fromEntries(remembered) }
}
