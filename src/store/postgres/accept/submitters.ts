/**
 * NAME      submitters - numbers of keys and credentials that submit mail
 * DESCRIPTION
 *   The first mail of one gives it a number, a place that no row has, and it keeps that: the number can be remembered. It
 *   is stored by itself, before the mail: one without mail does no harm.
 */
import type { Acceptance } from '../../../lifecycle/facts.js'
import { type Asking, first, run } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import { persistently } from '../run.js'
import type { Writer } from '../write/writer.js'

function* known(id: string): Asking<number | null> {
  return ((yield* first('SELECT n FROM submitters WHERE id = ?', id))?.n ?? null) as number | null
}

/** The number of one, which gets it here if need be. */
const submitterNumber = (places: Places) =>
  function* (id: string): Asking<number> {
    const found = yield* known(id)
    if (found !== null) return found
    yield* run('INSERT INTO submitters (n, id) VALUES (?, ?) ON CONFLICT DO NOTHING', places.next(), id)
    return Number(yield* known(id))
  }

/** For a writer whose turn it is. */
export const createSubmitters = ({ places, look }: Pick<Writer, 'places' | 'look'>) => {
  const numbers = new Map<string, number>()
  const numberOf = submitterNumber(places)
  return {
    async note(batch: readonly Acceptance[], until: number): Promise<void> {
      for (const { mails } of batch)
        for (const { submittedBy: id } of mails)
          if (id != null && !numbers.has(id))
            numbers.set(id, await persistently(() => look(numberOf(id)), until))
    },
    forget: (): void => numbers.clear(),
    /** Of one that was noted. */
    of: (id: string | null | undefined): number | null => (id == null ? null : (numbers.get(id) ?? null)),
  }
}
