/**
 * NAME      settings - how URLs that others chose are called, by the configuration
 */
import { createDialler, type Dialler } from './dial.js'

/** Plain values, so that they may cross to a thread. */
export interface DialSettings {
  readonly allow: readonly string[]
  readonly proxy: string | null
  readonly setting: string
  readonly elsewhere?: { readonly setting: string; readonly allow: readonly string[] }
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
  readonly oauth: { readonly allow_networks: readonly string[] }
}

const ownPortsOf = ({ http, management, submission, bounce }: Dialling): readonly number[] =>
  [http, management, bounce, ...submission].map(({ port }) => port).filter((port) => port !== 0)

const hookSettings = (dialling: Dialling): DialSettings => ({
  allow: dialling.webhook.allow_networks,
  proxy: dialling.webhook.proxy,
  setting: 'webhook.allow_networks',
  ownPorts: ownPortsOf(dialling),
})

/** How token endpoints of upstreams are called: operators name those, customers name endpoints of webhooks. */
export const tokenSettings = (dialling: Dialling): DialSettings => ({
  ...hookSettings(dialling),
  allow: dialling.oauth.allow_networks,
  setting: 'oauth.allow_networks',
  elsewhere: { setting: 'webhook.allow_networks', allow: dialling.webhook.allow_networks },
})

export const diallerBy = ({ ownPorts, ...settings }: DialSettings): Dialler =>
  createDialler({ ...settings, ownPorts: () => ownPorts })

/** For endpoints of webhooks. */
export const diallerOf = (dialling: Dialling): Dialler => diallerBy(hookSettings(dialling))
