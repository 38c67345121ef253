/**
 * NAME      sign-in - the routes that need no session
 * DESCRIPTION
 *   Puts the steps of this folder behind the web server. Every answer is made
 *   here: never stored by anybody, never framed, and those with a one-use link in
 *   their address send no referrer. Cookies follow from base_url.
 */
import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi'
import { cookieRules, readCookie, setCookie } from '../cookie.js'
import { Form, formPayload } from '../form.js'
import { PAGE_HEADERS, prefixOf, renderPage } from '../render.js'
import { isOurForm, message, notOurForm, refuseWay, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { showInvitation, showSetup, useInvitation, useSetup } from './link.js'
import { showSecond, showSignedOut, showSignIn, signInLocally, useSecond } from './local.js'
import { backChannelLogout, signOut } from './sign-out.js'
import { comeBack, goToProvider } from './with-provider.js'

type Step = (deps: SignInDeps, asked: Asked) => Promise<Reply>

/** Not by plain HTTP from another machine. */
const guarded =
  (step: Step): Step =>
  async (deps, asked) =>
    refuseWay(deps, asked) ?? step(deps, asked)

/** As guarded, and the form is one of ours. */
const ownForm = (step: Step): Step =>
  guarded(async (deps, asked) => (isOurForm(deps, asked) ? step(deps, asked) : notOurForm(deps, asked)))

const STEPS: readonly (readonly [method: 'GET' | 'POST', path: string, step: Step])[] = [
  ['GET', '/sign-in', guarded(showSignIn)],
  ['POST', '/sign-in', guarded(signInLocally)],
  ['GET', '/second-factor', guarded(showSecond)],
  ['POST', '/second-factor', ownForm(useSecond)],
  ['GET', '/signed-out', showSignedOut],
  ['GET', '/setup/{token}', guarded(showSetup)],
  ['POST', '/setup/{token}', ownForm(useSetup)],
  ['GET', '/invitation/{token}', guarded(showInvitation)],
  ['POST', '/invitation/{token}', ownForm(useInvitation)],
  ['GET', '/sign-in/{name}', guarded(goToProvider)],
  ['GET', '/sign-in/{name}/callback', comeBack],
  ['POST', '/sign-in/{name}/logout', backChannelLogout],
  ['POST', '/sign-out', signOut],
]

const MOST_FORM = 65_536

const askedOf = (request: Request, baseUrl: string, isTls: boolean): Asked => ({
  params: request.params as Record<string, string>,
  query: request.url.searchParams,
  headers: request.raw.req.headers,
  address: request.app.address,
  peer: request.info.remoteAddress ?? '',
  isTls,
  form: new Form(request.method === 'post' ? String(request.payload ?? '') : ''),
  cookie: (name) => readCookie(request.raw.req.headers.cookie, cookieRules(baseUrl, name).name),
})

const bodyOf = ({ page, json }: Reply, prefix: string): string => {
  if (page !== undefined) return renderPage(page, prefix)
  return json === undefined ? '' : JSON.stringify(json)
}

/** A URL in a header holds no blank, comma or semicolon that would end it. */
const refresh = (to: URL): string => `0; url=${to.href.replace(/[\s;,"']/g, encodeURIComponent)}`

const send = (h: ResponseToolkit, reply: Reply, baseUrl: string): ResponseObject => {
  const prefix = prefixOf(baseUrl)
  const response = h.response(bodyOf(reply, prefix)).code(reply.status)
  const headers = {
    ...PAGE_HEADERS,
    'referrer-policy': 'no-referrer',
    ...(reply.json !== undefined && { 'content-type': 'application/json; charset=utf-8' }),
    ...(reply.to !== undefined && { location: prefix + reply.to }),
    ...(reply.away !== undefined && { location: reply.away.href }),
    ...(reply.next !== undefined && { refresh: refresh(reply.next) }),
    ...reply.headers,
  }
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
  for (const [name, cookie] of Object.entries(reply.cookies ?? {})) {
    const line = setCookie(
      cookieRules(baseUrl, name),
      cookie?.value ?? '',
      cookie === null ? 0 : cookie.seconds,
    )
    response.header('set-cookie', line, { append: true })
  }
  return response
}

export const signInRoutes = (deps: SignInDeps, isTls: boolean): readonly ServerRoute[] =>
  STEPS.map(([method, path, step]) => ({
    method,
    path,
    options: { auth: false as const, ...(method === 'POST' && { payload: formPayload(MOST_FORM) }) },
    handler: async (request: Request, h: ResponseToolkit) => {
      const baseUrl = deps.baseUrl()
      try {
        return send(h, await step(deps, askedOf(request, baseUrl, isTls)), baseUrl)
      } catch (error) {
        deps.log.error({ event: 'sign_in_failed', path, err: error as Error })
        const says = 'Signing in failed here. The log of Postern says more.'
        return send(h, message(deps, { status: 500, title: 'This did not work', says }), baseUrl)
      }
    },
  }))
