/**
 * NAME      reference - the OpenAPI document, as the pages need it
 * DESCRIPTION
 *   Fetched from the API at the first look and kept: it is made from the running code, so it does not change while the
 *   process lives.
 */
import { type AskAnswer, jsonOf } from '../../ask.js'
import type { Reader } from '../../page.js'
import { type Field, fieldsOf, type Schema, type Schemas } from './fields.js'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Answer {
  readonly status: number
  readonly media: string
  readonly example: unknown
  readonly fields: () => readonly Field[]
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly description: string
  readonly isPublic: boolean
  readonly parameters: readonly Parameter[]
  readonly request: {
    readonly required: boolean
    readonly example: unknown
    readonly fields: () => readonly Field[]
  } | null
  readonly answers: readonly Answer[]
  /** Codes of the catalogue. */
  readonly errors: readonly string[]
  readonly twin: { readonly command?: string; readonly reason?: string }
}

interface ErrorTitle {
  readonly status: number
  readonly title: string
  readonly description: string
}

export interface Reference {
  readonly baseUrl: string
  readonly groups: readonly { readonly name: string; readonly operations: readonly Operation[] }[]
  readonly operations: ReadonlyMap<string, Operation>
  readonly errors: ReadonlyMap<string, ErrorTitle>
}

interface Content {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, unknown>>
}

interface WrittenOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, Content>> }>>
  readonly 'x-cli': Operation['twin']
}

interface Written {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>
  readonly components: {
    readonly schemas: Schemas
    readonly examples: Readonly<
      Record<
        string,
        {
          readonly summary: string
          readonly description: string
          readonly value: { readonly status: number }
        }
      >
    >
  }
}

/** `api-keys` is `API keys`. */
const groupName = (tag: string): string => {
  const words = tag.replace(/\.json$/, '').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/^pi /, 'PI ')
}

const operationOf = (
  method: string,
  path: string,
  written: WrittenOperation,
  schemas: Schemas,
): Operation => {
  const responses = Object.entries(written.responses)
  const body = written.requestBody?.content['application/json']
  const answers = responses
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content }]) =>
      Object.entries(content).map(([media, { schema, example }]) => ({
        status: Number(status),
        media,
        example,
        fields: () => fieldsOf(schema, schemas),
      })),
    )
  return {
    id: written.operationId,
    method: method.toUpperCase(),
    path,
    group: groupName(written.tags[0] ?? ''),
    summary: written.summary,
    description: written.description,
    isPublic: written.security?.length === 0,
    parameters: written.parameters,
    request:
      body === undefined
        ? null
        : {
            required: written.requestBody?.required ?? false,
            example: body.example,
            fields: () => fieldsOf(body.schema, schemas),
          },
    answers,
    errors: responses.flatMap(([, { content }]) =>
      Object.keys(content['application/problem+json']?.examples ?? {}),
    ),
    twin: written['x-cli'],
  }
}

const read = (answer: AskAnswer): Reference => {
  const { servers, paths, components } = jsonOf<Written>(answer)
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => operationOf(method, path, one, components.schemas)),
  )
  const names = [...new Set(all.map(({ group }) => group))]
  const errors = Object.entries(components.examples).map(
    ([code, { summary, description, value }]) =>
      [code, { status: value.status, title: summary, description }] as const,
  )
  return {
    baseUrl: servers[0]?.url ?? '',
    groups: names.map((name) => ({ name, operations: all.filter(({ group }) => group === name) })),
    operations: new Map(all.map((one) => [one.id, one])),
    errors: new Map(errors),
  }
}

/** By base URL; a process has one, tests have several. */
const kept = new Map<string, Reference>()

/** null where this reader may not see it. */
export const referenceIfAny = async ({
  baseUrl,
  document,
}: Pick<Reader, 'baseUrl' | 'document'>): Promise<Reference | null> => {
  if (document === null) return null
  const found = kept.get(baseUrl)
  if (found !== undefined) return found
  const made = read(await document())
  kept.set(baseUrl, made)
  return made
}

export const referenceFor = async (reader: Reader): Promise<Reference> => {
  const found = await referenceIfAny(reader)
  if (found === null) throw new Error('these pages are for who may see the document')
  return found
}
