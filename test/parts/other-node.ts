/** A Node that needs the other SQLite driver than this one, from the npm registry. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { must } from './run.js'

/** Which of the two drivers this Node runs; see src/store/sqlite/connect.ts. */
export const isOldNode = Number(process.versions.napi) < 10

/** Installs it below a folder; the path of its program. */
export const otherNode = async (dir: string): Promise<string> => {
  const prefix = join(dir, 'other-node')
  mkdirSync(prefix)
  const words = ['--no-save', '--no-audit', '--no-fund']
  await must('npm', ['install', '--prefix', prefix, ...words, `node@${isOldNode ? 24 : 20}`])
  return join(prefix, 'node_modules', 'node', 'bin', 'node')
}
