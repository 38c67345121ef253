/**
 * NAME      by - a store whose changes are somebody's
 */
import type { Actor } from '../../port/identity.js'
import type { Verbs } from '../session.js'

/** The same verbs, whose calls say who acts; with `entry` all of them are one order. */
export const actingVerbs =
  (current: () => Verbs, actor: Actor, entry: string | null): (() => Verbs) =>
  () => {
    const verbs = current()
    return { ...verbs, client: verbs.client.by({ actor, entry }) }
  }
