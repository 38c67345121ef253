/**
 * NAME      acting - who calls a verb
 */
import type { Actor } from '../../port/tenants/audit.js'

export interface Acting {
  readonly actor: Actor
  /** The id of the entry that several calls share; null: each has its own. */
  readonly entry: string | null
}
