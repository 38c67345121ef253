/**
 * NAME      export-links - what a page shows, all of it, as a file
 */
import type { Query } from '../ask.js'
import type { Visit } from '../visit.js'

interface ExportLinksProps {
  readonly visit: Visit
  readonly path: string
  /** What the links carry beside the filters of the page. */
  readonly keep?: Query
}

export const ExportLinks = ({ visit, path, keep = {} }: ExportLinksProps) => (
  <span>
    <a href={visit.beside(path, { ...keep, format: 'csv' })}>Export CSV</a>,{' '}
    <a href={visit.beside(path, { ...keep, format: 'ndjson' })}>NDJSON</a>
  </span>
)
