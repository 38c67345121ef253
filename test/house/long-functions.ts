/**
 * Functions of more than 50 lines that are still there. The list may only shrink.
 */
export const LONG_FUNCTIONS: ReadonlySet<string> = new Set([
  'relay/relay.ts createRelay',
  'store/sqlite/body.ts createBodyStore',
  'store/sqlite/body.ts createBodyFiles',
  'store/sqlite/open.ts openSqliteStore',
  'store/sqlite/sweep.ts createRetention',
  'store/sqlite/thread/writer-thread.ts createBatch',
  'store/sqlite/thread/writer-thread.ts createClients',
  'store/sqlite/thread/writer-client.ts createWindow',
  'store/sqlite/thread/writer-client.ts createCalls',
  'store/sqlite/thread/writer-client.ts createWriterClient',
  'store/sqlite/thread/writer-thread.ts run',
  'store/sqlite/write/accept.ts createAccept',
  'store/sqlite/write/queue.ts createClaim',
  'store/sqlite/write/verbs.ts createVerbs',
])
