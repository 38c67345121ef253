/**
 * The document of the API as it is written down: every path, parameter, member, limit, word and example. Of refusals stand
 * the codes by their status; what else they say is the same for all, and stands as a hash.
 */
import { createHash } from 'node:crypto'
import t from 'tap'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { openApi } from '../../src/http/openapi/document.js'
import { compact, demandPaper } from './paper.js'

interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>
}

const responseOf = ({ headers = {}, ...rest }: Response) => ({ ...rest, headers: Object.keys(headers) })

const operationOf = ({ responses, ...rest }: Operation) => {
  const all = Object.entries(responses)
  const refused = all.filter(([status]) => !status.startsWith('2'))
  return {
    ...rest,
    answers: Object.fromEntries(
      all.filter(([status]) => status.startsWith('2')).map(([status, one]) => [status, responseOf(one)]),
    ),
    refusals: Object.fromEntries(refused.map(([status, { description }]) => [status, description])),
    hash: createHash('sha256').update(JSON.stringify(refused)).digest('hex').slice(0, 12),
  }
}

t.test('the document of the API', (t) => {
  const all = endpoints({} as HttpDeps, () => 'https://mail.test')
  const { paths, ...rest } = openApi(all, 'https://mail.test', 'v1')
  const operations = Object.entries(paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(
        ([method, one]) => `${method.toUpperCase()} ${path} ${compact(operationOf(one))}`,
      ),
  )
  demandPaper(t, 'openapi', [...operations, compact(rest)])
  t.end()
})
