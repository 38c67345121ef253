/**
 * NAME      local - an address and a password
 * DESCRIPTION
 *   Unknown, disabled and mistaken are one answer. Too many guesses are told when
 *   to come again; a browser in which the person signed in before keeps a proof of
 *   that, and is not kept out by what others try (tenant/identity/local.ts).
 */
import { Fault } from '../../base/fault.js'
import { deviceOf } from '../../tenant/identity/local.js'
import { isOurForm, message, notOurForm, refuseWay, returnOf, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { openSession } from './session.js'
import { signInAgain } from './start.js'

const DEVICE_SECONDS = 180 * 86_400

const notRight = (deps: SignInDeps, asked: Asked): Reply =>
  signInAgain(deps, asked, 422, { tone: 'bad', says: 'The address or the password is not right.' })

/** What a fault of the proof means for somebody at a form; rethrows what is none. */
const tooMany = (deps: SignInDeps, asked: Asked, error: unknown): Reply => {
  if (!(error instanceof Fault) || error.row.http !== 429) throw error
  const seconds = error.options.retryAfter ?? 60
  const when = seconds === 1 ? '1 second' : `${seconds} seconds`
  const says = `Too many attempts. Try again in ${when}.`
  return signInAgain(deps, asked, 429, { tone: 'wait', says }, { 'retry-after': String(seconds) })
}

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
    const opened = await openSession(deps, asked, {
      ...{ userId: user.id, provider: 'local' },
      ...{ linkId: null, newUser: null, identity: null, change: null },
    })
    if (opened.done !== 'done') return notRight(deps, asked)
    const device = { value: deviceOf(deps.tenant, user), seconds: DEVICE_SECONDS }
    return { status: 303, to: returnOf(asked), cookies: { ...opened.cookies, device } }
  } catch (error) {
    return tooMany(deps, asked, error)
  }
}
