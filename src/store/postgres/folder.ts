/**
 * NAME      folder - what a daemon keeps on its own disk: who it is, and where the database is
 * DESCRIPTION
 *   The id of a daemon outlives it, so that the next one on the same folder is known for its successor. The
 *   URLs have a password in them, and are read by nobody else.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../base/folder.js'
import { DamagedFileError, LooseModeError } from '../../base/secret.js'
import { DatabaseRefusedError, type Pooling, type Server, serversOf } from './servers.js'

const ID = /^[0-9a-f-]{36}$/

/** To be asked under the lock of the folder. */
export const daemonId = (dataDir: string): string => {
  const file = join(dataDir, 'daemon.id')
  if (!existsSync(file)) {
    writeFileSync(file, `${randomUUID()}\n`, { mode: 0o600, flush: true })
    syncFolder(dataDir)
  }
  const id = readFileSync(file, 'utf8').trim()
  if (!ID.test(id))
    throw new DamagedFileError(`${file} is damaged; remove it, and the daemon makes another in 30 s at most`)
  return id
}

/** What may not be done with a file of URLs by others. */
const FORBIDDEN = 0o037

export const readUrls = (file: string): string => {
  const about = statSync(file)
  if (about.isDirectory())
    throw new DatabaseRefusedError(
      `${file} is a folder: name a file with the URL of the database (store.url_file, or --to)`,
    )
  if ((about.mode & FORBIDDEN) !== 0)
    throw new LooseModeError(`${file} can be read by others; run: chmod 600 ${file}`)
  return readFileSync(file, 'utf8')
}

/** The text that has the URLs, or its file, which is read at each connect: a password may be changed while a daemon runs. */
export type Urls = string | { readonly file: string }

/** As they are now. */
export const serversNow = (urls: Urls, pooler?: Pooling): readonly Server[] =>
  serversOf(typeof urls === 'string' ? urls : readUrls(urls.file), pooler)
