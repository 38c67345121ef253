/**
 * NAME      providers - the providers of the configuration
 * DESCRIPTION
 *   The code that talks to them is loaded when the first of them is needed: most
 *   installations have none, and every start would wait for it.
 */
import type { Clock } from '../../base/clock.js'
import type { Provider as Settings } from '../../config/identity.js'
import type { Provider } from './oidc/provider.js'

export interface Providers {
  readonly settings: readonly Settings[]
  /** By name; null where there is none. */
  find(name: string): Promise<Provider | null>
  close(): Promise<void>
}

export const createProviders = (settings: readonly Settings[], clock: Clock): Providers => {
  const made = new Map<string, Promise<Provider>>()
  const make = async (at: number, one: Settings): Promise<Provider> => {
    const { Provider } = await import('./oidc/provider.js')
    return new Provider({ settings: one, at, clock })
  }
  return {
    settings,
    async find(name) {
      const at = settings.findIndex((one) => one.name === name)
      const one = settings[at]
      if (one === undefined) return null
      const provider = made.get(name) ?? make(at, one)
      made.set(name, provider)
      return provider
    },
    async close() {
      for (const provider of made.values()) await (await provider).close()
      made.clear()
    },
  }
}
