/**
 * NAME      body-thread - where large bodies are read
 *   The entry of the thread: one job after the other, each answered with what
 *   came of it, a refusal as plain data, or the words of a failure.
 */
import { parentPort } from 'node:worker_threads'
import { Fault, toPlainFault } from '../../base/fault.js'
import { enterThread } from '../../base/thread.js'
import { type BodyJob, type ContentJob, ownedBy, perform } from './job.js'
import type { ReaderAnswer } from './reader.js'

const port = parentPort
if (port === null) throw new Error('body-thread runs as a thread')
enterThread('postern-bodies')

const answer = async (job: BodyJob | ContentJob): Promise<void> => {
  try {
    const { done, owned } = ownedBy(await perform(job))
    port.postMessage({ done } satisfies ReaderAnswer, owned)
  } catch (error) {
    const said: ReaderAnswer =
      error instanceof Fault ? { refused: toPlainFault(error) } : { failed: (error as Error).stack ?? '' }
    port.postMessage(said)
  }
}

port.on('message', (job: BodyJob | ContentJob) => void answer(job))
