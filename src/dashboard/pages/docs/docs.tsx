/**
 * NAME      docs - guides, the API reference, and the catalogue of errors
 *   Guides are the papers of the repository. All operations by group, each with its command, made from the document that the API
 *   serves: right for this very version, and no network is needed. Each page is there as Markdown at its address and `.md`, and
 *   /llms.txt lists them, one line each. Errors stand at the addresses where programs get them as JSON, and where the `type` of
 *   each problem leads. They need no session: a client that could not sign in must be able to read why. Which operations answer
 *   an error is shown to those who have a session, since the API's document needs it.
 */
import type { ComponentChildren } from 'preact'
import { Filters } from '../../parts/form.js'
import { ButtonLink, Code, Crumb, Empty, Facts, PageBody, Samples, Section } from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import { html } from '../../render.js'
import {
  type OpenPage,
  type OpenRaw,
  type Raw,
  type RawRoute,
  type SiteReader,
  titled,
  type View,
} from '../../visit.js'
import type { FoundChapter, Paper } from './papers.js'
import {
  fieldOf,
  type Parameter,
  type Reference,
  type ReferenceOperation,
  referenceFor,
  referenceIfAny,
  type SchemaField,
  samplesOf,
} from './reference.js'

const sentence = (text: string): string => text.replace(/\.?$/, '.')

const fieldLine = ({ name, type, required, says, oneOf }: SchemaField): string =>
  [
    `- \`${name}\` (${type}${required ? ', required' : ''})`,
    says.length === 0 ? '' : `: ${says.join(' ')}`,
    oneOf.length === 0 ? '' : ` One of ${oneOf.map((one) => `\`${one}\``).join(', ')}.`,
  ].join('')

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']

const fenced = (language: string, text: string): readonly string[] => [`\`\`\`${language}`, text, '```']

const shown = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2)

const operationMarkdown = (operation: ReferenceOperation, { errors, baseUrl }: Reference): string => {
  const { method, path, summary, description, parameters, request, answers, twin } = operation
  const [curl] = samplesOf(operation, baseUrl)
  return [
    `# ${summary}`,
    '',
    `\`${method} ${path}\``,
    '',
    description,
    '',
    twin.command === undefined
      ? `Not on the command line: ${sentence(twin.reason ?? '')}`
      : `On the command line: \`${twin.command}\``,
    '',
    ...section('Sample', fenced('sh', curl?.text ?? '')),
    ...section(
      'Parameters',
      parameters.map(({ name, in: place, required = false, description: says, schema }) => {
        const field = fieldOf(name, required, says === undefined ? schema : { ...schema, description: says })
        return fieldLine({ ...field, type: `${place}, ${field.type}` })
      }),
    ),
    ...section('Body', request?.fields().map(fieldLine) ?? []),
    ...answers.flatMap(({ status, media, example, fields }) =>
      section(`Answer ${status}`, [
        `\`${media}\``,
        '',
        ...fields().map(fieldLine),
        ...(example === undefined ? [] : ['', ...fenced('', shown(example))]),
      ]),
    ),
    ...section(
      'Errors',
      operation.errors.map((code) => {
        const { status, description: says = '' } = errors.get(code) ?? {}
        return `- ${status} \`${code}\`: ${says}`
      }),
    ),
  ].join('\n')
}

const indexMarkdown = (papers: readonly Paper[], { groups, baseUrl }: Reference): string =>
  [
    '# Postern',
    '',
    '> A self-hosted gateway for transactional email: an HTTP API and an SMTP door in front of your own mail servers.',
    '',
    `The API is at ${baseUrl}/v1; each request carries \`Authorization: Bearer KEY\`. Errors are problem details (RFC 9457): match on`,
    'their `code`.',
    '',
    ...section('Guides', [
      ...papers.map(({ slug, title, says }) => `- [${title}](${baseUrl}/docs/${slug}.md): ${says}`),
    ]),
    ...section('The whole API', [
      `- [OpenAPI 3.1](${baseUrl}/docs/openapi.json): all operations in one document`,
      `- [Errors](${baseUrl}/errors): each code with its cause and remedy, as JSON`,
    ]),
    ...groups.flatMap(({ name, operations }) =>
      section(
        `Operations: ${name}`,
        operations.map(
          ({ id, method, path, summary }) =>
            `- [${summary}](${baseUrl}/docs/${id}.md): \`${method} ${path}\``,
        ),
      ),
    ),
  ].join('\n')

const Find = ({ path, value, hint }: { path: string; value: string; hint: string }) => (
  <Filters path={path} does="Find">
    <label>
      Words <input type="search" name="q" value={value} placeholder={hint} autocomplete="off" />
    </label>
  </Filters>
)

interface OperationsProps {
  readonly reader: Pick<SiteReader, 'link'>
  readonly caption: string
  readonly operations: readonly ReferenceOperation[]
}

const Operations = ({ reader, caption, operations }: OperationsProps) => (
  <Table
    caption={caption}
    rows={operations}
    href={({ id }) => reader.link(`/docs/${id}`)}
    columns={[
      { head: 'Operation', kind: 'grow', cell: ({ summary }) => summary },
      {
        head: 'Request',
        cell: ({ method, path }) => (
          <code>
            {method} {path}
          </code>
        ),
      },
      {
        head: 'Command',
        kind: 'opt',
        cell: ({ twin }) =>
          twin.command === undefined ? <span class="faint">none</span> : <code>{twin.command}</code>,
      },
    ]}
  />
)

const textOf = ({ parameters, twin, errors, ...one }: ReferenceOperation): string =>
  [
    ...[one.id, one.method, one.path, one.group, one.summary, one.description, twin.command],
    ...parameters.map(({ name }) => name),
    ...errors,
  ]
    .join(' ')
    .toLowerCase()

/** Every word of the search stands in the text. */
const searchOf = (reader: SiteReader) => {
  const q = reader.query.get('q') ?? ''
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return { q, matches: (text: string) => words.every((word) => text.includes(word)) }
}

/** Parser and texts are loaded at the first look. */
const loadPapers = () => import('./papers.js')

interface BeginProps {
  readonly baseUrl: string
  readonly reader: Pick<SiteReader, 'link'>
  readonly papers: readonly Paper[]
}

const Begin = ({ baseUrl, reader, papers }: BeginProps) => (
  <Section title="Guides">
    <ul class="plain">
      {papers.map(({ slug, title, says }) => (
        <li>
          <a href={reader.link(`/docs/${slug}`)}>{title}</a>: {says}
        </li>
      ))}
    </ul>
    <p class="gap">
      Each request carries a key: <code>Authorization: Bearer KEY</code>. <a href="/keys">Make one</a>, put it
      into <code>POSTERN_KEY</code>, and paste any sample of these pages. Errors are problem details (RFC
      9457); match on their <code>code</code>, <a href="/errors">all of them are explained</a>.
    </p>
    <div class="gap">
      <Code text={`curl ${baseUrl}/v1/emails -H "Authorization: Bearer $POSTERN_KEY"`} />
    </div>
    <p class="gap">
      For tools: <a href="/docs/openapi.json">the API as an OpenAPI 3.1 document</a>,{' '}
      <a href="/llms.txt">the list of all pages as Markdown</a>.
    </p>
  </Section>
)

const InGuides = ({ found, reader }: { found: readonly FoundChapter[]; reader: Pick<SiteReader, 'link'> }) =>
  found.length === 0 ? null : (
    <Section title="In the guides">
      <ul class="plain">
        {found.map(({ paper, chapter }) => (
          <li>
            <a href={`${reader.link(`/docs/${paper.slug}`)}#${chapter.anchor}`}>{chapter.title}</a>{' '}
            <span class="soft">{chapter.depth === 1 ? '' : paper.title}</span>
          </li>
        ))}
      </ul>
    </Section>
  )

export const docsPage: OpenPage = {
  path: '/docs',
  async view(reader) {
    const reference = await referenceFor(reader)
    const { papers, chaptersWith } = await loadPapers()
    const { q, matches } = searchOf(reader)
    const found = q === '' ? [] : chaptersWith(matches)
    const groups = reference.groups
      .map(({ name, operations }) => ({ name, operations: operations.filter((one) => matches(textOf(one))) }))
      .filter(({ operations }) => operations.length > 0)
    return titled(
      'Documentation',
      <PageBody
        title="Documentation"
        says={`Guides, and ${reference.operations.size} operations at ${reference.baseUrl}, of this very version.`}
      >
        <Find path="/docs" value={q} hint="guide, operation, path, field, error" />
        {q === '' ? <Begin baseUrl={reference.baseUrl} {...{ reader, papers: papers() }} /> : null}
        {groups.length + found.length === 0 ? (
          <Empty title="No guide and no operation has these words">
            <p>
              <a href={reader.link('/docs')}>Show all</a>
            </p>
          </Empty>
        ) : null}
        <InGuides {...{ found, reader }} />
        {groups.map(({ name, operations }) => (
          <Section title={name}>
            <Operations caption={`Operations: ${name}`} {...{ reader, operations }} />
          </Section>
        ))}
      </PageBody>,
    )
  },
}

const asText = (text: string | null, media = 'text/markdown'): Raw => ({
  status: text === null ? 404 : 200,
  headers: { 'content-type': `${media}; charset=utf-8` },
  body: text ?? '# No such page\n\nAll pages are listed in /llms.txt.\n',
})

const listOfPages = async (reader: SiteReader, media?: string): Promise<Raw> =>
  asText(indexMarkdown((await loadPapers()).papers(), await referenceFor(reader)), media)

/** The same pages for programs that read text. */
export const MARKDOWN_ROUTES: readonly OpenRaw[] = [
  { path: '/llms.txt', answer: (reader) => listOfPages(reader, 'text/plain') },
  { path: '/docs/llms.txt', answer: (reader) => listOfPages(reader, 'text/plain') },
  { path: '/docs.md', answer: (reader) => listOfPages(reader) },
  {
    path: '/docs/{name}.md',
    async answer(reader) {
      const { paperNamed, markdownOf } = await loadPapers()
      const name = reader.params.name ?? ''
      const paper = paperNamed(name)
      if (paper !== null) return asText(markdownOf(paper, reader.baseUrl))
      const reference = await referenceFor(reader)
      const operation = reference.operations.get(name)
      return asText(operation === undefined ? null : operationMarkdown(operation, reference))
    },
  },
]

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

const Words = ({ text }: { readonly text: string }) =>
  html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`

const Fields = ({ fields }: { readonly fields: readonly SchemaField[] }) => (
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

const Parameters = ({ operation }: { readonly operation: ReferenceOperation }) => (
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

const Errors = ({ operation, reference }: { operation: ReferenceOperation; reference: Reference }) => {
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

const Twin = ({ twin }: { readonly twin: ReferenceOperation['twin'] }) =>
  twin.command === undefined ? (
    <p class="soft">Not on the command line: {twin.reason}.</p>
  ) : (
    <p>
      On the command line: <code>{twin.command}</code>
    </p>
  )

const exampleText = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2)

const Contents = ({
  reference,
  reader,
  here,
}: {
  reference: Reference
  reader: SiteReader
  here: string
}) => (
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

const Article = ({ operation, reference }: { operation: ReferenceOperation; reference: Reference }) => (
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
    <p class="gap">
      <ButtonLink to={`/docs/${operation.id}.md`}>As Markdown</ButtonLink>
    </p>
  </article>
)

interface MissingProps {
  readonly title: string
  readonly says: string
  readonly name: string
  readonly all: ComponentChildren
}

const missing = ({ title, says, name, all }: MissingProps): View => ({
  title,
  status: 404,
  body: (
    <Empty whole title={title}>
      <p>
        {says} <code dir="auto">{name}</code>.
      </p>
      <p>{all}</p>
    </Empty>
  ),
})

/** A guide, or an operation of the API: names of guides have no capitals, and those of operations do. */
export const docPage: OpenPage = {
  path: '/docs/{name}',
  async view(reader) {
    const { paperNamed, PaperBody } = await loadPapers()
    const id = reader.params.name ?? ''
    const paper = paperNamed(id)
    if (paper !== null)
      return titled(paper.title, <PaperBody {...{ paper, reader }} baseUrl={reader.baseUrl} />)
    const reference = await referenceFor(reader)
    const operation = reference.operations.get(id)
    if (operation === undefined) {
      const all = <a href={reader.link('/docs')}>All guides and operations</a>
      return missing({ title: 'No such page', says: 'There is no guide and no operation', name: id, all })
    }
    return titled(
      operation.summary,
      <div class="docs">
        <nav class="toc" aria-label="Operations">
          <Contents reference={reference} reader={reader} here={id} />
        </nav>
        <div>
          <Crumb above={['/docs', 'Documentation', operation.group]} />
          <Article operation={operation} reference={reference} />
        </div>
        <aside aria-label="Examples">
          <Samples name="sample" samples={samplesOf(operation, reference.baseUrl)} />
          {operation.answers.map(({ status, example }) =>
            example === undefined ? null : <Code label={`Answers ${status}`} text={exampleText(example)} />,
          )}
        </aside>
      </div>,
    )
  },
}

interface ErrorEntry {
  readonly code: string
  readonly type: string
  readonly status: number
  readonly title: string
  readonly description: string
  readonly remedy: string
  readonly retryable: boolean
  readonly smtp: string
}

const entriesOf = async (reader: SiteReader): Promise<readonly ErrorEntry[]> =>
  (await reader.ask<{ readonly errors: readonly ErrorEntry[] }>('/errors')).errors

export const errorsPage: OpenPage = {
  path: '/errors',
  async view(reader) {
    const all = await entriesOf(reader)
    const { q, matches } = searchOf(reader)
    const rows = q === '' ? all : all.filter((entry) => matches(Object.values(entry).join(' ').toLowerCase()))
    return titled(
      'Errors',
      <PageBody
        title="Errors"
        says={`${all.length} errors that this gateway can answer, over HTTP and over SMTP, each with its cause and remedy.`}
      >
        <Find path="/errors" value={q} hint="a code, a status, words" />
        <Table
          caption="Errors"
          rows={rows}
          href={({ code }) => `/errors/${code}`}
          columns={[
            { head: 'Code', cell: ({ code }) => html`<code>${code}</code>` },
            { head: 'Status', kind: 'num', cell: ({ status }) => status },
            { head: 'Cause', kind: 'grow', cell: ({ description }) => Words({ text: description }) },
          ]}
          none={
            <Empty title="No error has these words">
              <p>
                <a href="/errors">Show all</a>
              </p>
            </Empty>
          }
        />
      </PageBody>,
    )
  },
}

/** What belongs to some codes only. */
const SPECIAL: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'validation.request_invalid': {
    detail: '1 field is invalid',
    errors: [{ field: 'body.to', message: '"to" is required', kind: 'missing' }],
  },
  'resource.conflict': { reason: 'in_use' },
  'event.expired': { oldest: 'v1_eyJ0aGlzIjoiaXMgb3BhcXVlIn0' },
}

const exampleOf = ({ code, type, title, status }: ErrorEntry): string => {
  const { detail, ...more } = SPECIAL[code] ?? {}
  const problem = {
    ...{ type, title, status, code },
    ...(detail !== undefined && { detail }),
    ...{ request_id: 'req_01k9f3m5cr2z0y8x6w4v2t0s8q', instance: '/v1/emails' },
    ...more,
  }
  return JSON.stringify(problem, null, 2)
}

const Answerers = ({
  operations,
  reader,
}: {
  operations: readonly ReferenceOperation[] | null
  reader: SiteReader
}) => {
  if (operations === null)
    return (
      <Section title="Who answers it">
        <p>
          <a href="/docs">The API reference</a>, for whoever has signed in, tells which operations do.
        </p>
      </Section>
    )
  if (operations.length === 0) return null
  return (
    <Section title="Who answers it">
      <Operations caption="Operations that answer this error" {...{ reader, operations }} />
    </Section>
  )
}

export const errorPage: OpenPage = {
  path: '/errors/{code}',
  async view(reader) {
    const code = reader.params.code ?? ''
    const entry = (await entriesOf(reader)).find((one) => one.code === code)
    if (entry === undefined) {
      const all = <a href="/errors">All errors</a>
      return missing({ title: 'No such error', says: 'The catalogue has no error', name: code, all })
    }
    const reference = await referenceIfAny(reader)
    const operations =
      reference && [...reference.operations.values()].filter(({ errors }) => errors.includes(code))
    return titled(
      entry.title,
      <PageBody
        crumb={['/errors', 'Errors', <code>{code}</code>]}
        title={entry.title}
        says={<Words text={entry.description} />}
      >
        <Section title="What to do">
          <p>
            <Words text={entry.remedy} />
          </p>
          <div class="gap">
            <Facts
              facts={[
                ['HTTP', <code>{entry.status}</code>],
                ['SMTP', <code>{entry.smtp}</code>],
                ['Code', <code>{entry.code}</code>],
                ['The same request again', entry.retryable ? 'may pass later' : 'is refused again'],
              ]}
            />
          </div>
        </Section>
        <Section title="As a program sees it">
          <Code label="application/problem+json" text={exampleOf(entry)} />
        </Section>
        <Answerers operations={operations} reader={reader} />
      </PageBody>,
    )
  },
}
