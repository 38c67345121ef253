/**
 * NAME      last-words - why mails of a list failed, so far
 */
import type { EmailRow, LastWords, Ledger } from '../store/port/mail.js'

/** By mail; only those that bounced or are deferred. */
export const lastWordsOf = async (
  { lastWords }: Pick<Ledger, 'lastWords'>,
  rows: readonly EmailRow[],
): Promise<ReadonlyMap<string, LastWords>> => {
  const failed = rows.filter(({ status }) => status === 'bounced' || status === 'deferred')
  if (failed.length === 0) return new Map()
  return new Map((await lastWords(failed.map(({ id }) => id))).map((words) => [words.emailId, words]))
}
