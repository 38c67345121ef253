/**
 * NAME      managed - a thing that a setup made says so, and what a change by hand means
 */
import type { Managed } from '../../resource/managed.js'
import { Note } from './page-parts.js'

interface Made {
  readonly row: { readonly managed: Managed | null }
}

/** In a list, below the name. */
export const ManagedMark = ({ row: { managed } }: Made) =>
  managed === null ? null : (
    <span class="sub" title={`as ${managed.name}`}>
      made by the setup {managed.setup}
    </span>
  )

/** On its page. */
export const ManagedNote = ({ row: { managed } }: Made) =>
  managed === null ? null : (
    <Note>
      <p>
        Made by the setup <strong>{managed.setup}</strong>, as <code dir="auto">{managed.name}</code>. What is
        changed here, <code>postern apply</code> leaves alone from then on (<code>!</code>), and what is
        removed here stays removed; so change its files instead.
      </p>
    </Note>
  )
