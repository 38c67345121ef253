/**
 * NAME      api - the running daemon's own API, as a client
 *   For what must go through the doors: sending. A problem that the API answers is thrown as the Fault it was, so exit
 *   codes and words are those of every other command. Nobody at the other end is 69; a daemon that drains is 75.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { FAULTS, Fault, type FaultCode, type FieldError } from '../base/fault.js'
import { isLoopback } from '../base/network.js'
import type { Config } from '../config/config.js'
import { Refusal, usage } from './exit.js'
import { asListening, reachable } from './listening.js'

export interface ApiCall {
  readonly method: string
  /** Below the base, such as `/v1/emails`. */
  readonly path: string
  /** Null where none is asked for. */
  readonly key: string | null
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** `localhost:8080` is a URL, too, of a scheme `localhost`. */
export const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Where the daemon of this configuration listens; `given` is a --url. */
export const apiBase = (config: Config, given: string | undefined): string => {
  if (given !== undefined) {
    if (!isHttpUrl(given)) throw usage(`--url: ${given} is no URL such as http://127.0.0.1:8080`)
    return given.replace(/\/(v1\/?)?$/, '')
  }
  const { host, port, tls } = asListening(config).http
  if (port === 0)
    throw usage('http.port is 0, any free one: name the real one with --url http://127.0.0.1:PORT')
  return `${tls ? 'https' : 'http'}://${reachable(host)}:${port}`
}

interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly title?: string
  readonly errors?: readonly FieldError[]
  readonly reason?: string
}

const isFaultCode = (code: string | undefined): code is FaultCode => code !== undefined && code in FAULTS

const faultOf = (status: number, problem: Problem): Error => {
  const { code, detail, title, errors, reason } = problem
  if (!isFaultCode(code))
    return new Refusal(69, `the server answered ${status}${title === undefined ? '' : `: ${title}`}`)
  return new Fault(code, {
    ...(detail === undefined ? {} : { detail }),
    ...(errors === undefined ? {} : { errors }),
    ...(reason === undefined ? {} : { reason }),
  })
}

/** Its answer, of which nothing has been read; silence of a minute is an error. */
export const openCall = (url: URL, call: ApiCall, text: string | null): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const start = url.protocol === 'https:' ? httpsRequest : httpRequest
    const headers: Record<string, string> = { ...call.headers }
    if (call.key !== null) headers.authorization = `Bearer ${call.key}`
    if (text !== null) headers['content-type'] = 'application/json'
    // our own certificate is self-signed until there is a better one; on loopback nobody else can stand there
    const trust = { rejectUnauthorized: !isLoopback(url.hostname.replace(/^\[|\]$/g, '')) }
    const { method, signal } = call
    const outgoing = start(url, { method, headers, signal, timeout: 60_000, ...trust }, resolve)
    outgoing.on('timeout', () =>
      outgoing.destroy(new Refusal(69, `${url.origin}: no answer within a minute`)),
    )
    outgoing.on('error', reject)
    outgoing.end(text ?? undefined)
  })

/** The parsed body, whatever its status. */
export const bodyOf = async (
  base: string,
  answer: IncomingMessage,
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const status = answer.statusCode ?? 0
  try {
    return { status, body: JSON.parse(text) as unknown }
  } catch {
    throw new Refusal(69, `${base} does not speak the Postern API (HTTP ${status})`)
  }
}

/** The parsed body, or what it is a problem of. */
export const readAnswer = async (base: string, answer: IncomingMessage): Promise<unknown> => {
  const { status, body } = await bodyOf(base, answer)
  if (status >= 400) throw faultOf(status, body as Problem)
  return body
}

/** The parsed answer. Rejects with the Fault that the API answered, or with the system's error. */
export const callApi = async (base: string, call: ApiCall): Promise<unknown> => {
  const url = new URL(`${base}${call.path}`)
  const answer = await openCall(url, call, call.body === undefined ? null : JSON.stringify(call.body))
  return readAnswer(base, answer)
}
