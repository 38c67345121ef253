/**
 * NAME      link - one-use links, as the browser brings them
 */
import type { LinkRow } from '../../store/port/identity.js'
import type { SignInGround } from './ground.js'

/** Cookie in which an invitation waits while the browser is at a provider. */
export const INVITATION = 'invitation'

export const findInvitation = async (_ground: SignInGround, _token: string): Promise<LinkRow | null> => null
