/**
 * NAME      scripted - a service of HTTPS that answers as it is told, and breaks where it is told
 * DESCRIPTION
 *   TLS with a certificate of a private authority. Requests are read octet by octet and kept; what is answered is written
 *   by the script itself, so that it may be no HTTP at all.
 */
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { authority } from '../../parts/certificates.js'

export interface Asked {
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly connection: number
}

/** What is written; null: nothing, and the connection stays open. */
type Answer = string | null | ((socket: TLSSocket) => void)

export const json = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): string => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const all = {
    'content-type': 'application/json',
    ...headers,
    'content-length': `${Buffer.byteLength(text)}`,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n${text}`
}

const readRequest = (bytes: Buffer, connection: number): { asked: Asked; rest: Buffer } | null => {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const rawHeaders = lines.flatMap((line) => {
    const at = line.indexOf(':')
    return [line.slice(0, at), line.slice(at + 1).trim()]
  })
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const from = end + 4
  const length = Number(headers['content-length'] ?? 0)
  if (bytes.length < from + length) return null
  const body = bytes.subarray(from, from + length)
  const asked = { target: first.split(' ')[1] ?? '', headers, rawHeaders, body, connection }
  return { asked, rest: bytes.subarray(from + length) }
}

export class ScriptedService {
  readonly asked: Asked[] = []
  connections = 0
  readonly open = new Set<TLSSocket>()
  answer: (asked: Asked) => Answer = () => null
  /** Told of what has come of a request that is not whole yet. */
  part: (socket: TLSSocket, size: number) => void = () => {}
  url = ''
  caFile = ''

  static async start(t: Pick<Test, 'teardown'>, answer: ScriptedService['answer']): Promise<ScriptedService> {
    const service = new ScriptedService()
    service.answer = answer
    const ca = await authority(t)
    const { key, cert } = await ca.issue('127.0.0.1')
    const server = createServer({ key, cert }, (socket) => service.#serve(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      for (const socket of service.open) socket.destroy()
      server.close()
    })
    service.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    service.caFile = ca.caFile
    return service
  }

  #serve(socket: TLSSocket): void {
    const connection = ++this.connections
    this.open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.open.delete(socket))
    let bytes: Buffer = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (
        let found = readRequest(bytes, connection);
        found !== null;
        found = readRequest(bytes, connection)
      ) {
        bytes = found.rest
        this.asked.push(found.asked)
        const answer = this.answer(found.asked)
        if (typeof answer === 'string') socket.write(answer)
        else answer?.(socket)
      }
      if (bytes.length > 0) this.part(socket, bytes.length)
    })
  }
}
