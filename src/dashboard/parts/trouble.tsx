/**
 * NAME      trouble - pages that say why there is no page
 * DESCRIPTION
 *   What is gone, what may not be seen, what failed: each in a sentence, with a way on. A request id where there is one,
 *   since that is what the log knows.
 */
import { leastFor, type Operation } from '../../tenant/rights.js'
import type { Problem } from '../ask.js'
import type { View } from '../page.js'
import type { Visit } from '../visit.js'
import { Empty } from './page-parts.js'

const TITLES: Readonly<Record<number, string>> = {
  403: 'Not for your role',
  404: 'Nothing is here',
  413: 'Too large',
  429: 'Too many requests',
  503: 'Not available for now',
}

/** Details of /v1 begin small and end without a full stop. */
export const asSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

export const troubleView = (problem: Problem): View => {
  const { status, title, detail, request_id: id } = problem
  const heading = TITLES[status] ?? title
  return {
    title: heading,
    status,
    body: (
      <Empty whole title={heading}>
        <p>{asSentence(detail ?? title)}</p>
        {id === undefined ? null : (
          <p class="soft">
            Request <code>{id}</code>
          </p>
        )}
        <p>
          <a href="/">To the overview</a>
        </p>
      </Empty>
    ),
  }
}

const neededFor = (operation: Operation, role: string | null): string => {
  const least = leastFor(operation)
  if (least === 'bodies' || least === 'subjects') return 'Viewers do not see what is written in mail.'
  return `This needs the role ${least}; yours is ${role}.`
}

/** For whoever may not do what a page, or a form of it, is for; null for everybody else. */
export const refusalOf = (visit: Visit, operation: Operation | undefined): Problem | null =>
  operation === undefined || visit.may(operation)
    ? null
    : {
        title: 'Not for your role',
        status: 403,
        code: 'auth.role_forbidden',
        detail: neededFor(operation, visit.who.role),
      }

export const NOT_FOUND: Problem = {
  title: 'No such page',
  status: 404,
  code: 'route.not_found',
  detail: 'No page has this address. It may have been written wrong, or what it showed is gone.',
}
