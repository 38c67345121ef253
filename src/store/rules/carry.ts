/**
 * NAME      carry - how a lot may end, and which mail may come back
 */
import { isAway } from '../../lifecycle/waiting/holds.js'
import { EXPORTED, type Fields, type LotState, MOVED } from '../port/carry.js'

/** From which states a lot may be ended so; one that has ended so already is gone on with. */
export const ENDABLE: Readonly<Record<'taken_back' | 'forgotten', readonly LotState[]>> = {
  taken_back: ['marking', 'exported', 'taken_back'],
  forgotten: ['exported', 'forgotten'],
}

/** A mail leaves whole or not at all: none of its recipients may be under way, held, or with another lot. */
export const mayLeave = (
  recipients: readonly { readonly isLeased: boolean; readonly held: string | null }[],
  lot: string,
): boolean => recipients.every(({ isLeased, held }) => !isLeased && (held === null || held === lot))

interface Left {
  readonly status: string
  readonly held: string | null
  readonly reason: string | null
}

const hasLeft = ({ held, status, reason }: Left): boolean =>
  isAway(held) || (status === 'canceled' && reason === MOVED)

/** Of a mail that is known here: all that its file wants sent has left from here. `find`: what is left of a recipient. */
export const comesBack = (carried: readonly Fields[], find: (id: string) => Left | null): boolean => {
  const exported = carried.filter(({ held }) => held === EXPORTED).map(({ id }) => find(String(id)))
  return exported.length > 0 && exported.every((one) => one !== null && hasLeft(one))
}
