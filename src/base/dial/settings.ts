/**
 * NAME      settings - how URLs that others chose are called, by the configuration
 */
import { createDialler, type Dialler } from './dial.js'

/** Plain values, so that they may cross to a thread. */
export interface DialSettings {
  readonly allow: readonly string[]
  readonly proxy: string | null
  /** Ports that any free one was taken for are not known here; what is not for others listens on loopback. */
  readonly ownPorts: readonly number[]
}

interface Listener {
  readonly port: number
}

/** What of the configuration matters here. */
interface Dialling {
  readonly http: Listener
  readonly management: Listener
  readonly bounce: Listener
  readonly submission: readonly Listener[]
  readonly webhook: { readonly allow_networks: readonly string[]; readonly proxy: string | null }
}

export const dialSettings = ({ http, management, submission, bounce, webhook }: Dialling): DialSettings => ({
  allow: webhook.allow_networks,
  proxy: webhook.proxy,
  ownPorts: [http, management, bounce, ...submission].map(({ port }) => port).filter((port) => port !== 0),
})

export const diallerBy = ({ allow, proxy, ownPorts }: DialSettings): Dialler =>
  createDialler({ allow, proxy, ownPorts: () => ownPorts })

export const diallerOf = (dialling: Dialling): Dialler => diallerBy(dialSettings(dialling))
