/** What PostgreSQL says it did: plans of its log, with auto_explain, and the rows of a table that each looked at. */
export const EXPLAINED = {
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
}

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

export interface Plan {
  readonly 'Query Text': string
  readonly Plan: Node
}

/** In the log a plan is a JSON object whose lines begin with a tab. */
export const plansIn = (log: string): readonly Plan[] =>
  [...log.matchAll(/ plan:\n((?:\t.*\n)+)/g)].map(([, text]) =>
    JSON.parse(String(text).replaceAll('\n\t', '\n')),
  )

/** Rows of a table that were looked at, whatever became of them. */
export const rowsRead = (node: Node, table: string): number =>
  (node['Relation Name'] === table
    ? node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
    : 0) + (node.Plans ?? []).reduce((sum, one) => sum + rowsRead(one, table), 0)
