/**
 * NAME      names - the addresses of an upstream
 * DESCRIPTION
 *   As the system knows them, remembered for some minutes, and longer while the name can not be resolved. They
 *   are given in an order of chance, so that connections spread.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { TcpNetConnectOpts } from 'node:net'
import { answering } from '../../base/dial/dial.js'

const KEPT_MS = 300_000
const MOST = 1_000

const known = new Map<string, { readonly until: number; readonly addresses: readonly LookupAddress[] }>()

/** How to connect to it, for net.connect, which tries one address after the other. */
export const addressesOf = async (
  host: string,
  within: number,
  look = (name: string): Promise<readonly LookupAddress[]> => lookup(name, { all: true }),
): Promise<Partial<TcpNetConnectOpts>> => {
  const now = performance.now()
  let found = known.get(host)
  if (found === undefined || found.until < now) {
    const addresses = await look(host).catch((error: Error) => {
      if (found === undefined) throw error
      return found.addresses
    })
    found = { until: now + KEPT_MS, addresses }
    if (known.size >= MOST) known.clear()
    known.set(host, found)
  }
  const { addresses } = found
  const isOneFamily = addresses.every(({ family }) => family === addresses[0]?.family)
  return {
    lookup: answering(addresses.toSorted(() => Math.random() - 0.5)),
    // where one family does not work the other is tried at once; else each has its part of the time
    ...(isOneFamily && {
      autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(within / addresses.length)),
    }),
  }
}
