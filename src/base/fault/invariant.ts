/**
 * NAME      invariant - what can not be otherwise
 * DESCRIPTION
 *   Says in code what must always hold. Where it does not, the program is wrong: a bug, not a Fault,
 *   so nothing of the work in hand is kept and the text stays in our log.
 */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant: ${message}`)
}
