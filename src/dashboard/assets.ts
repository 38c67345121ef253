/**
 * NAME      assets - scripts, style and icon, under names that change with their content
 * DESCRIPTION
 *   All assets of one build share a folder named by the hash of all of them, so that scripts import each other by
 *   relative paths and browsers may keep them for ever. Scripts are the compiled files of client/; uPlot is handed on
 *   from its package.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STYLE } from './style/style.js'

export interface Asset {
  readonly type: string
  readonly bytes: Buffer
}

export interface Assets {
  readonly style: string
  readonly icon: string
  /** Those that every page loads. */
  readonly scripts: readonly string[]
  /** The file at a path below /assets/, or null. */
  file(path: string): Asset | null
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path d="M3 18V8.5a7 7 0 0 1 14 0V18" fill="none" stroke="#3448b8" stroke-width="2" stroke-linecap="round"/><path d="M7.5 18V9.2a2.5 2.5 0 0 1 5 0V18z" fill="#3448b8"/></svg>'

const SCRIPT = 'text/javascript; charset=utf-8'

const clientFiles = (folder: string): readonly (readonly [name: string, asset: Asset])[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, { type: SCRIPT, bytes: readFileSync(join(folder, name)) }])

export const loadAssets = (folder = join(import.meta.dirname, 'client')): Assets => {
  const files = new Map<string, Asset>([
    ...clientFiles(folder),
    ['style.css', { type: 'text/css; charset=utf-8', bytes: Buffer.from(STYLE) }],
    ['icon.svg', { type: 'image/svg+xml', bytes: Buffer.from(ICON) }],
  ])
  const hash = createHash('sha256')
  for (const [name, { bytes }] of files) hash.update(name).update(bytes)
  const at = hash.digest('hex').slice(0, 16)
  return {
    style: `/assets/${at}/style.css`,
    icon: `/assets/${at}/icon.svg`,
    scripts: [`/assets/${at}/main.js`],
    file: (path) => {
      const [folderName, name = ''] = path.split('/')
      return folderName === at ? (files.get(name) ?? null) : null
    },
  }
}
