/**
 * NAME      lead - how the clock stands to the order of rows
 */

import { timeOf } from '../../sql/pages.js'
import type { Statements } from './statements.js'

export const createLeadRead = (sql: Statements) => ({
  clockLead: (now: number): number => now - timeOf(Number(sql('SELECT last FROM order_state').get()?.last)),
})
