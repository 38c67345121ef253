/**
 * NAME      fault-point - dying on purpose
 * DESCRIPTION
 *   Crash tests ask the writer to kill its process the n-th time that it passes
 *   a named point. Without such a request a point costs one comparison.
 */
import type { FaultPoint } from '../protocol.js'

export const createFaultPoint = (at: FaultPoint | null): ((name: string) => void) => {
  let hits = 0
  return (name) => {
    if (at === null || at.name !== name || ++hits !== at.hit) return
    process.kill(process.pid, 'SIGKILL')
  }
}
