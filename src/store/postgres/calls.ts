/**
 * NAME      calls - verbs of a writer, called by somebody
 * DESCRIPTION
 *   A call is one transaction: the verb, and the entry of who called it. Calls of one order share their entry.
 */
import { systemClock } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import type { Acting } from '../rules/audit/entry.js'
import { LOOKED } from '../sql/audit/look.js'
import { audited } from '../sql/audit/write.js'
import type { AnsweredLater, Asking } from '../sql/query.js'
import { type AnyVerb, type WriteVerbs, writesOf } from './verbs.js'
import type { Writer } from './write/writer.js'

export interface Calls {
  /** As one transaction. */
  call<N extends keyof WriteVerbs>(
    name: N,
    ...args: Parameters<WriteVerbs[N]>
  ): ReturnType<AnsweredLater<WriteVerbs>[N]>
  /** The same caller, for several calls that are one order. */
  asOrder(): Calls
  by(acting: Acting | null): Calls
}

export const createCalls = (writer: Writer, told: (error: unknown) => never): Calls => {
  const verbs = writesOf(writer) as unknown as Readonly<Record<string, AnyVerb>>
  const audit = audited(LOOKED, { places: writer.places, now: systemClock.now })

  function* acted(name: string, args: readonly unknown[], acting: Acting): Asking<unknown> {
    const tell = yield* audit(name, args, acting)
    const result = yield* (verbs[name] as AnyVerb)(...args)
    yield* tell(result)
    return result
  }

  const callsOf = (acting: Acting | null): Calls => ({
    call: ((name: string, ...args: readonly unknown[]) =>
      writer
        .write(() => (acting === null ? (verbs[name] as AnyVerb)(...args) : acted(name, args, acting)))
        .catch(told)) as unknown as Calls['call'],
    asOrder: () =>
      acting === null || acting.entry !== null
        ? callsOf(acting)
        : callsOf({ ...acting, entry: newId('aud') }),
    by: callsOf,
  })
  return callsOf(null)
}
