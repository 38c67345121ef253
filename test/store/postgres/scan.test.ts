/**
 * No statement of the contract reads a table of mail from end to end. The server is told to avoid that wherever it can, and
 * writes down the plan of each statement: what still does has no index to use.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from '../contract.js'

const FAMILIES: ReadonlySet<FamilyName> = new Set<FamilyName>([
  ...(['queue', 'ledger', 'tenants', 'operations', 'watch', 'soft bounces', 'domains'] as const),
])

const LARGE: ReadonlySet<unknown> = new Set([
  'emails',
  'recipient_rows',
  'queue',
  'events',
  'bodies',
  'tags',
  'audit',
])

const SETTINGS = {
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  enable_seqscan: 'off',
  // what a scan costs then would have each statement compiled
  jit: 'off',
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Node[]
}

interface Plan {
  readonly 'Query Text': string
  readonly Plan: Node
}

/** In the log a plan is a JSON object whose lines begin with a tab. */
const plansIn = (log: string): readonly Plan[] =>
  [...log.matchAll(/ plan:\n((?:\t.*\n)+)/g)].map(([, text]) =>
    JSON.parse(String(text).replaceAll('\n\t', '\n')),
  )

const scans = (node: Node): readonly string[] => [
  ...(node['Node Type'] === 'Seq Scan' && LARGE.has(node['Relation Name'])
    ? [String(node['Relation Name'])]
    : []),
  ...(node.Plans ?? []).flatMap(scans),
]

t.test('plans', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start(SETTINGS)
  const without = FAMILY_NAMES.filter((name) => !FAMILIES.has(name)).map((name) => [name, 'not asked here'])
  await t.test('while the contract runs', async (t) => {
    const open = async (t: Test) => {
      const store = openPostgresStore({ urls: await cluster.withTables() })
      t.teardown(() => store.close())
      await store.open()
      return store
    }
    await contract(t, open, Object.fromEntries(without))
  })
  const plans = plansIn(readFileSync(join(cluster.dir, 'log'), 'utf8'))
  t.ok(plans.length > 1000, `${plans.length} plans`)
  const found = new Map<string, string>()
  for (const { 'Query Text': text, Plan } of plans) for (const table of scans(Plan)) found.set(text, table)
  for (const [text, table] of found) t.fail(`${table} is read from end to end by ${text}`)
})
