/** A program as it is handed out serves a database on a server: each of its threads has come to write there. */
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { eventually } from './eventually.js'
import { postgres } from './postgres.js'
import { untilSaid } from './run.js'

export const servesOnPostgres = async (
  t: Test,
  {
    command,
    dir,
    uid = 0,
    env = {},
  }: {
    /** It ends with `serve`. */
    readonly command: readonly string[]
    /** Where a folder of it can be. */
    readonly dir: string
    readonly uid?: number
    readonly env?: Readonly<Record<string, string>>
  },
): Promise<void> => {
  const server = await postgres()
  const url = server.database()
  const own = mkdtempSync(join(dir, 'on-postgres-'))
  t.teardown(() => rmSync(own, { recursive: true, force: true }))
  const urlFile = join(own, 'url')
  writeFileSync(urlFile, url, { mode: 0o600 })
  for (const path of [own, urlFile]) if (uid !== 0) chownSync(path, uid, uid)
  const settings = {
    ...{ POSTERN_STORE__DRIVER: 'postgres', POSTERN_STORE__URL_FILE: urlFile },
    ...{ POSTERN_DATA_DIR: join(own, 'data'), ...env },
  }
  const wrote = 'SELECT role FROM writers WHERE frontier > 0 ORDER BY role'
  const roles = () => server.sql(url.split('/').at(-1) ?? '', wrote).split('\n')
  // the doors open before the threads are there
  const all = () => eventually('each thread has come to write', () => roles().length === 3).catch(() => {})
  const { code, stdout } = await untilSaid(command, own, /"listening"/, settings, all)
  t.equal(code, 0, stdout)
  t.same(roles(), ['followers', 'main', 'relay'])
}
