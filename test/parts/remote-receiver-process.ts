/** The receiver of webhooks as a process of its own: answers each path as it was last told to, and reports each post. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Behaviour, FromReceiver, ToReceiver } from './remote-receiver.js'

const behaviours = new Map<string, Behaviour>()
const held = new Set<ServerResponse>()

/** Ends when it is on its way: whoever reads the answer finds the post reported. */
const report = (message: FromReceiver): Promise<void> =>
  new Promise((resolve) => process.send?.(message, () => resolve()))

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

const answer = (response: ServerResponse, how: Behaviour): void => {
  switch (how.kind) {
    case 'status':
      response.writeHead(how.status, how.headers ?? {}).end(how.body ?? '')
      return
    case 'hang':
      held.add(response)
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'reset_in_answer':
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half of it', () => response.socket?.resetAndDestroy())
  }
}

const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  const body = await bodyOf(request).catch(() => null)
  if (body === null) return
  const how = behaviours.get(path) ?? { kind: 'status', status: 200 }
  await report({
    kind: 'got',
    post: { path, headers: request.headers as Record<string, string>, body },
    ok: how.kind === 'status' && how.status < 300,
  })
  answer(response, how)
})

process.on('message', (message: ToReceiver) => {
  behaviours.set(message.path, message.how)
  report({ kind: 'set', n: message.n })
})
process.on('disconnect', () => process.exit())

// the caller lets go of an idle connection, else a post may meet one that was just closed
server.keepAliveTimeout = 0

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () =>
  report({ kind: 'listening', port: (server.address() as AddressInfo).port }),
)
