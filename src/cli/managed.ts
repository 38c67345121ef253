/**
 * NAME      managed - which setup made what a command shows or changes
 */
import { type Managed, withManaged } from '../resource/managed.js'
import type { CliContext } from './context.js'
import type { Paint } from './table.js'
import type { Terminal } from './terminal.js'

export const managedText = ({ setup, name }: Managed): string => `${setup}: ${name}`

/** What a record of `withManaged` says. */
export const managedOf = (record: unknown): Managed | null =>
  (record as { readonly managed?: Managed | null } | null)?.managed ?? null

/** Prints records as the API answers them; people also hear of a setup that made one, and what a change by hand means. */
export const tellRecord = async (
  { store, account }: Pick<CliContext, 'store' | 'account'>,
  terminal: Terminal,
  record: unknown,
  draw: (paint: Paint) => string,
): Promise<void> => {
  const told = await withManaged(store, account.id, record)
  terminal.data(told, draw)
  const made = (Array.isArray(told) ? told : [told]).map(managedOf).find((one) => one !== null)
  if (made !== undefined && made !== null)
    terminal.say(
      `the setup ${made.setup} made it, as ${made.name}: what is changed by hand, postern apply leaves alone until --adopt`,
    )
}
