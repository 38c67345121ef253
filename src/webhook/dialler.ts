/**
 * NAME      dialler - how endpoints are called, by the configuration
 */
import { createDialler, type Dialler } from '../base/dial/dial.js'
import type { Config } from '../config/config.js'

/** Ports that any free one was taken for are not known here; what is not for others listens on loopback. */
const ownPorts = ({ http, management, submission, bounce }: Config): readonly number[] =>
  [http, management, bounce, ...submission].map(({ port }) => port).filter((port) => port !== 0)

export const diallerOf = (config: Config): Dialler => {
  const ports = ownPorts(config)
  const { allow_networks: allow, proxy } = config.webhook
  return createDialler({ allow, proxy, ownPorts: () => ports })
}
