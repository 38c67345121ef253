/**
 * NAME      dev-ports - the ports that postern dev gets
 * DESCRIPTION
 *   Another program often holds a default port, 8080 above all. Then the next free
 *   one is taken, for all listeners at once, so that trying Postern out is never a
 *   matter of one message for each port. A port that a person has named stays:
 *   where it is taken, the daemon says so and ends.
 */
import type { Config } from '../config/config.js'
import { originOf } from '../config/load.js'
import { listeners, tryListen } from './doctor/host.js'
import { usage } from './exit.js'

const HIGHEST = 65_535

interface DevPorts {
  /** As settings: `{'http.port': '8082'}`. */
  readonly flags: Readonly<Record<string, string>>
  /** `http 8080 → 8082`, for each that was taken. */
  readonly moved: readonly string[]
}

/** Listeners are on this host, whatever the configuration says; `port`, when given, is the API's. */
export const chooseDevPorts = async (
  config: Config,
  host: string,
  port: number | undefined,
): Promise<DevPorts> => {
  if (port !== undefined && port > HIGHEST)
    throw usage(`--port: ${port} is no port; ${HIGHEST} is the highest`)
  const all = listeners(config).map((one) => ({
    ...one,
    port: one.name === 'http' ? (port ?? one.port) : one.port,
    isNamed: originOf(config, `${one.name}.port`) !== null || (one.name === 'http' && port !== undefined),
  }))
  const isFree = async (wanted: number): Promise<boolean> =>
    (await tryListen({ host, port: wanted })) !== 'EADDRINUSE'
  const flags: Record<string, string> = port === undefined ? {} : { 'http.port': `${port}` }
  const moved: string[] = []
  const given = new Set(all.map((one) => one.port))
  const named = all.filter(({ isNamed }) => isNamed).map((one) => one.port)
  for (const { name, port: wanted, isNamed } of all) {
    if (isNamed || wanted === 0 || (!named.includes(wanted) && (await isFree(wanted)))) continue
    let next = wanted + 1
    while (next < HIGHEST && (given.has(next) || !(await isFree(next)))) next++
    given.add(next)
    flags[`${name}.port`] = `${next}`
    moved.push(`${name} ${wanted} → ${next}`)
  }
  return { flags, moved }
}
