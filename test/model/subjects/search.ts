/**
 * NAME      search - finding mail by a query, up to where the index is
 */

import { isAway } from '../../../src/lifecycle/orders.js'
import { readMark } from '../../../src/lifecycle/page.js'
import { matches, type Sought, type Term, termsIn } from '../../../src/mail/query.js'
import { CATEGORIES } from '../../../src/mail/report/category.js'
import type { EmailSearch, SearchFilter } from '../../../src/store/port/mail.js'
import { createMatches, recipientsOf, rowOf } from '../ledger.js'
import { pageOf } from '../page.js'
import type { Plain } from '../plain.js'
import type { Mail, State } from '../state.js'

const createSought = (state: State) => {
  const { pools, keys, credentials, events } = state
  const keysCalled = (account: string, name: string): readonly string[] =>
    [
      ...keys.where(
        (row) => row.accountId === account && (row.name === name || `svc_${row.mode}_${row.lookup}` === name),
      ),
      ...credentials.where(
        (row) => row.accountId === account && (row.username === name || row.cidr === name),
      ),
    ].map(({ id }) => id)

  const soughtOf = (mail: Mail): Sought => {
    const { id, subject, from, messageId, tags, mode, status, poolId, submittedBy = null } = mail
    return {
      ...{ id, subject, from, messageId, tags, mode, status, poolId },
      poolName: pools.get(poolId)?.name ?? '',
      isResent: mail.extras?.resent_from !== undefined,
      isOfKey: (name) =>
        submittedBy !== null && [name, ...keysCalled(mail.accountId, name)].includes(submittedBy),
      hasAttachment: mail.attachments.length > 0,
      isComplained:
        events.where((row) => row.emailId === id && row.type === 'email.complained' && row.applied).length >
        0,
      recipients: recipientsOf(state, id).map(({ address, reason, held, status }) => ({
        ...{ address: address.toLowerCase(), reason },
        isHeld: held !== null && !isAway(held),
        isDeferred: status === 'deferred',
      })),
    }
  }

  return { keysCalled, soughtOf }
}

/** Of the last mail that is in the index, or could be. */
const placeIn = ({ marks }: State): number => {
  const { ord, n = 0 } = readMark(marks.get('search') ?? '1') ?? { ord: 1 }
  return n > 0 ? ord : ord - 1
}

const createKnown = (state: State) => {
  const { mails, pools } = state
  const { keysCalled, soughtOf } = createSought(state)
  /** What it names is there, or there is mail of it. */
  return (accountId: string, term: Term): boolean => {
    const { field, value } = term
    if (!['key', 'pool', 'tag', 'reason'].includes(field)) return true
    if (field === 'key' && keysCalled(accountId, value).length > 0) return true
    if (field === 'reason' && Object.hasOwn(CATEGORIES, value.toLowerCase())) return true
    if (field === 'pool')
      return (
        pools.where((row) => row.accountId === accountId && [row.id, row.name].includes(value)).length > 0
      )
    const query = { terms: [{ ...term, negated: false }], from: null, before: null }
    return mails
      .all()
      .some(
        ({ ord, row }) =>
          ord <= placeIn(state) && row.accountId === accountId && matches(query, soughtOf(row), true),
      )
  }
}

export const createSearch = (state: State): Plain<EmailSearch> => {
  const { mails } = state
  const isListed = createMatches(state)
  const { soughtOf } = createSought(state)
  const isKnown = createKnown(state)
  const place = (): number => placeIn(state)
  const ahead = () => mails.all().filter(({ ord }) => ord > place())

  const isFound = (filter: SearchFilter) => {
    const { query, subjects } = filter
    const isInList = isListed(filter)
    return (mail: Mail): boolean =>
      mail.messageId !== '' &&
      isInList(mail) &&
      (query.from === null || mail.createdAt >= query.from) &&
      (query.before === null || mail.createdAt < query.before) &&
      matches(query, soughtOf(mail), subjects)
  }

  return {
    notIndexedSince: () => ahead()[0]?.row.createdAt ?? null,
    searchEmails(filter, page) {
      const found = isFound(filter)
      const indexed = mails.all().filter(({ ord, row }) => ord <= place() && found(row))
      const isFirst = page.direction === 'older' && page.anchor === null
      const unknown = isFirst ? termsIn(filter.query).filter((term) => !isKnown(filter.accountId, term)) : []
      return { ...pageOf(indexed, page, ({ row }) => rowOf(row)), unknown, searchedTo: null }
    },
  }
}
