/**
 * NAME      dialler - how URLs that others chose are called, by the configuration
 */
import { createDialler, type Dialler } from '../base/dial/dial.js'
import type { Config } from './config.js'

/** Plain values, so that they may cross to a thread. */
export interface DialSettings {
  readonly allow: readonly string[]
  readonly proxy: string | null
  /** Ports that any free one was taken for are not known here; what is not for others listens on loopback. */
  readonly ownPorts: readonly number[]
}

export const dialSettings = ({ http, management, submission, bounce, webhook }: Config): DialSettings => ({
  allow: webhook.allow_networks,
  proxy: webhook.proxy,
  ownPorts: [http, management, bounce, ...submission].map(({ port }) => port).filter((port) => port !== 0),
})

export const diallerBy = ({ allow, proxy, ownPorts }: DialSettings, timeoutMs?: number): Dialler =>
  createDialler({ allow, proxy, ownPorts: () => ownPorts, ...(timeoutMs !== undefined && { timeoutMs }) })

export const diallerOf = (config: Config): Dialler => diallerBy(dialSettings(config))
