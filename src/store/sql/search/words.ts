/**
 * NAME      words - the index of words, as each database has it
 */
import type { Asking, Row } from '../query.js'
import type { Lead } from './leads.js'

/** What a mail's tokens must be. */
export type Sought = string | { readonly all: readonly Sought[] } | { readonly any: readonly Sought[] }

/** All of the one, and none of the others. */
export interface Expression {
  readonly wanted: readonly Sought[]
  readonly unwanted: readonly Sought[]
}

export interface Words {
  /** Mails whose tokens are so. For one search: it may remember how quick the last look was. */
  lead(expression: Expression): Lead
  /** Whether a mail has all of these tokens. */
  hasMail(tokens: readonly string[]): Asking<boolean>
  /** Rows of mails (mails/rows.ts) at these places, in any order. */
  mailsAt(ords: readonly number[]): Asking<readonly Row[]>
  /** Their recipients: `email_ord`, `address_lc`, `status`, `reason`, `held`. */
  recipientsAt(ords: readonly number[]): Asking<readonly Row[]>
  /** Those of them that a recipient complained about, as far as the report could be believed: `email_ord`. */
  complainedAt(ords: readonly number[]): Asking<readonly Row[]>
  /** How many are best asked for together. */
  readonly together: number
  /** The table of recipients that are held. */
  readonly held: string
  /** Work for what surrounds a page, in ms. */
  readonly asideMs: number
}
