/**
 * NAME      accept - making mails durable
 * DESCRIPTION
 *   Acceptances that came while the writer was busy go together, in one statement (query.ts). The DSN of a mail is
 *   accepted in a transaction of its own, in which it stops being owed. Who is held is due for a moment, and put to rest
 *   before it is answered; a claim in between would do the same.
 */
import { Fault } from '../../../base/fault.js'
import type { Acceptance, AcceptResult } from '../../../lifecycle/facts.js'
import type { Day } from '../../sql/pages.js'
import { type Asking, all, type Row } from '../../sql/query.js'
import type { Unheard } from '../claim/unheard.js'
import { failureOf } from '../connect/failure.js'
import { patience, persistently } from '../run.js'
import type { AddEvent } from '../write/events.js'
import { gather } from '../write/gather.js'
import type { Writer } from '../write/writer.js'
import { createDays } from './days.js'
import { dsnIsSent } from './dsn.js'
import { createHot, type Offer, takenNow, takenOf } from './hot.js'
import { acceptQuery, type Mail } from './query.js'
import { createSubmitters } from './submitters.js'

/** Octets of a batch; a larger mail travels alone. */
const MOST = 4 * 1024 * 1024
/** At most 256 mails go together. */
const LEAST = MOST / 256

/** Its mails are there when it was stored, whoever's answer was lost. */
const STORED =
  'SELECT id FROM emails JOIN json_array_elements_text(CAST(? AS JSON)) AS wanted (id) USING (id)'

interface AcceptParts {
  readonly addEvent: AddEvent
  /** Puts to rest what somebody holds. */
  readonly hold: (recipientIds: readonly string[], now: number) => Asking<void>
  readonly unheard: Unheard
}

interface Answer {
  readonly result: AcceptResult
  /** Recipients that somebody holds. */
  readonly held: readonly string[]
}

const answersOf = (batch: readonly Acceptance[], rows: readonly Row[]): readonly Answer[] => {
  const stored = new Map(rows.map(({ i, id, held }) => [i ?? id, (held ?? []) as readonly string[]]))
  return batch.map(({ mails: [first] }, i) => {
    const held = stored.get(i) ?? stored.get(first?.id)
    return { result: held === undefined ? 'lock_lost' : 'accepted', held: held ?? [] }
  })
}

const weigh = ({ mails }: Acceptance): number =>
  mails.reduce((sum, { raw }) => sum + Math.max(raw.byteLength, LEAST), 0)

const NOTHING: Offer = { boot: null, now: 0, ids: new Set() }

/** The statement of a batch, and what is remembered once it is stored. */
const createBatch = ({ places, look, onPutBack }: Writer) => {
  const known = createDays()
  const submitters = createSubmitters({ places, look })
  onPutBack(known.forget)
  onPutBack(submitters.forget)
  return {
    note: submitters.note,
    of(batch: readonly Acceptance[], offer: Offer = NOTHING) {
      let days: readonly Day[] = []
      const noting = (mails: readonly Mail[]): readonly Day[] => {
        days = known.beyond(mails)
        return days
      }
      return {
        query: () => acceptQuery(batch, places, noting, submitters.of, offer),
        keep: () => known.keep(days),
      }
    },
  }
}

export const createAccept = (writer: Writer, { addEvent, hold, unheard }: AcceptParts) => {
  const { hints, statement, look, inTurn, mail } = writer
  const batches = createBatch(writer)
  const isSent = dsnIsSent(addEvent)
  const hot = createHot(hints, unheard)

  const run = async (batch: readonly Acceptance[], until: number): Promise<readonly Answer[]> => {
    await batches.note(batch, until)
    const offer = hot.offer(batch)
    try {
      const { query, keep } = batches.of(batch, offer)
      const rows = await statement('accept', query, until, batch.length)
      keep()
      const ids = batch.map(({ mails: [first] }) => first?.id)
      const found = rows ?? (await persistently(() => look(all(STORED, JSON.stringify(ids)))))
      const taken = rows === null ? await persistently(() => look(takenNow(offer))) : takenOf(rows)
      hot.stored(batch, offer, taken)
      return answersOf(batch, found)
    } catch (error) {
      hot.failed(offer, !(error instanceof Fault) && failureOf(error) === 'verb')
      throw error
    }
  }
  const gathered = gather({ run, inTurn, weigh, most: MOST })

  const acceptDsn = async (acceptance: Acceptance, sent: NonNullable<Acceptance['dsn']>): Promise<Answer> => {
    await inTurn(() => batches.note([acceptance], patience()))
    const { query, keep } = batches.of([acceptance])
    function* verb(): Asking<Answer> {
      const lost: Answer = { result: 'lock_lost', held: [] }
      if (!(yield* isSent(sent, acceptance.mails[0]?.id ?? '', acceptance.now))) return lost
      const { text, values } = query()
      const rows = yield* all(`WITH fence AS (SELECT 1 AS n),${text}`, ...values)
      writer.effects.due = true
      return answersOf([acceptance], rows)[0] ?? lost
    }
    const answer = await mail(verb)
    keep()
    return answer
  }

  return async (acceptance: Acceptance): Promise<AcceptResult> => {
    const { dsn, now } = acceptance
    const { result, held } = dsn == null ? await gathered(acceptance) : await acceptDsn(acceptance, dsn)
    if (held.length > 0) await mail(() => hold(held, now))
    return result
  }
}
