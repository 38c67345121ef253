/**
 * NAME      inject - a request of this very process
 * DESCRIPTION
 *   For the pages for people: the whole way of a request through the gate, without a socket. The answer is what a
 *   client would get. One that comes little by little is gathered, or handed on as the stream that it is: then nothing
 *   of it has been read. A success in JSON may be handed on as the value that the JSON would be made of. Of the calls of
 *   one look, who asks is looked up once.
 */
import type { Readable } from 'node:stream'
import type { ServerInjectOptions, ServerInjectResponse } from '@hapi/hapi'
import type { Principal } from '../../tenant/principal.js'

interface InnerRequest {
  readonly session: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Of whoever is behind it. */
  readonly address: string
  readonly look?: Look
  readonly streamed?: boolean
  readonly asValue?: boolean
}

interface InnerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** Null where the answer is octets, or was not asked for as a stream. */
  readonly stream: Readable | null
  /** Null where the answer is octets, or was not asked for as a value. */
  readonly value: object | null
}

/** Where the body of an answer is put, in place of sending it; undefined where that was not asked for. */
interface HandedOn {
  stream?: Readable | null
  value?: object | null
}

/** What a person asks of one page, with one session and at one moment. */
interface Look {
  /** Who that is, once it was asked. */
  principal?: Promise<Principal>
}

declare module '@hapi/hapi' {
  interface PluginsStates {
    handedOn?: HandedOn
    look?: Look
  }
}

type Inject = (request: ServerInjectOptions) => Promise<ServerInjectResponse>

export const askThrough =
  (inject: Inject) =>
  async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    /** With its query. */
    url: string,
    { session, body, headers = {}, address, look, streamed, asValue }: InnerRequest,
  ): Promise<InnerAnswer> => {
    const handedOn: HandedOn = { ...(streamed && { stream: null }), ...(asValue && { value: null }) }
    const answer = await inject({
      validate: false,
      plugins: { handedOn, ...(look && { look }) },
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
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(said),
      bytes: answer.rawPayload,
      stream: handedOn.stream ?? null,
      value: handedOn.value ?? null,
    }
  }
