/**
 * NAME      lead - how the clock stands to the order of rows
 */
import type { Statements } from '../read/statements.js'
import { timeOf } from './ord.js'

export const createLeadRead = (sql: Statements) => ({
  clockLead: (now: number): number => now - timeOf(Number(sql('SELECT last FROM order_state').get()?.last)),
})
