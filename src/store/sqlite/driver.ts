/**
 * NAME      driver - better-sqlite3, in the version that this Node can run
 * DESCRIPTION
 *   Version 13 needs Node-API 10, which Node has from 22.14 on: below, it ends the
 *   process with a crash. Version 12 does that on Node 24.19 and newer, when a
 *   statement is collected. So both are shipped, Node-API decides, and nothing else
 *   in Postern loads either. They read and write the same files.
 *   Version 12 lies in a folder of its own, bin/native/node20, which
 *   bin/native/install.mjs fills where it is needed. A driver that can not be loaded
 *   is said at once, with the command that brings it.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type Sqlite from 'better-sqlite3'

/** The driver is not there, or was compiled for another Node. */
class DriverMissingError extends Error {
  override readonly name = 'DriverMissingError'
}

/** Where they are installed, as seen from a bundle. */
declare const POSTERN_NATIVE: string | undefined

const native = (name: string): URL =>
  new URL(
    (typeof POSTERN_NATIVE === 'string' ? POSTERN_NATIVE : '../../../../bin/native/') + name,
    import.meta.url,
  )
const require = createRequire(native('driver'))
const isOld = Number(process.versions.napi) < 10

const load = (): typeof Sqlite => {
  const driver = isOld ? require('./node20/node_modules/better-sqlite3') : require('better-sqlite3')
  new driver(':memory:').close() // the native part comes with the first database
  return driver
}

const remedy = (): string => {
  // a package and the executable bring their drivers along, and there is no folder to install into
  const folder = dirname(fileURLToPath(native('driver')))
  if (!existsSync(folder)) return 'install Node 22.14 or newer'
  return isOld
    ? `run: npm ci --prefix ${folder}/node20`
    : `run: npm install --no-save --prefix ${folder} better-sqlite3@13.2.0`
}

const loadOrSay = (): typeof Sqlite => {
  try {
    return load()
  } catch (error) {
    const reason = (error as Error).message.replace(/\s+/g, ' ').slice(0, 200)
    const driver = `the SQLite driver for Node ${process.versions.node}, better-sqlite3 ${isOld ? 12 : 13},`
    throw new DriverMissingError(`${driver} can not be loaded (${reason}); ${remedy()}`)
  }
}

export const Database = loadOrSay()
