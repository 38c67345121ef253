/**
 * NAME      indexing - mail becomes searchable
 * DESCRIPTION
 *   Adds the mails that came since to the index of words, some hundreds at a time. It
 *   goes by the order of mails and not by the log, since it also has to find those
 *   that came before the log began, or with their history. What it reads it reads
 *   and cuts into words here; the writer only stores it.
 */
import type { Log } from '../base/log.js'
import { repeated, type Service } from '../base/service.js'
import { overIn } from '../base/time/trouble.js'
import type { EmailSearch } from '../store/port/ledger.js'
import type { EventLog } from '../store/port/log.js'

interface IndexingParts {
  readonly store: Pick<EmailSearch, 'indexMails' | 'notIndexedSince'> & Pick<EventLog, 'logEnds'>
  readonly log: Pick<Log, 'error' | 'info'>
}

/** Mails of one step: a few milliseconds of the writer. */
const STEP = 250
/** What comes within it is added together. */
const LOOK_MS = 1_000
/** Between two steps of a long way, such as over all mail of an older database: others come first. */
const PAUSE_MS = 5

export const createIndexing = ({ store, log }: IndexingParts): Service => {
  let indexedTo: string | null = null
  const turn = async (): Promise<number> => {
    const { newest } = await store.logEnds()
    if (newest === indexedTo) return LOOK_MS
    if ((await store.indexMails(STEP)) >= STEP) return PAUSE_MS
    // mail that came since has a place above; who was overtaken has indexed nothing, and looks again
    if ((await store.notIndexedSince()) === null) indexedTo = newest
    return LOOK_MS
  }
  return repeated('indexing', turn, {
    restMs: LOOK_MS,
    told: ({ message }) => log.error({ event: 'indexing_failed', error: message }, 'not indexed'),
    over: overIn(log, 'not indexed'),
  })
}
