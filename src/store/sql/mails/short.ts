/**
 * NAME      short - what of a mail can be made of its other columns
 * DESCRIPTION
 *   A Message-ID that we gave is the id of its mail and the name of this host; an
 *   address is stored as it was written only where that differs from `address_lc`. The
 *   whole texts are columns that the database makes.
 */

/** Word for word in the index and in each query, or SQLite would not use it. */
export const FOREIGN_MESSAGE_ID = 'message_host IS NULL AND substr(message, 2, 29) <> id'

/** A longer one is no key of an index everywhere, and found by nobody. */
export const INDEXED_MESSAGE_ID = `${FOREIGN_MESSAGE_ID} AND length(message) < 600`

/** In a SELECT of recipients: whose they are. */
export const EMAIL_ID = '(SELECT e.id FROM emails e WHERE e.ord = email_ord) AS email_id'

/** In a condition on recipients: those of one mail. */
export const OF_EMAIL = 'email_ord = (SELECT ord FROM emails WHERE id = ?)'

export const shortMessageId = (id: string, messageId: string) => {
  const start = `<${id}@`
  return messageId.startsWith(start) && messageId.endsWith('>')
    ? { message: '', message_host: messageId.slice(start.length, -1) }
    : { message: messageId, message_host: null }
}

export const shortAddress = (address: string) => {
  const address_lc = address.toLowerCase()
  return { written: address === address_lc ? '' : address, address_lc }
}
