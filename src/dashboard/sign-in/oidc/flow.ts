/**
 * NAME      flow - one sign-in on its way, kept by the browser that began it
 * DESCRIPTION
 *   What we must know when the provider sends the browser back: sealed with the
 *   pepper into a cookie of 10 minutes, so that nothing is kept here for people
 *   who only looked, and nobody can finish in one browser what began in another.
 */
import { seal, unseal } from '../../../base/secret.js'

export interface Flow {
  /** Name of the provider it went to: an answer of another one is refused. */
  readonly provider: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
  /** The secret of an invitation that is used up by this sign-in. */
  readonly invitation: string | null
  /** Epoch milliseconds. */
  readonly startedAt: number
}

export const FLOW_MS = 600_000

const PURPOSE = 'sign-in flow'

export const sealFlow = (pepper: Uint8Array, flow: Flow): string =>
  seal(pepper, PURPOSE, JSON.stringify(flow))

/** null when it is none of ours, or too old. */
export const openFlow = (pepper: Uint8Array, sealed: string | null, now: number): Flow | null => {
  if (sealed === null) return null
  try {
    const flow = JSON.parse(unseal(pepper, PURPOSE, sealed)) as Flow
    const age = now - flow.startedAt
    return age >= 0 && age < FLOW_MS ? flow : null
  } catch {
    return null
  }
}
