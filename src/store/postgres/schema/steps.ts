/**
 * NAME      steps - how the tables came to be as they are, release after release
 * DESCRIPTION
 *   Position i holds the step to version i + 1. Those of a release are never edited. Daemons of the release before serve
 *   while a step is made and after it, so a step only adds: a table, a column that may be left out, an index. What nobody of
 *   that release uses any more is dropped one release later, by a step whose `compatibleFrom` says that it cannot go on.
 *   Each step comes with a new version of the package: test/house/releases.test.ts says which brought which.
 */

import { hardCountsStep } from '../../sql/bounces.js'
import { FACTORS_STEP } from '../../sql/identity.js'
import { SANDBOX_STEP } from '../../sql/reading.js'
import { SETUP_STEP } from '../../sql/setup.js'
import { DOMAIN_REPORTS_STEP, WARMUP_STEP } from '../../sql/tenants.js'
import { FORMATS_STEP } from '../../sql/webhooks.js'
import { CLUSTER } from './cluster.js'
import { MAIL } from './mail.js'
import { RULES_STEP } from './rules.js'
import { SEARCH } from './search.js'
import { SUBJECTS } from './subjects.js'
import { TENANTS } from './tenants.js'
import { tables } from './words.js'

interface Tables {
  /** Short: others wait for its locks. */
  readonly text: string
}

/** On a table that has rows it is made beside those who write, in no transaction. */
export interface Index {
  readonly index: string
  /** Table and columns: `events (workspace, ord)`. */
  readonly on: string
  readonly isUnique?: boolean
}

export type SchemaStep = (Tables | Index) & {
  /** The oldest version whose Postern can serve what this step leaves. */
  readonly compatibleFrom: number
}

export const STEPS: readonly SchemaStep[] = [
  { text: `${CLUSTER}${TENANTS}${MAIL}${SEARCH}${SUBJECTS}`, compatibleFrom: 1 },
  { text: tables(hardCountsStep('floor(extract(epoch FROM now()))')), compatibleFrom: 1 },
  // what a statement of several calls has added to a window
  { text: 'ALTER TABLE rate_windows ADD COLUMN got bigint NOT NULL DEFAULT 0', compatibleFrom: 1 },
  {
    text: tables(`ALTER TABLE keys ADD COLUMN permission TEXT NOT NULL DEFAULT 'full_access';
      ALTER TABLE jobs ADD COLUMN created_by_name TEXT`),
    compatibleFrom: 1,
  },
  { text: tables(SANDBOX_STEP), compatibleFrom: 1 },
  { text: tables(FACTORS_STEP), compatibleFrom: 1 },
  { text: tables(SETUP_STEP), compatibleFrom: 1 },
  { text: tables('ALTER TABLE keys ADD COLUMN ses_salt BLOB'), compatibleFrom: 1 },
  { text: tables(FORMATS_STEP), compatibleFrom: 1 },
  { text: tables(WARMUP_STEP), compatibleFrom: 1 },
  { text: tables(DOMAIN_REPORTS_STEP), compatibleFrom: 1 },
  { text: RULES_STEP, compatibleFrom: 1 },
]

/** The version that they make. */
export const SCHEMA = STEPS.length
