/**
 * NAME      exported - what a page shows, all of it, as a file
 * DESCRIPTION
 *   With the session of the person who looks, so that it holds what /v1 would give. It is read as the browser takes it,
 *   and no further when the browser has gone. The day in its name is in UTC, as are the times in it.
 */
import { type AskAnswer, jsonOf, type Query } from '../ask.js'
import type { Raw } from '../page.js'
import { useVisit } from '../render.js'
import type { AskFor, Visit } from '../visit.js'

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

interface ExportLinksProps {
  readonly path: string
  /** What the links carry beside the filters of the page. */
  readonly keep?: Query
}

export const ExportLinks = ({ path, keep = {} }: ExportLinksProps) => {
  const visit = useVisit()
  return (
    <span>
      <a href={visit.beside(path, { ...keep, format: 'csv' })}>Export CSV</a>,{' '}
      <a href={visit.beside(path, { ...keep, format: 'ndjson' })}>NDJSON</a>
    </span>
  )
}
