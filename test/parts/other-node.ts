/** A Node that needs the other SQLite driver than this one, from the npm registry. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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

/** Programs that fail and leave their name in a file; their folder is to be looked into before those of the machine. */
export const failing = (dir: string, names: readonly string[]) => {
  const [folder, called] = [join(dir, 'failing'), join(dir, 'called')]
  mkdirSync(folder)
  for (const name of names)
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${name} >>'${called}'\nexit 97\n`, { mode: 0o755 })
  return { folder, called: () => (existsSync(called) ? readFileSync(called, 'utf8').split('\n') : []) }
}

export const COMPILERS = ['cc', 'c++', 'gcc', 'g++', 'clang', 'make', 'python3']
