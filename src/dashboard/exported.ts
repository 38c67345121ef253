/**
 * NAME      exported - what /v1 has as a file, saved by a browser
 * DESCRIPTION
 *   With the session of whoever looks, so that it holds what /v1 would give. It is read as the browser takes it, and no
 *   further when the browser has gone. The day in its name is in UTC, as are the times in it.
 */
import { type AskAnswer, jsonOf } from './ask.js'
import type { Raw } from './page.js'
import type { AskFor, Visit } from './visit.js'

const bodyOf = (answer: AskAnswer) => answer.stream ?? jsonOf<never>(answer)

/** Of a list or of statistics; refused like a page. */
export const exported = async (visit: Visit, path: string, { query, ...rest }: AskFor): Promise<Raw> => {
  const format = visit.query('format') === 'ndjson' ? 'ndjson' : 'csv'
  const answer = await visit.fetch('GET', path, { ...rest, query: { ...query, format }, streamed: true })
  const body = bodyOf(answer)
  const name = `postern-${path.split('/').at(-1)}-${new Date(visit.now).toISOString().slice(0, 10)}.${format}`
  return {
    status: 200,
    headers: {
      'content-type': answer.headers['content-type'] ?? 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    },
    body,
  }
}
