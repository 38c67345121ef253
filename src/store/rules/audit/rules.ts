/**
 * NAME      rules - what each verb leaves in the audit
 * DESCRIPTION
 *   One row for each verb that changes what people own; of the others nothing is
 *   written. Secrets, hashes and the text of mail are not in any of them: a new
 *   password is told as `password_changed`.
 */
import type { Rules } from './entry.js'
import { MAIL_RULES } from './rules-mail.js'
import { PEOPLE_RULES } from './rules-people.js'
import { TENANT_RULES } from './rules-tenants.js'

export const RULES: Rules = { ...TENANT_RULES, ...MAIL_RULES, ...PEOPLE_RULES }
