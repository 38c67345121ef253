/**
 * NAME      steps - what changed a database, release after release
 *   Each step brings a database one number on; those of a release are never edited, a new one is added at the end. A
 *   database of 0.9.0 or later takes the steps that it lacks. A new one is made by schema.ts and takes those after it.
 *   Daemons of the release before serve while a step is made and after it, so a step only adds: a table, a column that may
 *   be left out, an index. What nobody of that release uses any more is dropped one release later, by a step whose
 *   `compatibleFrom` says that it cannot go on.
 *   Each step comes with a new version of the package: test/house/releases.test.ts says which brought which.
 */
import { DOMAIN_REPORTS, FORMATS, SETUPS, WARMUP } from '../../sql/schema.js'
import { MOVED_RULES, RULE_TRIGGERS, tables } from './schema.js'

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

/** The number of 0.9.0: what is older is refused. */
export const OLDEST = 6

/**
 * The next step makes the function anew. That of 0.10.3 updated the row in each transaction, so that one waited for the
 * other.
 */
const FIRST_RULES = `
CREATE TABLE rules (n bigint NOT NULL);
INSERT INTO rules VALUES (0);
CREATE FUNCTION move_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;${RULE_TRIGGERS}`

/** From OLDEST on. */
export const STEPS: readonly SchemaStep[] = [
  { text: tables(SETUPS), compatibleFrom: 1 },
  { text: tables('ALTER TABLE keys ADD COLUMN ses_salt BLOB'), compatibleFrom: 1 },
  { text: tables(FORMATS), compatibleFrom: 1 },
  { text: tables(WARMUP), compatibleFrom: 1 },
  { text: tables(DOMAIN_REPORTS), compatibleFrom: 1 },
  { text: FIRST_RULES, compatibleFrom: 1 },
  { text: `ALTER TABLE rules RENAME TO rule_moves;${MOVED_RULES}`, compatibleFrom: 1 },
  // 1.0.0 was made here
]

/** The number that these steps lead to. */
export const numberOf = (steps: readonly SchemaStep[]): number => OLDEST + steps.length

/** The newest that this Postern knows. */
export const SCHEMA = numberOf(STEPS)
