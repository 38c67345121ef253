/**
 * NAME      docs - the API reference
 * DESCRIPTION
 *   All operations by group, each with its command. Made from the document that the API serves, so it is right for this
 *   very version and needs no network.
 */
import type { OpenPage, RawRoute, Reader } from '../../page.js'
import { Code, Empty, Head, Section } from '../../parts/page-parts.js'
import { Find } from './find.js'
import { GUIDES } from './guides.js'
import { Operations } from './operations.js'
import { type Operation, referenceFor } from './reference.js'

const textOf = ({ parameters, twin, errors, ...one }: Operation): string =>
  [
    ...[one.id, one.method, one.path, one.group, one.summary, one.description, twin.command],
    ...parameters.map(({ name }) => name),
    ...errors,
  ]
    .join(' ')
    .toLowerCase()

const matches = (operation: Operation, words: readonly string[]): boolean => {
  const text = textOf(operation)
  return words.every((word) => text.includes(word))
}

const Begin = ({ baseUrl, reader }: { readonly baseUrl: string; readonly reader: Pick<Reader, 'link'> }) => (
  <Section title="Begin here">
    <ul class="plain">
      {GUIDES.map(({ slug, title, says }) => (
        <li>
          <a href={reader.link(`/docs/guides/${slug}`)}>{title}</a>: {says}
        </li>
      ))}
    </ul>
    <p>
      Each request carries a key: <code>Authorization: Bearer KEY</code>. <a href="/keys">Make one</a>, put it
      into <code>POSTERN_KEY</code>, and paste any sample of these pages. Errors are problem details (RFC
      9457); match on their <code>code</code>, <a href="/errors">all of them are explained</a>.
    </p>
    <div class="gap">
      <Code text={`curl ${baseUrl}/v1/emails -H "Authorization: Bearer $POSTERN_KEY"`} />
    </div>
    <p class="gap">
      <a href="/docs/openapi.json" download>
        The same as an OpenAPI 3.1 document
      </a>
      , for tools.
    </p>
  </Section>
)

export const docsPage: OpenPage = {
  path: '/docs',
  async view(reader) {
    const reference = await referenceFor(reader)
    const q = reader.query.get('q') ?? ''
    const words = q.toLowerCase().split(/\s+/).filter(Boolean)
    const groups = reference.groups
      .map(({ name, operations }) => ({ name, operations: operations.filter((one) => matches(one, words)) }))
      .filter(({ operations }) => operations.length > 0)
    return {
      title: 'API reference',
      body: (
        <>
          <Head
            title="API reference"
            says={`${reference.operations.size} operations at ${reference.baseUrl}, told by this very version.`}
          />
          <Find path="/docs" value={q} hint="operation, path, field, error" />
          {q === '' ? <Begin baseUrl={reference.baseUrl} reader={reader} /> : null}
          {groups.length === 0 ? (
            <Empty title="No operation has these words">
              <p>
                <a href={reader.link('/docs')}>Show all</a>
              </p>
            </Empty>
          ) : null}
          {groups.map(({ name, operations }) => (
            <Section title={name}>
              <Operations caption={`Operations: ${name}`} {...{ reader, operations }} />
            </Section>
          ))}
        </>
      ),
    }
  },
}

/** Where docs are for members alone; else the API answers it. */
export const documentRoute: RawRoute = {
  path: '/docs/openapi.json',
  async answer(visit) {
    const { bytes } = await visit.fetch('GET', '/v1/openapi.json', { scoped: false })
    return {
      status: 200,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-disposition': 'attachment; filename="postern-openapi.json"',
        'x-content-type-options': 'nosniff',
      },
      body: bytes,
    }
  },
}
