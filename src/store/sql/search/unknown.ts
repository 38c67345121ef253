/**
 * NAME      unknown - terms that name what is not there
 * DESCRIPTION
 *   A key that was never made finds nothing, and negated everything: whoever mistyped it must be told. A thing that is
 *   gone is known as long as there is mail of it in the index.
 */

import { type Term, termsIn } from '../../../mail/query.js'
import { CATEGORIES } from '../../../mail/report/category.js'
import type { SearchFilter } from '../../port/mail.js'
import { type Asking, first } from '../query.js'
import { keysCalled } from './keys.js'
import { TOKENS } from './tokens.js'
import type { Words } from './words.js'

const POOL = 'SELECT 1 AS found FROM pools WHERE account_id = ? AND (id = ? OR name = ?)'
const REASON =
  'SELECT 1 AS found FROM recipients WHERE workspace IN (SELECT n FROM workspaces WHERE account_id = ?) AND reason = ? LIMIT 1'

function* isKnown(
  { hasMail }: Pick<Words, 'hasMail'>,
  accountId: string,
  { field, value }: Term,
): Asking<boolean> {
  const mailWith = (token: string) => hasMail([token, TOKENS.account(accountId)])
  switch (field) {
    case 'key':
      return (yield* keysCalled(accountId, value)).length > 0 || (yield* mailWith(TOKENS.key(value)))
    case 'pool':
      return (yield* first(POOL, accountId, value, value)) !== null
    case 'tag':
      return yield* mailWith(TOKENS.tag(value))
    case 'reason': {
      const reason = value.toLowerCase()
      return Object.hasOwn(CATEGORIES, reason) || (yield* first(REASON, accountId, reason)) !== null
    }
    default:
      return true
  }
}

export function* unknownIn(
  words: Pick<Words, 'hasMail'>,
  { accountId, query }: SearchFilter,
): Asking<readonly Term[]> {
  const unknown: Term[] = []
  for (const term of termsIn(query)) if (!(yield* isKnown(words, accountId, term))) unknown.push(term)
  return unknown
}
