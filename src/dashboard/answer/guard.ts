/**
 * NAME      guard - whatever goes wrong on the way to a page is a page, too
 */
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import { outageOf } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import { AskError, type Problem } from '../ask.js'
import type { View } from '../page.js'
import { troubleView } from '../parts/trouble.js'
import type { Visit } from '../visit.js'
import { type ResponseDeps, respond, respondOpenly, toSignIn } from './respond.js'
import { isSignedOut, type Visitors } from './visitor.js'

interface GuardDeps extends ResponseDeps {
  readonly log: Log
  readonly visitors: Visitors
}

type Handle = (request: Request, h: ResponseToolkit) => Promise<ResponseObject>

export interface Guard {
  /** For everybody, with a session or without one. */
  openly(show: (request: Request, visit: Visit | null) => Promise<View>): Handle
  /** For who has signed in; everybody else is sent to do so. */
  guarded(act: (request: Request, h: ResponseToolkit, visit: Visit) => Promise<ResponseObject>): Handle
}

/** Where one gets to without the second factor that everybody must have. */
const ENROLLING: ReadonlySet<string> = new Set(['/settings/second-factor', '/settings/you'])

const FAILED: Problem = {
  title: 'This page failed',
  status: 500,
  code: 'internal.unexpected',
  detail: 'The log says more.',
}

export const createGuard = (deps: GuardDeps): Guard => {
  const { visitors, log, baseUrl } = deps
  const respondTo = (request: Request, h: ResponseToolkit, visit: Visit | null, view: View) =>
    visit === null ? respondOpenly(deps, request, h, view) : respond(deps, h, { view, visit })

  const problemOf = (request: Request, error: unknown): Problem => {
    if (error instanceof AskError) return error.problem
    const outage = outageOf(error)
    if (outage !== null) return { title: outage.row.title, status: outage.row.http, code: outage.code }
    log.error({ event: 'page_failed', path: request.route.path, err: error as Error })
    return FAILED
  }

  return {
    openly: (show) => async (request, h) => {
      let visit: Visit | null = null
      try {
        visit = await visitors.visitIfAny(request)
        return await respondTo(request, h, visit, await show(request, visit))
      } catch (error) {
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    },
    guarded: (act) => async (request, h) => {
      let visit: Visit | null = null
      try {
        visit = await visitors.visitOf(request)
        if (visit.mustEnrol && !ENROLLING.has(visit.url.pathname))
          return await respond(deps, h, { to: '/settings/second-factor' })
        return await act(request, h, visit)
      } catch (error) {
        if (isSignedOut(error)) return toSignIn(baseUrl(), request, h)
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    },
  }
}
