/**
 * NAME      read-back - members that a client read and sends back
 * DESCRIPTION
 *   People read a record, change a member and send the whole of it as a PATCH.
 *   What can not be changed may therefore stand there, as it was read; another
 *   value is refused, since somebody believes that it would take effect.
 */
import Joi from 'joi'
import type { FieldError } from '../../base/fault.js'
import { orNull } from './common.js'

const AS_READ = 'As it was read; it can not be changed here'

export const asRead = {
  text: () => orNull(Joi.string().max(100).description(AS_READ)),
  flag: () => orNull(Joi.boolean().description(AS_READ)),
}

type Members = Readonly<Record<string, unknown>>

/** `records`: what it was, and what else it may say, such as what it is about to become. */
export const notAsRead = (
  sent: object,
  names: readonly string[],
  records: readonly object[],
  at = 'body',
): readonly FieldError[] =>
  names
    .filter((name) => {
      const value = (sent as Members)[name]
      return value != null && !records.some((record) => (record as Members)[name] === value)
    })
    .map((name) => ({ field: `${at}.${name}`, kind: 'forbidden', message: 'can not be changed here' }))
