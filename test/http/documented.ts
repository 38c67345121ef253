/** Holds what the server answers against what the OpenAPI document says, with ajv. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../src/http/openapi/document.js'

interface Operation {
  readonly requestBody?: { readonly content: Record<string, { readonly schema: JsonSchema }> }
  readonly responses: Record<
    string,
    {
      readonly headers: JsonSchema
      readonly content: Record<string, { readonly schema: JsonSchema }>
    }
  >
}

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** Whatever a client may act on must be in the document. */
const TOLD =
  /^(?:x-(?!content-type-options|accel-buffering)|location|idempotent-|retry-after|www-authenticate)/

const pattern = (template: string): RegExp =>
  new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)

const newAjv = (): Ajv2020 => new Ajv2020({ strict: false, allErrors: true })

/** The schema at a place in a document, with the document's own references. */
export const validatorOf = (document: JsonSchema, ajv = newAjv(), id = 'doc') => {
  ajv.addSchema({ $id: id, ...document })
  const compiled = new Map<string, ValidateFunction>()
  return (...place: readonly string[]): ValidateFunction => {
    const pointer = place.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
    const found = compiled.get(pointer) ?? ajv.compile({ $ref: `${id}#/${pointer}` })
    compiled.set(pointer, found)
    return found
  }
}

/** Of the document, what some paths need. */
interface Part {
  readonly paths: readonly (readonly [template: string, operations: Record<string, Operation>])[]
  readonly validator: ReturnType<typeof validatorOf>
}

/** `documentOf`: as much of the document as these paths need. */
export const documented = (
  templates: readonly string[],
  documentOf: (templates: readonly string[]) => JsonSchema,
) => {
  const ajv = newAjv()
  const made = new Map<string, Part>()
  const documentFor = (asked: readonly string[]): Part => {
    const document = documentOf(asked)
    const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>)
    return { paths, validator: validatorOf(document, ajv, `doc${made.size}`) }
  }
  const documentAt = (path: string): Part => {
    const asked = templates.includes(path)
      ? [path]
      : templates.filter((template) => pattern(template).test(path))
    const found = made.get(asked.join()) ?? documentFor(asked)
    made.set(asked.join(), found)
    return found
  }

  /** Throws unless this answer is one that the document promises. */
  const demandDocumented = (method: string, target: string, reply: Answered): void => {
    const path = target.split('?')[0] ?? ''
    const verb = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase()
    const { paths, validator } = documentAt(path)
    const found = paths.find(([, operations]) => operations[verb])
    const type = (reply.headers.get('content-type') ?? '').split(';')[0] ?? ''
    if (found === undefined) {
      if (reply.status === 404 || reply.status === 405) return
      throw new Error(`${method} ${path} answers ${reply.status} and is not in the document`)
    }
    if (type === 'text/html' || reply.text === '') return
    const [template, { [verb]: operation }] = found
    const promised = Object.keys(operation?.responses[reply.status]?.headers ?? {}).map((n) =>
      n.toLowerCase(),
    )
    for (const name of reply.headers.keys()) {
      if (TOLD.test(name) && !promised.includes(name))
        throw new Error(`${method} ${template} ${reply.status} does not document ${name}`)
    }
    const content = operation?.responses[reply.status]?.content[type]
    if (!content)
      throw new Error(`${method} ${template} does not document ${reply.status} ${type}: ${reply.text}`)
    const valid = validator(
      'paths',
      template,
      verb,
      'responses',
      String(reply.status),
      'content',
      type,
      'schema',
    )
    if (!valid(/[/+]json$/.test(type) ? reply.json : reply.text)) {
      throw new Error(`${method} ${template} ${reply.status}: ${ajv.errorsText(valid.errors)}\n${reply.text}`)
    }
  }
  return demandDocumented
}
