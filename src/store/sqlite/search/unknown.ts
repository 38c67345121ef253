/**
 * NAME      unknown - terms that name what is not there
 * DESCRIPTION
 *   A key that was never made finds nothing, and negated everything: whoever mistyped it must be told. A thing that is
 *   gone is known as long as there is mail of it in the index.
 */

import type { Term } from '../../../mail/query/query.js'
import { CATEGORIES } from '../../../mail/report/category.js'
import type { SearchFilter } from '../../port/ledger.js'
import { TOP } from '../../sql/order/ord.js'
import type { Statements } from '../read/statements.js'
import { keysCalled } from './keys.js'
import { partsIn } from './parts.js'
import { TOKENS } from './tokens.js'

export const unknownIn = (sql: Statements, { accountId, query }: SearchFilter): readonly Term[] => {
  const hasMail = (token: string): boolean =>
    partsIn(sql, { from: 0, to: TOP }, 'older').some(
      (part) =>
        sql(`SELECT 1 FROM ${part} WHERE ${part} MATCH ? LIMIT 1`).get(
          `"${token}" AND "${TOKENS.account(accountId)}"`,
        ) !== undefined,
    )
  const isKnown = ({ field, value }: Term): boolean => {
    switch (field) {
      case 'key':
        return keysCalled(sql, accountId, value).length > 0 || hasMail(TOKENS.key(value))
      case 'pool':
        return (
          sql('SELECT 1 FROM pools WHERE account_id = ? AND (id = ? OR name = ?)').get(
            accountId,
            value,
            value,
          ) !== undefined
        )
      case 'tag':
        return hasMail(TOKENS.tag(value))
      case 'reason':
        return (
          Object.hasOwn(CATEGORIES, value.toLowerCase()) ||
          sql(
            'SELECT 1 FROM recipients WHERE workspace IN (SELECT n FROM workspaces WHERE account_id = ?) AND reason = ? LIMIT 1',
          ).get(accountId, value.toLowerCase()) !== undefined
        )
      default:
        return true
    }
  }
  return query.terms.filter((term) => !isKnown(term))
}
