/**
 * A token endpoint on loopback that answers as told, and remembers what it was asked.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

type Form = Readonly<Record<string, string>>

export interface Endpoint {
  readonly url: string
  readonly asked: Form[]
  /** What it says next: a body in JSON or text, a status with a body, or silence. */
  say: (form: Form, nth: number) => unknown
}

const answer = (res: ServerResponse, said: unknown): void => {
  if (said === 'silence') return
  if (said === 'hang up') return void res.socket?.destroy()
  const [status, body] = Array.isArray(said) ? said : [200, said]
  res.writeHead(status, { 'content-type': 'application/json', location: 'http://127.0.0.1:1/' })
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}

export const tokenEndpoint = async (t: Test, say: Endpoint['say']): Promise<Endpoint> => {
  const asked: Form[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(text))
      asked.push(form)
      answer(res, endpoint.say(form, asked.length))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    asked,
    say,
  }
  return endpoint
}
