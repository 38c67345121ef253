/**
 * NAME      version - which Postern this is
 */
import { readFileSync } from 'node:fs'
import { command } from './command.js'

/** Put in by the bundler; in a checkout there is none. */
declare const POSTERN_VERSION: string | undefined

/** The version of the package: what the bundle was made of, or what its package.json says. */
export const versionText = (): string => {
  if (typeof POSTERN_VERSION === 'string') return POSTERN_VERSION
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

export const versionCommand = command({
  usage: 'version',
  summary: 'Which Postern this is',
  run: async (_args, terminal) => {
    const record = {
      version: versionText(),
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
    }
    terminal.data(record, () => `postern ${record.version} (node ${record.node}, ${record.platform})`)
  },
})
