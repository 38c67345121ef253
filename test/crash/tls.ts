/** Twenty upstreams with TLS, whose connections are cut wherever they are; in every fourth cycle the daemon dies as well. */
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
    const books = await rig.books()
    return { ...books, idle: rig.mxs.filter(({ messages }) => messages.length === 0).length }
  } finally {
    await rig.remove()
  }
}
