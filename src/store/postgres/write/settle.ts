/**
 * NAME      settle - outcomes become statuses and events
 * DESCRIPTION
 *   Outcomes that came while the writer was busy go together: one look at all that they are about and that is not known
 *   from their claim (settle/leased.ts), lifecycle/ decides, and one fenced statement applies it, or nothing of it
 *   (settle/apply.ts). Nobody waits for a lock while it is decided.
 *   Verbs that settle within a transaction of their own lock what they decide about.
 */
import { systemClock } from '../../../base/clock.js'
import { Fault } from '../../../base/fault.js'
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import type { SoftBounced } from '../../sql/bounces.js'
import { type Asking, all, type Query, type Row } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import type { Effects } from '../hints.js'
import { persistently } from '../run.js'
import { applyQuery, isOutOfDate } from '../settle/apply.js'
import { type Bounce, type Decided, decide, keysOf } from '../settle/decide.js'
import type { Leased } from '../settle/leased.js'
import { type LoadedRecipient, load, lock } from '../settle/load.js'
import { type KnownNumbers, numbersFor } from '../settle/numbers.js'
import { gather } from './gather.js'
import type { Writer } from './writer.js'

const idsOf = (outcomes: readonly Outcome[]): readonly string[] => [
  ...new Set(outcomes.map(({ recipientId }) => recipientId)),
]

const NOTHING_KNOWN: ReadonlyMap<string, LoadedRecipient> = new Map()

function* decideOn(outcomes: readonly Outcome[], now: number, leased = NOTHING_KNOWN): Asking<Decided> {
  const unknown = idsOf(outcomes).filter((id) => !leased.has(id))
  if (unknown.length === 0) return decide({ recipients: leased, known: new Set() }, outcomes, now)
  const { recipients, known } = yield* load(unknown, keysOf(outcomes))
  return decide({ recipients: new Map([...leased, ...recipients]), known }, outcomes, now)
}

/** Something waits that did not, or at another time. */
const makesDue = ({ recipients }: Decided): boolean =>
  recipients.some(({ loaded, after }) => after.dueAt !== null && after.dueAt !== loaded.state.dueAt)

const note = (effects: Effects, decided: Decided): void => {
  if (makesDue(decided)) effects.due = true
  for (const answer of decided.answers) if (answer?.applied === true) effects.settled.push(answer)
}

interface SettleParts {
  readonly places: Places
  readonly effects: Effects
  softBounce(outcome: Outcome, bounced: SoftBounced, now: number): Asking<void>
}

/** In the transaction of another verb. */
export const settling = ({ places, effects, softBounce }: SettleParts) => {
  function* bounced({ outcome, of }: Bounce): Asking<void> {
    const { id: emailId, workspace } = of.mail
    yield* softBounce(outcome, { emailId, workspace, address: of.address }, outcome.at)
  }

  /** A position is null where nobody knows the recipient. */
  function* settleAll(outcomes: readonly Outcome[]): Asking<readonly (Settled | null)[]> {
    yield* lock(idsOf(outcomes))
    const decided = yield* decideOn(outcomes, systemClock.now())
    if (decided.events.length > 0) {
      const numbers = yield* numbersFor(decided.events.map(({ draft }) => draft.more))
      const { text, values } = applyQuery(decided, numbers, places)
      yield* all(`WITH fence AS (SELECT 1 AS n),${text}`, ...values)
      for (const bounce of decided.bounces) yield* bounced(bounce)
    }
    note(effects, decided)
    return decided.answers
  }

  function* settleOne(outcome: Outcome): Asking<Settled | null> {
    const [answer = null] = yield* settleAll([outcome])
    return answer
  }

  return { settleAll, settleOne }
}

interface Call {
  readonly outcomes: readonly Outcome[]
}

/** Null: it is to be settled in a transaction of its own. */
type Answer = readonly (Settled | null)[] | null

const MOST = 500
const MOST_TRIES = 5

/** What it answers of a mail last is what others have made of it, too. */
const asStored = (decided: Decided, rows: readonly Row[]): readonly (Settled | null)[] => {
  const stored = new Map(rows.map(({ ord, status }) => [ord, status as Settled['emailStatus']]))
  const other = new Map<string, Settled['emailStatus']>()
  for (const { loaded, status } of decided.mails) {
    const now = stored.get(loaded.ord)
    if (now !== undefined && now !== status) other.set(loaded.id, now)
  }
  if (other.size === 0) return decided.answers
  return decided.answers.map(
    (one) => one && { ...one, emailStatus: other.get(one.emailId) ?? one.emailStatus },
  )
}

/** Splits what belongs to the calls. */
const dealt = <T>(calls: readonly Call[], answers: readonly T[]): ReadonlyMap<Call, readonly T[]> => {
  const left = [...answers]
  return new Map(calls.map((call) => [call, left.splice(0, call.outcomes.length)]))
}

/** Decides and applies, and again when something moved between. */
const createSettleOnce = ({ look, statement, places, hints, onPutBack }: Writer, leased: Leased) => {
  const kept: KnownNumbers = new Map()
  onPutBack(() => kept.clear())
  const once = async (decided: Decided): Promise<readonly (Settled | null)[]> => {
    if (decided.events.length === 0) return decided.answers
    const mores = decided.events.map(({ draft }) => draft.more)
    const numbers = await persistently(() => look(numbersFor(mores, kept)))
    const rows = await statement('settle', (): Query => applyQuery(decided, numbers, places))
    return rows === null ? decided.answers : asStored(decided, rows)
  }
  return async (calls: readonly Call[]): Promise<ReadonlyMap<Call, Answer>> => {
    const apart = new Map<Call, Answer>()
    let rest = calls
    for (let tries = 1; ; ) {
      const outcomes = rest.flatMap((call) => call.outcomes)
      const known = leased.take(outcomes)
      const decided = await persistently(() => look(decideOn(outcomes, systemClock.now(), known)))
      const bounced = new Set(decided.bounces.map(({ outcome }) => outcome))
      for (const call of rest) if (call.outcomes.some((one) => bounced.has(one))) apart.set(call, null)
      if (bounced.size > 0) {
        rest = rest.filter((call) => !apart.has(call))
        continue
      }
      try {
        const answers = await once(decided)
        const effects: Effects = { due: false, settled: [] }
        note(effects, { ...decided, answers })
        hints.settled(effects.settled)
        // for later: others learn of it when they next look
        if (effects.due) hints.due()
        return new Map([...apart, ...dealt(rest, answers)])
      } catch (error) {
        if (!isOutOfDate(error)) throw error
        if (tries++ >= MOST_TRIES) throw new Fault('service.unavailable')
      }
    }
  }
}

/** As the port has it. */
export const createSettle = (writer: Writer, parts: SettleParts, leased: Leased) => {
  const settleOnce = createSettleOnce(writer, leased)
  const { settleAll } = settling(parts)
  const gathered = gather<Call, Answer>({
    inTurn: writer.inTurn,
    weigh: ({ outcomes }) => outcomes.length,
    most: MOST,
    async run(calls) {
      const answers = await settleOnce(calls)
      return calls.map((call) => answers.get(call) ?? null)
    },
  })
  return async (outcomes: readonly Outcome[], quiet = false): Promise<readonly Settled[]> => {
    if (outcomes.length === 0) return []
    const answers = (await gathered({ outcomes })) ?? (await writer.write(() => settleAll(outcomes)))
    // what is applied is told as settled; of the rest nothing is under way here any more either
    const applied = new Set(answers.map((one) => (one?.applied === true ? one.recipientId : null)))
    writer.hints.left(idsOf(outcomes).filter((id) => !applied.has(id)))
    return quiet ? [] : answers.filter((one) => one !== null)
  }
}
