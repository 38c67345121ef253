/**
 * NAME      operation - one operation of the API
 */
import type { OpenPage, Reader } from '../../page.js'
import { Code, Crumb, Empty, Samples } from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import { type Field, fieldOf } from './fields.js'
import { type Operation, type Parameter, type Reference, referenceFor } from './reference.js'
import { samplesOf } from './samples.js'
import { Words } from './words.js'

const Fields = ({ fields }: { readonly fields: readonly Field[] }) => (
  <dl class="fields">
    {fields.map(({ name, depth, type, required, says, oneOf }) => (
      <div class={`field depth-${Math.min(depth, 4)}`}>
        <dt>
          <code>{name}</code> <span class="type">{type}</span>
          {required ? <span class="must"> required</span> : null}
        </dt>
        {says.length + oneOf.length === 0 ? null : (
          <dd>
            {says.map((one) => (
              <>
                <Words text={one} />{' '}
              </>
            ))}
            {oneOf.length === 0 ? null : oneOf.length === 1 ? 'Always ' : 'One of '}
            {oneOf.map((one, at) => (
              <>
                {at === 0 ? '' : ', '}
                <code>{one}</code>
              </>
            ))}
          </dd>
        )}
      </div>
    ))}
  </dl>
)

const PLACES: readonly (readonly [Parameter['in'], string])[] = [
  ['path', 'In the path'],
  ['query', 'In the query'],
  ['header', 'Header'],
]

const Parameters = ({ operation }: { readonly operation: Operation }) => (
  <>
    {PLACES.map(([place, title]) => {
      const here = operation.parameters.filter((one) => one.in === place)
      if (here.length === 0) return null
      const fields = here.map(({ name, required = false, description, schema }) =>
        fieldOf(name, required, description === undefined ? schema : { ...schema, description }),
      )
      return (
        <section>
          <h2>{title}</h2>
          <Fields fields={fields} />
        </section>
      )
    })}
  </>
)

const Errors = ({ operation, reference }: { operation: Operation; reference: Reference }) => {
  const rows = operation.errors
    .map((code) => ({ code, ...reference.errors.get(code) }))
    .sort((a, b) => (a.status ?? 0) - (b.status ?? 0))
  return (
    <section>
      <h2>What can go wrong</h2>
      <Table
        caption="Errors of this operation"
        rows={rows}
        columns={[
          { head: 'Status', kind: 'num', cell: ({ status }) => status },
          {
            head: 'Code',
            cell: ({ code }) => (
              <a href={`/errors/${code}`}>
                <code>{code}</code>
              </a>
            ),
          },
          { head: 'Cause', kind: 'grow', cell: ({ description }) => <Words text={description ?? ''} /> },
        ]}
      />
    </section>
  )
}

const Twin = ({ twin }: { readonly twin: Operation['twin'] }) =>
  twin.command === undefined ? (
    <p class="soft">Not on the command line: {twin.reason}.</p>
  ) : (
    <p>
      On the command line: <code>{twin.command}</code>
    </p>
  )

const exampleText = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2)

const Contents = ({ reference, reader, here }: { reference: Reference; reader: Reader; here: string }) => (
  <>
    {reference.groups.map(({ name, operations }) => (
      <>
        <h2>{name}</h2>
        <ul>
          {operations.map(({ id, method, summary }) => (
            <li>
              <a href={reader.link(`/docs/${id}`)} aria-current={id === here ? 'page' : undefined}>
                <span class="method">{method === 'DELETE' ? 'DEL' : method}</span>
                <span>{summary}</span>
              </a>
            </li>
          ))}
        </ul>
      </>
    ))}
  </>
)

const Article = ({ operation, reference }: { operation: Operation; reference: Reference }) => (
  <article>
    <h1>{operation.summary}</h1>
    <p class="op">
      <span class="method">{operation.method}</span> <code>{operation.path}</code>
    </p>
    <p class="soft">
      <Words text={operation.description} />
    </p>
    <Twin twin={operation.twin} />
    <Parameters operation={operation} />
    {operation.request === null ? null : (
      <section>
        <h2>{operation.request.required ? 'Body' : 'Body, which may be left out'}</h2>
        <Fields fields={operation.request.fields()} />
      </section>
    )}
    {operation.answers.map(({ status, media, fields }) => {
      const lines = fields()
      return (
        <section>
          <h2>{`Answer ${status}`}</h2>
          {media === 'application/json' ? null : (
            <p class="soft">
              As <code>{media}</code>.
            </p>
          )}
          {lines.length === 0 ? null : (
            <details class="fold">
              <summary>{`${lines.length} members`}</summary>
              <Fields fields={lines} />
            </details>
          )}
        </section>
      )
    })}
    <Errors operation={operation} reference={reference} />
  </article>
)

const missing = (id: string, reader: Reader) => ({
  title: 'No such operation',
  status: 404,
  body: (
    <Empty whole title="No such operation">
      <p>
        The API has no operation <code dir="auto">{id}</code>.
      </p>
      <p>
        <a href={reader.link('/docs')}>All operations</a>
      </p>
    </Empty>
  ),
})

export const operationPage: OpenPage = {
  path: '/docs/{operation}',
  async view(reader) {
    const reference = await referenceFor(reader)
    const id = reader.params.operation ?? ''
    const operation = reference.operations.get(id)
    if (operation === undefined) return missing(id, reader)
    return {
      title: operation.summary,
      body: (
        <div class="docs">
          <nav class="toc" aria-label="Operations">
            <Contents reference={reference} reader={reader} here={id} />
          </nav>
          <div>
            <Crumb above={['/docs', 'API reference', operation.group]} />
            <Article operation={operation} reference={reference} />
          </div>
          <aside aria-label="Examples">
            <Samples name="sample" samples={samplesOf(operation, reference.baseUrl)} />
            {operation.answers.map(({ status, example }) =>
              example === undefined ? null : <Code label={`Answers ${status}`} text={exampleText(example)} />,
            )}
          </aside>
        </div>
      ),
    }
  },
}
