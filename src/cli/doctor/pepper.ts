/**
 * NAME      pepper - is there one, is there only one, and is it that of the database?
 * DESCRIPTION
 *   And, after it was changed, whose second factor it does not open: authenticator apps are sealed with it.
 */
import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.js'
import { findPeppers, pepperFile } from '../../keys/pepper.js'
import { adminOf, examineServerOf, isLocal, placeOf } from '../../store/open.js'
import { seedOf } from '../../tenant/identity/factors.js'
import type { CliContext } from '../context.js'
import { collect } from '../rows.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

/** The mark that the database has; undefined while there is no database, null when it says nothing. */
const databaseMark = async (config: Config): Promise<string | null | undefined> => {
  if (!isLocal(config)) {
    // that it does not answer is told by the check of the database
    const seen = await examineServerOf(config).catch(() => null)
    return seen?.pepperMark ?? undefined
  }
  const database = placeOf(config.data_dir)
  return existsSync(database) ? (await adminOf(database)).pepperMark() : undefined
}

export const checkPepper: Check = async ({ config }) => {
  const mark = await databaseMark(config)
  const file = pepperFile(config)
  const found = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
  const [first] = found
  if (first === undefined) {
    if (mark === undefined) return [warn('pepper', 'none yet: the first start makes it', 'postern serve')]
    return [
      fail(
        'pepper',
        `${file} is missing: no key of the database works`,
        `cp /from/backup/pepper ${file}`,
        74,
      ),
    ]
  }
  const right = mark == null ? first : found.find((one) => one.mark === mark)
  if (right === undefined) {
    const detail = `${first.file} is not the pepper of the database (${first.mark}, wanted ${mark})`
    return [fail('pepper', detail, `cp /from/backup/pepper ${file}`, 78)]
  }
  const wrong: readonly Finding[] = found
    .filter(({ mark: other }) => other !== right.mark)
    .map((one) =>
      fail(
        'pepper',
        `${one.file} is another pepper than ${right.file}${mark == null ? '' : ', which is that of the database'}`,
        `mv ${one.file} ${one.file}.other`,
        78,
      ),
    )
  return wrong.length > 0 ? wrong : [ok('pepper', `${right.file}, mark ${right.mark}`)]
}

export const checkFactors = async ({ store, account, deps }: CliContext): Promise<readonly Finding[]> => {
  const found: Finding[] = []
  for (const { id, email, hasFactor } of await collect((page) => store.users(account.id, page))) {
    const factors = hasFactor ? await store.factors(id) : []
    if (factors.some((row) => row.kind === 'totp' && seedOf(deps.pepper, row) === null))
      found.push(
        warn(
          'second factor',
          `${email} has an authenticator app of another pepper, and recovery codes: none of them is taken any more`,
          `postern user reset-factors ${email}`,
        ),
      )
  }
  return found
}
