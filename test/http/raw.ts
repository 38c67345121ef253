/** Bytes to a port and whatever comes back until the server closes: for requests that no client library would send. */
import { connect } from 'node:net'

export interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly ms: number
  /** Everything as it came, for pipelined answers. */
  readonly all: string
}

const read = (all: string, ms: number): RawReply => {
  const end = all.indexOf('\r\n\r\n')
  const [line = '', ...lines] = all.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((one) => [
      one.slice(0, one.indexOf(':')).toLowerCase(),
      one.slice(one.indexOf(':') + 1).trim(),
    ]),
  )
  return { status: Number(line.split(' ')[1]), headers, body: all.slice(end + 4), ms, all }
}

/** A string is sent at once, each further one a little later; Connection: close is the caller's business. */
export const raw = (port: number, ...parts: readonly (string | Uint8Array)[]): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', async () => {
      for (const part of parts) {
        socket.write(part)
        await new Promise((next) => setTimeout(next, 10))
      }
    })
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(read(Buffer.concat(chunks).toString('utf8'), performance.now() - began)))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The answer may be here although the server has let go.
      if (chunks.length === 0) reject(error)
    })
  })
