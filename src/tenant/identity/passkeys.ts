/**
 * NAME      passkeys - what a browser signs for its person (WebAuthn level 3)
 * DESCRIPTION
 *   A passkey belongs to the host of base_url, never to what a request says: a page of elsewhere gets no signature that
 *   is good here. It is a second step, so that the person was there is enough (user verification is asked for, and not
 *   demanded); what made the key is not asked (attestation `none`).
 */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { FactorRow, UserRow } from '../../store/port/identity.js'

interface PasskeySite {
  readonly rpId: string
  readonly origin: string
}

/** Ed25519, ES256 and RS256 (RFC 9053). */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 300_000

/** Where passkeys belong; a sentence where there can be none. */
export const passkeySite = (baseUrl: string): PasskeySite | string => {
  const { hostname, protocol, origin } = new URL(baseUrl)
  const isHere = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    return `Passkeys need a host name, and this is the IP address ${hostname}: base_url says so.`
  if (protocol !== 'https:' && !isHere) return 'Passkeys need https, and base_url has none.'
  return { rpId: hostname, origin }
}

const passkeysIn = (rows: readonly FactorRow[]): readonly FactorRow[] =>
  rows.filter(({ kind }) => kind === 'passkey')

/** What the browser is asked to make a passkey with. */
export const creationOptions = async (
  { rpId }: PasskeySite,
  { id, email, name }: UserRow,
  rows: readonly FactorRow[],
): Promise<PublicKeyCredentialCreationOptionsJSON> => {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: 'Postern',
    rpID: rpId,
    userName: email,
    userDisplayName: name ?? email,
    userID: new Uint8Array(Buffer.from(id)),
    attestationType: 'none',
    timeout: TIMEOUT_MS,
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: passkeysIn(rows).map(({ lookup }) => ({ id: lookup })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  })
}

/** What a browser said, as a script of ours wrote it down; null for anything else. */
const read = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export interface NewPasskey {
  readonly lookup: string
  readonly secret: string
  readonly counter: number
}

/** The passkey that a browser made for this challenge; null where it does not hold. */
export const madePasskey = async (
  { rpId, origin }: PasskeySite,
  challenge: string,
  said: string,
): Promise<NewPasskey | null> => {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: read(said) as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (registrationInfo === undefined) return null
    const { id, publicKey, counter } = registrationInfo.credential
    return { lookup: id, secret: Buffer.from(publicKey).toString('base64url'), counter }
  } catch {
    // the library throws for whatever does not hold
    return null
  }
}

/** A challenge as it travels: octets in base64url. */
const asChallenge = (text: string): string => Buffer.from(text).toString('base64url')

/** What the browser is asked to sign; null where the person has no passkey, or there can be none here. */
export const requestOptions = (
  baseUrl: string,
  rows: readonly FactorRow[],
  challenge: string,
): PublicKeyCredentialRequestOptionsJSON | null => {
  const site = passkeySite(baseUrl)
  const passkeys = passkeysIn(rows)
  if (typeof site === 'string' || passkeys.length === 0) return null
  return {
    challenge: asChallenge(challenge),
    rpId: site.rpId,
    allowCredentials: passkeys.map(({ lookup }) => ({ id: lookup, type: 'public-key' })),
    timeout: TIMEOUT_MS,
    userVerification: 'preferred',
  }
}

/** Which passkey of these signed the challenge, and what it counts to now; null for any other answer. */
export const signedBy = async (
  baseUrl: string,
  rows: readonly FactorRow[],
  challenge: string,
  said: string,
): Promise<{ readonly row: FactorRow; readonly counter: number } | null> => {
  const site = passkeySite(baseUrl)
  const response = read(said)
  const { id } = (response ?? {}) as { readonly id?: unknown }
  const row = passkeysIn(rows).find(({ lookup }) => lookup === id)
  if (typeof site === 'string' || row === undefined) return null
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: asChallenge(challenge),
      expectedOrigin: site.origin,
      expectedRPID: site.rpId,
      requireUserVerification: false,
      credential: {
        id: row.lookup,
        publicKey: new Uint8Array(Buffer.from(row.secret, 'base64url')),
        counter: row.counter,
      },
    })
    return verified ? { row, counter: authenticationInfo.newCounter } : null
  } catch {
    // the library throws for whatever does not hold
    return null
  }
}
