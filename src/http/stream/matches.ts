/**
 * NAME      matches - whether a filter of the log lets a record through
 * DESCRIPTION
 *   The store answers the same for who reads by himself; here it is asked of
 *   records that were read once for all. A test holds the two against each other.
 */
import { wireAddress } from '../../mail/address.js'
import type { LogFilter, LogRow } from '../../store/port/log.js'

const plain = (address: string): string => wireAddress(address).toLowerCase()

export const matcherOf = (filter: LogFilter): ((row: LogRow) => boolean) => {
  const { accountId, workspaceId, accountWide, mode, emailId, change, createdAfter, createdBefore } = filter
  const types = filter.types && new Set(filter.types)
  const recipient = filter.recipient === null ? null : plain(filter.recipient)
  const isOurs = (row: LogRow): boolean =>
    row.accountId === accountId &&
    (row.workspaceId === null ? accountWide : workspaceId === null || row.workspaceId === workspaceId)
  return (row) =>
    isOurs(row) &&
    (mode === null || row.mode === mode) &&
    (types === null || types.has(row.type)) &&
    (emailId === null || row.emailId === emailId) &&
    (recipient === null || (row.recipient !== null && plain(row.recipient) === recipient)) &&
    (change === null || row.change === change) &&
    (createdAfter === null || row.createdAt > createdAfter) &&
    (createdBefore === null || row.createdAt < createdBefore)
}
