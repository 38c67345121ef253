/**
 * NAME      assets - scripts, style and icon, under names that change with their content
 *   All assets of one build share a folder named by the hash of all of them, so that scripts import each other by
 *   relative paths and browsers may keep them for ever. Each is compressed once.
 */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import { clientFiles } from './client-files.js'
import { STYLE } from './style.js'

interface Asset {
  readonly type: string
  readonly bytes: Buffer
  readonly packed: Buffer
}

export interface Assets {
  readonly style: string
  readonly icon: string
  readonly scripts: readonly string[]
  answer(request: Request, h: ResponseToolkit): ResponseObject
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path d="M3 18V8.5a7 7 0 0 1 14 0V18" fill="none" stroke="#3448b8" stroke-width="2" stroke-linecap="round"/><path d="M7.5 18V9.2a2.5 2.5 0 0 1 5 0V18z" fill="#3448b8"/></svg>'

const asset = (type: string, text: string): Asset => {
  const bytes = Buffer.from(text)
  return { type, bytes, packed: gzipSync(bytes, { level: 9 }) }
}

export const loadAssets = (): Assets => {
  const files = new Map<string, Asset>([
    ...[...clientFiles()].map(
      ([name, text]) => [name, asset('text/javascript; charset=utf-8', text)] as const,
    ),
    ['style.css', asset('text/css; charset=utf-8', STYLE)],
    ['icon.svg', asset('image/svg+xml', ICON)],
  ])
  const hash = createHash('sha256')
  for (const [name, { bytes }] of files) hash.update(name).update(bytes)
  const at = hash.digest('hex').slice(0, 16)
  return {
    style: `/assets/${at}/style.css`,
    icon: `/assets/${at}/icon.svg`,
    scripts: [`/assets/${at}/main.js`],
    answer: (request, h) => {
      const [folder, name = '', more] = String(request.params.path).split('/')
      const found = folder === at && more === undefined ? files.get(name) : undefined
      if (found === undefined) return h.response('').code(404)
      const isPacked = request.info.acceptEncoding === 'gzip'
      // what is packed must not be packed again, and what is not must not be now
      request.info.acceptEncoding = 'identity'
      const response = h
        .response(isPacked ? found.packed : found.bytes)
        .header('content-type', found.type)
        .header('cache-control', 'public, max-age=31536000, immutable')
        .vary('accept-encoding')
        .etag(`${at}${isPacked ? '-gzip' : ''}`, { vary: false, weak: false })
      return isPacked ? response.header('content-encoding', 'gzip') : response
    },
  }
}
