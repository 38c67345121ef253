/**
 * NAME      flow - what comes little by little
 */
import type { Readable } from 'node:stream'
import type { Request } from '@hapi/hapi'

/** It ends when its reader goes, and is sent as it comes: compressed, it would be held back. */
export const flowTo = ({ raw, info }: Request, stream: Readable): void => {
  if (raw.res.destroyed) stream.destroy()
  else raw.res.once('close', () => stream.destroy())
  info.acceptEncoding = 'identity'
}
