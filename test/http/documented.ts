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

export const documented = (document: JsonSchema) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'doc', ...document })
  const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>)
  const compiled = new Map<string, ValidateFunction>()

  /** The schema at a place in the document, with the document's own references. */
  const validator = (...place: readonly string[]): ValidateFunction => {
    const pointer = place.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
    const found = compiled.get(pointer) ?? ajv.compile({ $ref: `doc#/${pointer}` })
    compiled.set(pointer, found)
    return found
  }

  const find = (method: string, path: string): [string, Operation] | null => {
    const name = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase()
    const fixed = paths.filter(([template]) => template === path)
    const matching = fixed.length > 0 ? fixed : paths.filter(([template]) => pattern(template).test(path))
    for (const [template, operations] of matching) {
      const operation = operations[name]
      if (operation) return [template, operation]
    }
    return null
  }

  /** Throws unless this answer is one that the document promises. */
  const demandDocumented = (method: string, target: string, reply: Answered): void => {
    const path = target.split('?')[0] ?? ''
    const found = find(method, path)
    const type = (reply.headers.get('content-type') ?? '').split(';')[0] ?? ''
    if (found === null) {
      if (reply.status === 404 || reply.status === 405) return
      throw new Error(`${method} ${path} answers ${reply.status} and is not in the document`)
    }
    if (type === 'text/html' || reply.text === '') return
    const [template, operation] = found
    const promised = Object.keys(operation.responses[reply.status]?.headers ?? {}).map((n) => n.toLowerCase())
    for (const name of reply.headers.keys()) {
      if (TOLD.test(name) && !promised.includes(name))
        throw new Error(`${method} ${template} ${reply.status} does not document ${name}`)
    }
    const content = operation.responses[reply.status]?.content[type]
    if (!content)
      throw new Error(`${method} ${template} does not document ${reply.status} ${type}: ${reply.text}`)
    const valid = validator(
      'paths',
      template,
      method.toLowerCase(),
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
  return { demandDocumented, validator, paths }
}
