/**
 * NAME      slots - how many streams one caller may have open
 */
import { Fault } from '../../base/fault.js'
import { clientOf } from '../../base/network.js'

interface SlotLimits {
  readonly streams_per_key: number
  readonly streams_per_address: number
}

const RETRY_AFTER_S = 5

export class Slots {
  readonly #limits: SlotLimits
  readonly #open = new Map<string, number>()

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  #count(name: string, by: number): void {
    const count = (this.#open.get(name) ?? 0) + by
    if (count > 0) this.#open.set(name, count)
    else this.#open.delete(name)
  }

  /** Gives what ends the use of a slot, or throws rate_limit.streams. */
  take(credentialId: string, address: string): () => void {
    const key = `key ${credentialId}`
    const client = `address ${clientOf(address)}`
    const refuse = (detail: string): never => {
      throw new Fault('rate_limit.streams', { retryAfter: RETRY_AFTER_S, detail })
    }
    const { streams_per_key: perKey, streams_per_address: perAddress } = this.#limits
    if ((this.#open.get(key) ?? 0) >= perKey) refuse(`${perKey} streams are open with this credential`)
    if ((this.#open.get(client) ?? 0) >= perAddress) refuse(`${perAddress} streams are open at this address`)
    this.#count(key, 1)
    this.#count(client, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#count(key, -1)
      this.#count(client, -1)
    }
  }
}
