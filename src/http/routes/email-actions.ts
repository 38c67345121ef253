/**
 * NAME      email-actions - what happens to an email after it was accepted
 * DESCRIPTION
 *   Its events, and for scheduled mail another time or none. Changing and
 *   cancelling compare and set against the dispatcher: exactly one of them wins.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { event } from '../../record/event.js'
import type { RescheduleResult } from '../../store/port/queue.js'
import { readSchedule } from '../../submission/schedule.js'
import { type Deps, listing } from '../deps.js'
import { type Answer, type Call, type Endpoint, endpoint, param } from '../endpoint.js'
import { email as emailShape } from '../shapes/email.js'
import * as shapes from '../shapes/email-action.js'
import { event as eventShape } from '../shapes/event.js'
import { findEmail, fullEmail, scopeOf } from './emails.js'

const answer = async (deps: Deps, call: Call, result: RescheduleResult): Promise<Answer> => {
  if (result === 'not_found') throw new Fault('email.not_found')
  if (result === 'not_scheduled') throw new Fault('resource.conflict', { reason: 'not_scheduled' })
  return { status: 200, body: await fullEmail(deps, call, await findEmail(deps, call)) }
}

const shared = {
  access: 'any',
  workspace: 'optional',
  answers: { 200: emailShape },
  faults: ['email.not_found', 'resource.conflict'],
} as const

const scheduled = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...shared,
    id: 'rescheduleEmail',
    method: 'PATCH',
    path: '/v1/emails/{id}',
    summary: 'Send a scheduled email at another time',
    description:
      'At most 30 days ahead. Mail whose time has come is no longer scheduled: 409 `resource.conflict`, reason `not_scheduled`.',
    body: shapes.reschedule,
    alsoWrong({ body }) {
      const errors: FieldError[] = []
      readSchedule(body.scheduled_at ?? null, deps.clock.now(), 'body.scheduled_at', errors)
      return errors
    },
    async handle(call) {
      const now = deps.clock.now()
      const errors: FieldError[] = []
      const at = readSchedule(call.body.scheduled_at, now, 'body.scheduled_at', errors) ?? now
      if (errors.length > 0) throw invalid(errors)
      return answer(deps, call, await deps.store.reschedule(scopeOf(call), param(call, 'id'), at, now))
    },
  }),
  endpoint({
    ...shared,
    id: 'cancelEmail',
    method: 'POST',
    path: '/v1/emails/{id}/cancel',
    summary: 'Do not send a scheduled email',
    description:
      'Asking again gives the same answer. Mail whose time has come is no longer scheduled: 409 `resource.conflict`, reason `not_scheduled`.',
    body: shapes.nothing,
    handle: async (call) =>
      answer(deps, call, await deps.store.cancel(scopeOf(call), param(call, 'id'), deps.clock.now())),
  }),
]

const history = (deps: Deps): readonly Endpoint[] => [
  listing(deps, {
    id: 'listEmailEvents',
    path: '/v1/emails/{id}/events',
    summary: 'What happened to an email, newest first',
    description:
      'Acceptance, each attempt, and each report that came back, also those that changed nothing (`applied: false`).',
    access: 'any',
    workspace: 'optional',
    of: eventShape,
    faults: ['email.not_found'],
    async rows(call) {
      const { id } = await findEmail(deps, call)
      return { name: `events ${id}`, fetch: (page) => deps.store.events(id, page), render: event }
    },
  }),
]

export const emailActions = (deps: Deps): readonly Endpoint[] => [...scheduled(deps), ...history(deps)]
