/**
 * NAME      export-links - what a page shows, all of it, as a file
 */
import type { Query } from '../ask.js'
import { useVisit } from '../render/context.js'

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
