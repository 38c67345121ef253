/**
 * NAME      copy - very many rows into one table
 * DESCRIPTION
 *   COPY FROM STDIN as the driver can speak it (PostgreSQL 53.2.6): the server asks, chunks follow as fast as the
 *   socket takes them, and nothing is stored unless all of them came.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type pg from 'pg'

/** What the driver has for it, and its types do not name. */
interface Wire {
  readonly stream: Socket
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

class CopyIn implements pg.Submittable {
  readonly asked: Promise<Wire>
  readonly done: Promise<void>
  isOver = false
  #ask: (wire: Wire) => void = () => {}
  #end: () => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor(private readonly text: string) {
    this.done = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    this.asked = new Promise((resolve, reject) => {
      this.#ask = resolve
      this.done.catch(reject)
    })
    this.asked.catch(() => {})
  }

  submit(connection: unknown): void {
    ;(connection as Wire).query(this.text)
  }
  handleCopyInResponse(connection: unknown): void {
    this.#ask(connection as Wire)
  }
  handleCommandComplete(): void {}
  handleError(error: Error): void {
    this.isOver = true
    this.#fail(error)
  }
  handleReadyForQuery(): void {
    this.isOver = true
    this.#end()
  }
}

const send = async (
  copy: CopyIn,
  wire: Wire,
  chunks: AsyncIterable<Uint8Array>,
  moved: () => void,
): Promise<void> => {
  for await (const chunk of chunks) {
    if (copy.isOver) return
    wire.sendCopyFromChunk(chunk)
    if (wire.stream.writableNeedDrain)
      await Promise.race([once(wire.stream, 'drain'), copy.done.catch(() => {})])
    moved()
  }
}

/** `moved` hears of each chunk that has gone. */
export const copyIn = async (
  client: pg.Client,
  text: string,
  chunks: AsyncIterable<Uint8Array>,
  moved: () => void,
): Promise<void> => {
  const copy = client.query(new CopyIn(text))
  const wire = await copy.asked
  try {
    await send(copy, wire, chunks, moved)
  } catch (error) {
    if (!copy.isOver) wire.sendCopyFail('the rows could not be read')
    await copy.done.catch(() => {})
    throw error
  }
  if (!copy.isOver) wire.endCopyFrom()
  await copy.done
}
