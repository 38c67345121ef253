/**
 * NAME      paper-files - the papers that /docs shows, as texts
 *   Those of config/, and the two that are kept beside the code they describe. In a checkout they are files; where the
 *   program is put together into a few files, this module is made anew with all of them inside, so that every package
 *   carries them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['config', 'config/container']
const BESIDE_CODE = ['src/mail/CONTROL-HEADERS.md', 'src/LOG.md']

/** By path from the top folder. */
export const paperFiles = (
  top: string = join(import.meta.dirname, '../../../../..'),
): ReadonlyMap<string, string> => {
  const found = FOLDERS.filter((folder) => existsSync(join(top, folder))).flatMap((folder) =>
    readdirSync(join(top, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  )
  return new Map([...found, ...BESIDE_CODE].map((file) => [file, readFileSync(join(top, file), 'utf8')]))
}
