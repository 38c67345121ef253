/**
 * NAME      version - which Postern this is
 */
import { readFileSync } from 'node:fs'
import { command } from './command.js'

/** The version of the package, read from its package.json. */
export const versionText = (): string => {
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
