/**
 * NAME      steps - what changed a database, release after release
 *   Each step brings a database one number on. One that is released is never edited; a new one is added at the end, and
 *   comes with a new version of the package (test/house/releases.test.ts says which brought which). A database of 0.9.0
 *   or later takes the steps that it lacks. A new one is made by schema.ts and takes those after it.
 */
import { DOMAIN_REPORTS, FORMATS, SETUPS, WARMUP } from '../../sql/schema.js'
import { RULES } from './schema.js'

/** The number of 0.9.0: what is older is refused. */
export const OLDEST = 43

/** From OLDEST on. */
export const STEPS: readonly string[] = [
  RULES,
  SETUPS,
  'ALTER TABLE keys ADD COLUMN ses_salt BLOB',
  FORMATS,
  WARMUP,
  DOMAIN_REPORTS,
  // 1.0.0 was made here
]

/** The number that they lead to. */
export const NEWEST = OLDEST + STEPS.length
