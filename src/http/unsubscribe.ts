/**
 * NAME      unsubscribe - the page behind the link in the header of a mail
 *   A program of the reader posts one field there (RFC 8058), or a person opens it and presses the button, which posts the
 *   same. That field alone changes something: whoever only looks at links, by GET, HEAD or OPTIONS, unsubscribes nobody. No
 *   cookie and no token of a form is asked for, nothing redirects. It may be repeated without harm. Links that are none of ours
 *   are counted by themselves, for the load alone: none can be guessed, and mail programs cut links and ask for them often. The
 *   page names the address by its first letter and its domain.
 */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Request, ResponseToolkit, ServerRoute } from '@hapi/hapi'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { entryOf } from '../lifecycle/suppress.js'
import type { Store } from '../store/port/store.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { type ListReader, ONE_CLICK, readToken } from '../submission/unsubscribe.js'
import { createFailures, type Failures, secondsUntil } from '../tenant/limits.js'
import { listOfWorkspace, suppressionRow } from '../tenant/suppression.js'
import type { UnsubscribeMetrics } from './metrics.js'
import { collect, parseForm } from './wire/body.js'

interface UnsubscribeDeps {
  readonly store: Pick<Store, 'account' | 'accounts' | 'workspace' | 'addSuppression' | 'email'>
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly unsubscribes?: UnsubscribeMetrics | undefined
}

interface Parts extends UnsubscribeDeps {
  /** Links of an address that are none of ours. */
  readonly strays: Failures
}

const MOST_OCTETS = 1024
const MOST_STRAYS = 300
/** With what a program may add behind the link. */
const PATH = '/u/{token*}'

const STYLE =
  'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'button{font:inherit;padding:.5rem 1.2rem}@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}}'
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_DIGEST}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)

/** `ana@example.com` as `a…@example.com`. */
const masked = (email: string): string => {
  const [first = ''] = email
  return `${first}…${email.slice(email.lastIndexOf('@'))}`
}

const BUTTON = `<form method="post"><button name="${ONE_CLICK.name}" value="${ONE_CLICK.value}">Unsubscribe</button></form>`

const page = (title: string, says: string, more = ''): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1><p>${says}</p>${more}</body></html>
`

const whoOf = ({ email }: ListReader): string => `<bdi>${escaped(masked(email))}</bdi>`
const listOf = ({ list }: ListReader): string => `the list <b>${escaped(list)}</b>`

const answer = (h: ResponseToolkit, status: number, html: string) => {
  const response = h.response(html).code(status)
  for (const [name, value] of Object.entries(HEADERS)) response.header(name, value)
  return response
}

const tooMany = (h: ResponseToolkit, seconds: number) =>
  answer(h, 429, page('Too many requests', `Nothing was changed. Try again in ${seconds} seconds.`)).header(
    'retry-after',
    String(seconds),
  )

const unknown = (h: ResponseToolkit) =>
  answer(
    h,
    404,
    page('Not found', 'This link is not whole, or it is none of ours. Copy it from the mail again.'),
  )

/** Whose link it is, or the answer to one that is none of ours. */
const readerOf = ({ pepper, clock, strays, unsubscribes }: Parts, request: Request, h: ResponseToolkit) => {
  const reader = readToken(pepper, String(request.params.token))
  if (reader !== null) return { reader }
  const { address } = request.app
  unsubscribes?.note('forged')
  const { allowed, reset } = strays.peek(address)
  if (!allowed) return { refusal: tooMany(h, secondsUntil(reset, clock.now())) }
  strays.count(address)
  return { refusal: unknown(h) }
}

/** True for a body with the field that means it; null for one that is too large. */
const means = async (request: Request): Promise<boolean | null> => {
  try {
    const octets = await collect(request.payload as Readable, MOST_OCTETS, () => {})
    const parts = parseForm(octets, request.raw.req.headers['content-type'] ?? '')
    return parts.some(({ name, value }) => name === ONE_CLICK.name && value === ONE_CLICK.value)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.code === 'request.body_too_large' ? null : false
  }
}

/**
 * Where the mail was sent from; null where that was deleted. Another installation whose pepper this one has may have sealed
 * the link: of a mail that came here with its queue, under the id it had there, that is where it was sent from here.
 * Undefined for any other mail of theirs.
 */
const workspaceOf = async (
  { store }: UnsubscribeDeps,
  { accountId, workspaceId, mode, emailId }: ListReader,
): Promise<WorkspaceRow | null | undefined> => {
  if ((await store.account(accountId)) !== null) return store.workspace(accountId, workspaceId)
  for (const { id } of await store.accounts()) {
    const mail = await store.email({ accountId: id, workspaceId: null, mode }, emailId)
    if (mail !== null) return store.workspace(id, mail.workspaceId)
  }
  return undefined
}

/** False where nothing is known of the mail. Of a workspace that was deleted there is no mail to stop. */
const unsubscribe = async (deps: UnsubscribeDeps, reader: ListReader): Promise<boolean> => {
  const { store, clock, unsubscribes } = deps
  const { mode, list, email, emailId } = reader
  const workspace = await workspaceOf(deps, reader)
  if (workspace == null) return workspace === null
  const wish = { email: entryOf(email, list), origin: 'unsubscribe' as const, sourceId: emailId }
  const wanted = suppressionRow(listOfWorkspace(workspace, mode), wish, clock.now())
  const { id } = await store.addSuppression(wanted)
  unsubscribes?.note(id === wanted.id ? 'taken' : 'repeated')
  return true
}

const post = (deps: Parts) => async (request: Request, h: ResponseToolkit) => {
  const { reader, refusal } = readerOf(deps, request, h)
  if (refusal !== undefined) return refusal
  const isMeant = await means(request)
  if (isMeant === null)
    return answer(h, 413, page('Too large', 'Nothing was changed.', BUTTON)).header('connection', 'close')
  if (!isMeant)
    return answer(
      h,
      400,
      page(
        'Unsubscribe',
        `Nothing was changed yet: ${whoOf(reader)} gets mail of ${listOf(reader)}.`,
        BUTTON,
      ),
    )
  if (!(await unsubscribe(deps, reader))) return unknown(h)
  return answer(h, 200, page('Unsubscribed', `${whoOf(reader)} gets no more mail of ${listOf(reader)}.`))
}

const show = (deps: Parts) => (request: Request, h: ResponseToolkit) => {
  const { reader, refusal } = readerOf(deps, request, h)
  if (refusal !== undefined) return refusal
  return answer(
    h,
    200,
    page('Unsubscribe', `Send no more mail of ${listOf(reader)} to ${whoOf(reader)}?`, BUTTON),
  )
}

const otherMethod = (_request: Request, h: ResponseToolkit) =>
  answer(h, 405, page('Not possible', 'Open the link from the mail.')).header('allow', 'GET, HEAD, POST')

/** HEAD is answered as GET. */
export const unsubscribeRoutes = (deps: UnsubscribeDeps): readonly ServerRoute[] => {
  const parts = { ...deps, strays: createFailures(deps.clock, () => MOST_STRAYS) }
  const options = { auth: false } as const
  return [
    { method: 'GET', path: PATH, options, handler: show(parts) },
    { method: 'POST', path: PATH, options, handler: post(parts) },
    { method: '*', path: PATH, options, handler: otherMethod },
  ]
}
