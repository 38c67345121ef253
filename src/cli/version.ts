/**
 * NAME      version - which Postern this is
 *   The version of the package, the schemas that it makes, and the commit where the one who built it has said so. A
 *   checkout has no commit: nothing is asked of git while it runs.
 */
import { readFileSync } from 'node:fs'
import { command } from './command.js'

/** Put in by the bundler; in a checkout there is none. */
declare const POSTERN_VERSION: string | undefined
declare const POSTERN_COMMIT: string | undefined

/** The version of the package: what the bundle was made of, or what its package.json says. */
export const versionText = (): string => {
  if (typeof POSTERN_VERSION === 'string') return POSTERN_VERSION
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

const commit = (): string | null =>
  typeof POSTERN_COMMIT === 'string' && POSTERN_COMMIT !== '' ? POSTERN_COMMIT : null

export const versionCommand = command({
  usage: 'version',
  summary: 'Which Postern this is, and which schemas it makes',
  examples: [['$0 version --json', '']],
  run: async (_args, terminal) => {
    const { schemas } = await import('../store/open.js')
    const record = {
      version: versionText(),
      schema: await schemas(),
      commit: commit(),
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
    }
    const { version, schema, node, platform } = record
    const about = [
      `schema ${schema.sqlite} of SQLite and ${schema.postgres} of PostgreSQL`,
      ...(record.commit === null ? [] : [`commit ${record.commit}`]),
      `node ${node}`,
      platform,
    ]
    terminal.data(record, () => `postern ${version} (${about.join(', ')})`)
  },
})
