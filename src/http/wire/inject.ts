/**
 * NAME      inject - a request of this very process
 * DESCRIPTION
 *   For the pages for people: the whole way of a request through the gate, without a socket. The answer is what a
 *   client would get.
 */
import type { ServerInjectOptions, ServerInjectResponse } from '@hapi/hapi'

export interface InnerRequest {
  readonly session: string | null
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Of whoever is behind it. */
  readonly address: string
}

export interface InnerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
}

type Inject = (request: ServerInjectOptions) => Promise<ServerInjectResponse>

export const askThrough =
  (inject: Inject) =>
  async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    { session, query = {}, body, headers = {}, address }: InnerRequest,
  ): Promise<InnerAnswer> => {
    const text = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== '') text.append(name, String(value))
    }
    const url = text.size === 0 ? path : `${path}?${text}`
    const answer = await inject({
      method,
      url,
      remoteAddress: address,
      headers: {
        ...headers,
        ...(session !== null && { authorization: `Bearer ${session}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const said = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    return { status: answer.statusCode, headers: Object.fromEntries(said), bytes: answer.rawPayload }
  }
