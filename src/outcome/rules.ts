/**
 * NAME      rules - a site's own lines of the table, ready for use
 *   From the file that `bounce.rules_file` names, by way of its shape (config/rules-file.ts) and its meaning
 *   (mail/report/classify.ts). A mistake in it is a mistake in the settings: nothing starts with half a table.
 */
import { readRulesFile, rulesProblem } from '../config/rules-file.js'
import type { CategoryRule } from '../mail/report/category.js'
import { readRules } from '../mail/report/classify.js'

/** Throws ConfigError; no file, no rules. */
export const rulesIn = (file: string | null): readonly CategoryRule[] => {
  if (file === null) return []
  const written = readRulesFile(file)
  try {
    return readRules(written)
  } catch (error) {
    if (error instanceof TypeError) throw rulesProblem(file, error.message)
    throw error
  }
}
