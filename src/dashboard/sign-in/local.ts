/**
 * NAME      local - an address and a password
 * DESCRIPTION
 *   Unknown, disabled and mistaken are one answer. Too many guesses are told when
 *   to come again; a browser in which the person signed in before keeps a proof of
 *   that, and is not kept out by what others try (tenant/identity/local.ts). Who has
 *   a second factor is asked for it next (second.ts).
 */
import { isOurForm, message, notOurForm, refuseWay, returnOf, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { askSecond, letIn } from './second.js'
import { signInAgain, tooManyIn } from './start.js'

const notRight = (deps: SignInDeps, asked: Asked): Reply =>
  signInAgain(deps, asked, 422, { tone: 'bad', says: 'The address or the password is not right.' })

export const signInLocally = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const wrong = refuseWay(deps, asked)
  if (wrong !== null) return wrong
  if (!deps.settings.local) {
    const says = 'Local accounts are switched off here (identity.local).'
    return message(deps, { status: 403, title: 'Not by password', says })
  }
  if (!isOurForm(deps, asked)) return notOurForm(deps, asked)
  const { form, address } = asked
  const attempt = {
    email: form.raw('email'),
    password: form.raw('password'),
    address,
    device: asked.cookie('device'),
  }
  try {
    const user = await deps.provePerson(deps.accountId, attempt)
    if (user === null) return notRight(deps, asked)
    if (user.hasFactor) return askSecond(deps, user, returnOf(asked))
    return (await letIn(deps, asked, user, returnOf(asked))) ?? notRight(deps, asked)
  } catch (error) {
    const { says, headers } = tooManyIn(error)
    return signInAgain(deps, asked, 429, { tone: 'wait', says }, headers)
  }
}
