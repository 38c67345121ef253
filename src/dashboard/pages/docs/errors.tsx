/**
 * NAME      errors - the catalogue of errors, for people
 * DESCRIPTION
 *   At the addresses where programs get it as JSON, and where the `type` of each problem leads. Nobody needs a session:
 *   whoever could not sign in must be able to read why. Which operations answer an error is told to those who have
 *   one, since the API's document needs it.
 */
import type { OpenPage, Reader, View } from '../../page.js'
import { Code, Empty, Facts, Head, Section } from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import { Find } from './find.js'
import { Operations } from './operations.js'
import { type Operation, referenceIfAny } from './reference.js'
import { Words } from './words.js'

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

const entriesOf = async (reader: Reader): Promise<readonly ErrorEntry[]> =>
  (await reader.ask<{ readonly errors: readonly ErrorEntry[] }>('/errors')).errors

export const errorsPage: OpenPage = {
  path: '/errors',
  async view(reader) {
    const all = await entriesOf(reader)
    const q = reader.query.get('q') ?? ''
    const words = q.toLowerCase().split(/\s+/).filter(Boolean)
    const rows = all.filter((entry) => {
      const text = Object.values(entry).join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
    return {
      title: 'Errors',
      body: (
        <>
          <Head
            title="Errors"
            says={`${all.length} errors that this gateway can answer, over HTTP and over SMTP, each with its cause and remedy.`}
          />
          <Find path="/errors" value={q} hint="a code, a status, words" />
          <Table
            caption="Errors"
            rows={rows}
            href={({ code }) => `/errors/${code}`}
            columns={[
              { head: 'Code', cell: ({ code }) => <code>{code}</code> },
              { head: 'Status', kind: 'num', cell: ({ status }) => status },
              { head: 'Cause', kind: 'grow', cell: ({ description }) => <Words text={description} /> },
            ]}
            none={
              <Empty title="No error has these words">
                <p>
                  <a href="/errors">Show all</a>
                </p>
              </Empty>
            }
          />
        </>
      ),
    }
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

const Answerers = ({ operations, reader }: { operations: readonly Operation[] | null; reader: Reader }) => {
  if (operations === null) {
    return (
      <Section title="Who answers it">
        <p>
          <a href="/docs">The API reference</a>, for whoever has signed in, tells which operations do.
        </p>
      </Section>
    )
  }
  if (operations.length === 0) return null
  return (
    <Section title="Who answers it">
      <Operations caption="Operations that answer this error" {...{ reader, operations }} />
    </Section>
  )
}

const unknown = (code: string): View => ({
  title: 'No such error',
  status: 404,
  body: (
    <Empty whole title="No such error">
      <p>
        The catalogue has no error <code dir="auto">{code}</code>.
      </p>
      <p>
        <a href="/errors">All errors</a>
      </p>
    </Empty>
  ),
})

export const errorPage: OpenPage = {
  path: '/errors/{code}',
  async view(reader) {
    const code = reader.params.code ?? ''
    const entry = (await entriesOf(reader)).find((one) => one.code === code)
    if (entry === undefined) return unknown(code)
    const reference = await referenceIfAny(reader)
    const operations =
      reference && [...reference.operations.values()].filter(({ errors }) => errors.includes(code))
    return {
      title: entry.title,
      body: (
        <>
          <Head
            crumb={['/errors', 'Errors', <code>{code}</code>]}
            title={entry.title}
            says={<Words text={entry.description} />}
          />
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
        </>
      ),
    }
  },
}
