/**
 * NAME      server-names - which certificate a TLS client is shown, by the name that it asks for
 * DESCRIPTION
 *   Server Name Indication (RFC 6066 section 3), as node:tls asks for it. A name in a certificate may
 *   begin with `*.`, which stands for one label. Who asks for another name, or for none, gets
 *   the listener's own certificate.
 */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'

export interface NamedPair {
  /** DNS names, in lower case. */
  readonly names: readonly string[]
  /** PEM. */
  readonly key: string
  readonly cert: string
}

export type FindContext = (servername: string) => SecureContext | undefined

/** Of two certificates with one name the first counts. */
export const contextsOf = (pairs: readonly NamedPair[], options: SecureContextOptions = {}): FindContext => {
  const byName = new Map<string, SecureContext>()
  for (const { names, key, cert } of [...pairs].reverse()) {
    const context = createSecureContext({ ...options, key, cert })
    for (const name of names) byName.set(name, context)
  }
  return (servername) => {
    const name = servername.toLowerCase().replace(/\.$/, '')
    return byName.get(name) ?? byName.get(name.replace(/^[^.]+/, '*'))
  }
}
