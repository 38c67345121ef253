/** Requests that are signed as AWS's own signer signs them, for what its clients never send. */
import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { Tenancy } from '../../../src/tenant/tenants.js'

/** Node's own hash in the form that AWS's signer takes. */
class Sha256 {
  readonly #hash
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined ? createHash('sha256') : createHmac('sha256', Buffer.from(secret as Uint8Array))
  }
  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest())
  }
  reset(): void {}
}

export interface AccessKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export const SEND = '/v1/as/ses/v2/email/outbound-emails'

export const signerOf = (
  credentials: AccessKey & { readonly sessionToken?: string },
  service = 'ses',
  applyChecksum = true,
): SignatureV4 =>
  new SignatureV4({ credentials, region: 'eu-west-1', service, sha256: Sha256, applyChecksum })

interface Asked {
  readonly path?: string
  readonly query?: Record<string, string | string[]>
  readonly headers?: Record<string, string>
  readonly date?: Date
  readonly signer?: SignatureV4
  readonly method?: string
}

/** The header fields of a request with this body. */
export const headersFor = async (
  key: AccessKey,
  host: string,
  body: string,
  {
    path = SEND,
    query = {},
    headers = {},
    date = new Date(),
    signer = signerOf(key),
    method = 'POST',
  }: Asked = {},
): Promise<Record<string, string>> => {
  const request = { method, protocol: 'http:', hostname: host, path, query, body }
  const all = { host, 'content-type': 'application/json', ...headers }
  return (await signer.sign({ ...request, headers: all }, { signingDate: date })).headers
}

/** A key of a workspace that signs. */
export const newAccessKey = async (
  tenants: Tenancy,
  accountId: string,
  wish: Partial<Parameters<Tenancy['createKey']>[1]> = {},
): Promise<AccessKey & { readonly id: string; readonly secret: string }> => {
  const made = await tenants.createKey(accountId, { name: 'ses', workspace: 'default', ses: true, ...wish })
  const { row, secret, sesSecret } = made
  return { id: row.id, secret, accessKeyId: `PSTN${row.lookup}`, secretAccessKey: sesSecret ?? '' }
}
