/**
 * NAME      respond - a view or a redirect as an answer of the web server
 */

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import type { VNode } from 'preact'
import { queryText } from '../ask.js'
import type { Assets } from '../assets/assets.js'
import { cookieRules, setCookie } from '../cookie.js'
import { Layout } from '../layout.js'
import { OpenLayout } from '../open-layout.js'
import type { Refused, View } from '../page.js'
import { Untold } from '../parts/form.js'
import { PAGE_HEADERS, prefixOf, renderPage } from '../render/render.js'
import type { Theme, Visit } from '../visit.js'

export interface ResponseDeps {
  readonly baseUrl: () => string
  readonly version: string
  readonly assets: Assets
}

interface Shown {
  readonly view: View
  readonly visit: Visit
  /** The form of the page that was refused. */
  readonly refused?: Refused | null
}

interface Onward {
  readonly to: string
  readonly notice?: string
  readonly theme?: Theme
}

export type Answer = Shown | Onward

const YEAR_S = 31_536_000

const send = (h: ResponseToolkit, status: number, html: string): ResponseObject => {
  // octets, since a text would be counted first and then written again
  const response = h.response(Buffer.from(html)).code(status)
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.header(name, value)
  return response
}

export const toSignIn = (baseUrl: string, request: Request, h: ResponseToolkit): ResponseObject => {
  const back = request.method === 'get' ? request.url.pathname + request.url.search : '/'
  const to = `${prefixOf(baseUrl)}/sign-in${queryText({ return_to: back === '/' ? null : back })}`
  return h.redirect(to).code(303).header('cache-control', 'no-store')
}

const sendOnward = (baseUrl: string, h: ResponseToolkit, { to, notice, theme }: Onward): ResponseObject => {
  const response = h.redirect(prefixOf(baseUrl) + to).code(303)
  const leave = (name: string, value: string, seconds: number) =>
    response.header('set-cookie', setCookie(cookieRules(baseUrl, name), value, seconds), { append: true })
  if (notice !== undefined) leave('notice', encodeURIComponent(notice), 60)
  if (theme !== undefined) leave('theme', theme, theme === 'system' ? 0 : YEAR_S)
  return response
}

const show = async (
  { baseUrl, version, assets }: ResponseDeps,
  h: ResponseToolkit,
  { view, visit, refused = null }: Shown,
): Promise<ResponseObject> => {
  let isTold = refused === null
  const onTold = (): void => {
    isTold = true
  }
  const page = (document: VNode) => renderPage(document, prefixOf(baseUrl()), { visit, refused, onTold })
  // a script that knows the rest
  if (visit.isPart && (view.status ?? 200) === 200) {
    return send(h, 200, page(<main>{view.body}</main>))
  }
  const workspaces = await visit.newestWorkspaces().catch(() => null)
  const summary = await visit.summary()
  const document = (untold: Refused | null) => (
    <Layout {...{ visit, assets, version, workspaces, summary }} title={view.title}>
      {untold === null ? null : <Untold refused={untold} />}
      {view.body}
    </Layout>
  )
  let html = page(document(null))
  if (!isTold) html = page(document(refused))
  const response = send(h, view.status ?? 200, html)
  if (visit.notice === null) return response
  const forgotten = setCookie(cookieRules(baseUrl(), 'notice'), '', 0)
  return response.header('set-cookie', forgotten, { append: true })
}

export const respond = async (
  deps: ResponseDeps,
  h: ResponseToolkit,
  answer: Answer,
): Promise<ResponseObject> => ('to' in answer ? sendOnward(deps.baseUrl(), h, answer) : show(deps, h, answer))

/** A view for somebody without a session, or whose session cannot be asked for. */
export const respondOpenly = (
  { baseUrl, assets }: ResponseDeps,
  request: Request,
  h: ResponseToolkit,
  view: View,
): ResponseObject => {
  const { pathname, search } = new URL(request.url.href)
  const document = (
    <OpenLayout title={view.title} assets={assets} path={pathname + search}>
      {view.body}
    </OpenLayout>
  )
  return send(h, view.status ?? 200, renderPage(document, prefixOf(baseUrl())))
}
