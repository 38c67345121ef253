/**
 * NAME      fetch - calls of servers that the operator chose
 *   fetch as the platform has it, for addresses that stand in the configuration: any network, but certificates of the
 *   operator's own CA where there is one, no redirects, and an answer of at most 1 MiB.
 */
import { Agent, fetch } from 'undici'

const MOST_OCTETS = 1_048_576
const CONNECT_MS = 10_000

export interface PlainFetch {
  readonly fetch: typeof globalThis.fetch
  close(): Promise<void>
}

/** `ca`: certificates in PEM to believe instead of the system's. */
export const createFetch = (ca: string | null): PlainFetch => {
  const dispatcher = new Agent({
    maxResponseSize: MOST_OCTETS,
    connect: { timeout: CONNECT_MS, ...(ca !== null && { ca }) },
  })
  const call = (input: string, init: object) => fetch(input, { ...init, redirect: 'manual', dispatcher })
  return { fetch: call as unknown as typeof globalThis.fetch, close: () => dispatcher.destroy() }
}
