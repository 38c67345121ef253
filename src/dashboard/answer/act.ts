/**
 * NAME      act - what a form of a page does
 * DESCRIPTION
 *   It carries the token of its session and comes from our own origin, or it is shown again with a word about it, as is
 *   what /v1 refuses.
 */
import type { Request } from '@hapi/hapi'
import { AskError, type Problem } from '../ask.js'
import { Form } from '../form.js'
import { isOwnOrigin, sameToken } from '../own-form.js'
import type { Page } from '../page.js'
import { refusalOf, troubleView } from '../parts/trouble.js'
import type { Visit } from '../visit.js'
import type { Answer } from './respond.js'

const STALE: Problem = {
  title: 'This form is older than your sign-in',
  status: 403,
  code: 'dashboard.form_stale',
  detail:
    'Nothing was changed: this form is older than your sign-in. What you typed is still here; send it again.',
}

const NO_ACTION: Problem = { ...STALE, title: 'This page has no such action', status: 400 }

export const act = async (page: Page, { payload, raw }: Request, visit: Visit): Promise<Answer> => {
  const form = new Form(String(payload ?? ''))
  const action = form.raw('_action')
  const run = Object.hasOwn(page.actions ?? {}, action) ? page.actions?.[action] : undefined
  const again = async (problem: Problem): Promise<Answer> => {
    const refused = { action, form, problem }
    const view = await page.view(visit, refused)
    return { view: { ...view, status: problem.status }, visit, refused }
  }
  const isOurs = isOwnOrigin(raw.req.headers, visit.baseUrl)
  if (!isOurs || !sameToken(form.raw('_form'), visit.formToken)) return again(STALE)
  const does = page.does?.[action]
  if (run === undefined || does === undefined) return again(NO_ACTION)
  const refusal = refusalOf(visit, page.opens) ?? refusalOf(visit, does)
  if (refusal !== null) return { view: troubleView(refusal), visit }
  try {
    const done = await run(visit, form)
    return 'view' in done ? { view: done.view, visit } : done
  } catch (error) {
    if (!(error instanceof AskError) || error.problem.status === 401) throw error
    return again(error.problem)
  }
}
