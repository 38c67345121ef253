/**
 * NAME      calls - verbs of a writer, called by somebody
 * DESCRIPTION
 *   A call is one transaction: the verb, and the entry of who called it. Calls of one order share their entry.
 */
import { systemClock } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import type { Acting } from '../rules/audit.js'
import { audited, LOOKED } from '../sql/audit.js'
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

/** What relays of other daemons have read. */
const READ_BY_RELAYS: ReadonlySet<string> = new Set<keyof WriteVerbs>([
  'createAccount',
  'createWorkspace',
  'ownPool',
  'createPool',
  'updatePool',
  'deletePool',
  'rotateToken',
  'createDomain',
  'updateDomain',
  'removeDomain',
  'replaceReturnPathRing',
])

/** They wait for no verb of another daemon, and none waits for them (write/writer.ts). */
const OF_MAIL: ReadonlySet<string> = new Set<keyof WriteVerbs>(['sweepMail'])

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
    call: (async (name: string, ...args: readonly unknown[]) => {
      function* verb(): Asking<unknown> {
        const result = yield* acting === null ? (verbs[name] as AnyVerb)(...args) : acted(name, args, acting)
        writer.pass(`${name}.before-commit`)
        return result
      }
      const result = await (OF_MAIL.has(name) ? writer.mail(verb) : writer.write(verb)).catch(told)
      writer.pass(`${name}.after-commit`)
      if (READ_BY_RELAYS.has(name)) writer.hints.elsewhere({ topic: 'changed' })
      return result
    }) as unknown as Calls['call'],
    asOrder: () =>
      acting === null || acting.entry !== null
        ? callsOf(acting)
        : callsOf({ ...acting, entry: newId('aud') }),
    by: callsOf,
  })
  return callsOf(null)
}
