/**
 * An HTTP or HTTPS endpoint on loopback that keeps what it is sent and answers as
 * it is told, also badly: the other end of a webhook.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Behave = (response: ServerResponse, received: Received) => void

export interface Receiver {
  readonly port: number
  readonly received: Received[]
  /** How many connections were ever made to it. */
  connections: number
  behave: Behave
}

export const answer =
  (status: number, body = '', headers: Record<string, string> = {}): Behave =>
  (response) =>
    void response.writeHead(status, headers).end(body)

interface Options {
  readonly host?: string
  readonly port?: number
  /** HTTPS with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly behave?: Behave
}

export const receiver = async (
  t: Pick<Test, 'teardown'>,
  { host = '127.0.0.1', port = 0, tls, behave = answer(200, 'ok') }: Options = {},
): Promise<Receiver> => {
  const sockets = new Set<Socket>()
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const one = { path: request.url ?? '', headers: request.headers, body: await text(request) }
    self.received.push(one)
    self.behave(response, one)
  }
  const answering = (request: IncomingMessage, response: ServerResponse): void => {
    take(request, response).catch(() => response.destroy())
  }
  const server = tls === undefined ? createServer(answering) : createTlsServer(tls, answering)
  server.on('connection', (socket: Socket) => {
    self.connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.listen(port, host)
  await once(server, 'listening')
  const self: Receiver = {
    port: (server.address() as AddressInfo).port,
    received: [],
    connections: 0,
    behave,
  }
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return self
}
