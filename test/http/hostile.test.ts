/**
 * Bodies made to cost: every place of every body schema, with too many, too deep and too long.
 * Each must be refused in few words, and for about the CPU of a right body of the same size.
 */
import t, { type Test } from 'tap'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { type JsonSchema, toJsonSchema } from '../../src/http/openapi/document.js'
import { MAIL, openKit } from './kit.js'

const SIZE = 100_000
const RUNS = 5
/** The answers to be had are 100 mistakes of some hundred octets. */
const LONGEST_ANSWER = 65_536
/** A wrong body made of 20,000 values against a right one of one long text: within this. */
const MARGIN = 4

type Put = (inside: string) => string

interface Place {
  readonly name: string
  readonly put: Put
  readonly schema: JsonSchema
}

const named = new Map<string, JsonSchema>()

/** Every place in a schema, with a way to put something there. */
function* places(schema: JsonSchema, name: string, put: Put): Generator<Place> {
  if (typeof schema.$ref === 'string') {
    yield* places(named.get(schema.$ref.split('/').at(-1) ?? '') ?? {}, name, put)
    return
  }
  yield { name, put, schema }
  for (const one of (schema.anyOf as JsonSchema[] | undefined) ?? []) {
    if (one.type !== undefined || one.$ref !== undefined) yield* places(one, name, put)
  }
  for (const [key, one] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    yield* places(one, `${name}.${key}`, (inside) => put(`{"${key}":${inside}}`))
  }
  if (schema.items) {
    yield* places(schema.items as JsonSchema, `${name}[0]`, (inside) => put(`[${inside}]`))
  }
}

const repeat = (one: (i: number) => string): string => {
  const made: string[] = []
  for (let size = 0, i = 0; size < SIZE; i++) {
    const next = one(i)
    made.push(next)
    size += next.length + 1
  }
  return made.join()
}

const MANY = {
  numbers: `[${repeat(() => '1')}]`,
  'empty objects': `[${repeat(() => '{}')}]`,
  members: `{${repeat((i) => `"k${i}":1`)}}`,
}
const DEEP = {
  'lists in lists': '['.repeat(SIZE),
  'objects in objects': '{"a":'.repeat(SIZE / 5),
}
const LONG = { 'a long text': JSON.stringify('x'.repeat(SIZE)), 'a long number': '1'.repeat(SIZE) }

const cpuOf = async (run: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

const medianCpu = async (run: () => Promise<unknown>): Promise<number> => {
  const times: number[] = []
  for (let i = 0; i < RUNS; i++) times.push(await cpuOf(run))
  return times.sort((a, b) => a - b)[RUNS >> 1] ?? 0
}

t.test('bad bodies cost what good ones cost', async (t) => {
  const kit = await openKit({ perMinute: 1_000_000 })
  t.teardown(() => kit.stop())
  const sendGood = async () => {
    const reply = await kit.ask('/v1/emails', { body: { ...MAIL, text: 'word and '.repeat(SIZE / 9) } })
    t.equal(reply.status, 202)
  }
  await sendGood()
  const good = await medianCpu(sendGood)

  let worst = 0
  const demandCheap = async (t: Test, method: string, path: string, name: string, body: string) => {
    const access = path.startsWith('/v1/emails') ? kit.key : kit.session
    const headers = path === '/v1/suppressions' ? { 'x-workspace-id': 'default' } : {}
    let answer = ''
    const run = async () => {
      const reply = await kit.ask(path, { method, key: access, body, headers })
      answer = `${reply.status} ${reply.json?.code} ${reply.text.slice(0, 100)}`
      const { errors = [] } = reply.json ?? {}
      if (reply.status < 400 || reply.status >= 500) t.fail(`${name}: ${answer}`)
      if (errors.length > 100) t.fail(`${name}: ${errors.length} mistakes are told`)
      if (reply.text.length > LONGEST_ANSWER) t.fail(`${name}: an answer of ${reply.text.length}`)
    }
    const once = await cpuOf(run)
    const cost = once > MARGIN * good ? await medianCpu(run) : once
    worst = Math.max(worst, cost / good)
    if (cost > MARGIN * good) t.fail(`${name}: ${cost} us, a good one ${good} us; ${answer}`)
  }

  const all = endpoints({} as HttpDeps, () => 'https://mail.test').filter(({ body }) => body !== undefined)
  t.ok(all.length >= 10, `${all.length} endpoints take a body`)
  for (const { id, method, path, body } of all) {
    await t.test(id, async (t) => {
      if (body === undefined) return
      const schema = toJsonSchema(body, { named, closed: true })
      const target = path.replace('{id}', 'em_01k9f3m2zq8v6t4r2p0nxcwbha')
      const seen = new Set<string>()
      for (const { name, put } of places(schema, 'body', (inside) => inside)) {
        if (seen.has(name)) continue
        seen.add(name)
        for (const [kind, bad] of Object.entries({ ...MANY, ...LONG, ...DEEP })) {
          await demandCheap(t, method, target, `${name} is ${kind}`, put(bad))
        }
      }
      t.pass(`${seen.size} places`)
    })
  }
  t.comment(`the dearest took ${worst.toFixed(1)} times a good one of ${good} us`)
})

t.test('many mistakes are counted, and a hundred told', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const body = (extra: object) => ({ ...MAIL, ...extra })
  const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, 1]))
  const reply = await kit.ask('/v1/emails', { body: body(unknown) })
  t.equal(reply.status, 422)
  t.equal(reply.json.errors.length, 100)
  t.equal(reply.json.errors_omitted, 200)
  t.equal(reply.json.detail, '300 fields are invalid')

  const files = Array.from({ length: 150 }, () => ({ content: '%' }))
  const bad = await kit.ask('/v1/emails', { body: body({ attachments: files }) })
  t.equal(bad.json.errors.length, 100)
  t.equal(bad.json.errors_omitted, 50)

  const few = await kit.ask('/v1/emails', { body: body({ nope: 1 }) })
  t.notOk('errors_omitted' in few.json)

  const crowd = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`X-${i}`, 1]))
  const headers = await kit.ask('/v1/emails', { body: body({ headers: crowd }) })
  t.same(
    headers.json.errors.map(({ field, kind }: { field: string; kind: string }) => `${field} ${kind}`),
    ['body.headers too_many'],
  )
  const heavy = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`X-${i}`, 'y '.repeat(350)]))
  const large = await kit.ask('/v1/emails', { body: body({ headers: heavy }) })
  t.same(
    large.json.errors.map(({ field, kind }: { field: string; kind: string }) => `${field} ${kind}`),
    ['body.headers length'],
  )
  const batch = await kit.ask('/v1/emails/batch', {
    body: Array.from({ length: 100 }, () => body({ ...unknown })),
  })
  t.equal(batch.json.errors.length, 100)
  t.equal(batch.json.errors_omitted, 29_900)
})

t.test('bodies that once ended in a 500', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const bodies = {
    '300,000 unknown keys': `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`)}}`,
    '100,000 bad tags': JSON.stringify({ ...MAIL, tags: Array(100_000).fill({ name: 1, value: 2 }) }),
    '10 MB of [': '['.repeat(10_000_000),
    'a name of 10 MB': JSON.stringify({ ...MAIL, ['x'.repeat(10_000_000)]: 1 }),
  }
  for (const [name, body] of Object.entries(bodies)) {
    const reply = await kit.ask('/v1/emails', { body })
    t.ok(reply.status === 422 || reply.status === 400, `${name}: ${reply.status}`)
    t.ok(reply.text.length < LONGEST_ANSWER, `${name}: an answer of ${reply.text.length}`)
  }
})
