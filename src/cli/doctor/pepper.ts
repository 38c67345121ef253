/**
 * NAME      pepper - is there one, is there only one, and is it that of the database?
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findPeppers, pepperFile } from '../../keys/pepper.js'
import { adminOf } from '../../store/open.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

export const checkPepper: Check = async ({ config }) => {
  const database = join(config.data_dir, 'postern.db')
  const hasDatabase = existsSync(database)
  const file = pepperFile(config)
  const found = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
  const [first] = found
  if (first === undefined) {
    if (!hasDatabase) return [warn('pepper', 'none yet: the first start makes it', 'postern serve')]
    return [
      fail(
        'pepper',
        `${file} is missing: no key of the database works`,
        `cp /from/backup/pepper ${file}`,
        74,
      ),
    ]
  }
  const mark = hasDatabase ? (await adminOf(database)).pepperMark() : null
  const right = mark === null ? first : found.find((one) => one.mark === mark)
  if (right === undefined) {
    const detail = `${first.file} is not the pepper of the database (${first.mark}, wanted ${mark})`
    return [fail('pepper', detail, `cp /from/backup/pepper ${file}`, 78)]
  }
  const wrong: readonly Finding[] = found
    .filter(({ mark: other }) => other !== right.mark)
    .map((one) =>
      fail(
        'pepper',
        `${one.file} is another pepper than ${right.file}${mark === null ? '' : ', which is that of the database'}`,
        `mv ${one.file} ${one.file}.other`,
        78,
      ),
    )
  return wrong.length > 0 ? wrong : [ok('pepper', `${right.file}, mark ${right.mark}`)]
}
