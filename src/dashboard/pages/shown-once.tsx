/**
 * NAME      shown-once - a secret on the only page that ever has it
 * DESCRIPTION
 *   The secret, ready lines to use it, and the way on. Nothing here is kept: once the page is left, the secret is gone.
 */
import type { View } from '../page.js'
import { Code, Head, Note, type Sample, Samples, Section } from '../parts/page-parts.js'
import type { Visit } from '../visit.js'

interface ShownOnceProps {
  readonly visit: Visit
  /** Where its kind is listed. */
  readonly back: readonly [path: string, text: string]
  /** A sentence. */
  readonly title: string
  readonly secrets: readonly { readonly label: string; readonly text: string }[]
  readonly samples?: readonly Sample[]
  /** Before one leaves. */
  readonly says: string
}

export const shownOnce = (props: ShownOnceProps): View => {
  const { visit, back, title, secrets, samples = [], says } = props
  const [path, text] = back
  return {
    title,
    body: (
      <>
        <Head title={title} crumb={[path, text]} />
        <Note tone="ok" icon="delivered">
          <p>{says}</p>
        </Note>
        {secrets.map((one) => (
          <Code label={one.label} text={one.text} />
        ))}
        {samples.length === 0 ? null : (
          <Section title="Try it" says="each line has the secret in it">
            <Samples name="samples" samples={samples} />
          </Section>
        )}
        <p class="actions gap">
          <a class="b main" href={visit.link(path)}>
            I have it; hide it for good
          </a>
        </p>
      </>
    ),
  }
}
