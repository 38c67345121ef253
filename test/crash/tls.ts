/** Twenty upstreams with TLS, whose connections are cut wherever they are; in every fourth cycle the daemon dies as well. */
import { eventually } from '../parts/eventually.js'
import { type Books, Rig, type RigOptions } from './rig.js'

export const UPSTREAMS = 20

export interface TlsBooks extends Books {
  /** Upstreams that were handed nothing. */
  readonly idle: number
}

export const tlsCuts = async (cycles: number, options: RigOptions): Promise<TlsBooks> => {
  const rig = await Rig.start({ ...options, tlsUpstreams: UPSTREAMS })
  try {
    await rig.cycles(cycles, async (cycle) => {
      for (const mx of rig.mxs) if (options.random() < 0.5) mx.cut()
      if (cycle % 4 === 3) {
        await rig.postern.stop('SIGKILL')
        await rig.restart()
      }
    })
    const idle = () => rig.mxs.filter(({ messages }) => messages.length === 0).length
    // the load goes on: chance picks an upstream
    await eventually('each was handed something', () => idle() === 0, { every: 200, moves: idle }).catch(
      () => {},
    )
    return { ...(await rig.books()), idle: idle() }
  } finally {
    await rig.remove()
  }
}
