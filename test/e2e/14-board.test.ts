/** The board of `systemd/examples` is what Grafana's own types say a board is, and is drawn without overlaps. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../parts/postern.js'

const BOARD = readFileSync(join(ROOT, 'systemd', 'examples', 'postern.grafana.json'), 'utf8').trimEnd()
const TYPES = join(ROOT, 'node_modules', '@grafana', 'schema', 'dist', 'types', 'index.d.ts')

interface Place {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}
interface Drawn {
  readonly id: number
  readonly type: string
  readonly gridPos: Place
  readonly targets: readonly { readonly refId: string }[]
}
interface Board {
  panels: Drawn[]
}

const OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true, types: [] },
  ...{ module: 'nodenext', target: 'es2023', paths: { '@grafana/schema': [TYPES] } },
}

/** The package has no type for a query to Prometheus: what every query has, and what we use of Prometheus'. */
const program = (board: string): string => `
import type { Dashboard, DataQuery, Panel } from '@grafana/schema'
interface PrometheusQuery extends DataQuery { readonly expr: string; readonly legendFormat?: string; readonly instant?: boolean }
type Drawn = Omit<Panel, 'targets'> & { readonly targets: readonly PrometheusQuery[] }
export const board = ${board} satisfies Omit<Dashboard, 'panels'> & { readonly panels: readonly Drawn[] }
`

t.test('it fits the types of @grafana/schema', (t) => {
  const dir = t.testdir({
    'tsconfig.json': JSON.stringify({ compilerOptions: OPTIONS, files: ['board.ts'] }),
  })
  const complaints = (board: string): string => {
    writeFileSync(join(dir, 'board.ts'), program(board))
    const tsc = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc')
    return spawnSync(process.execPath, [tsc, '-p', dir], { encoding: 'utf8' }).stdout
  }
  t.equal(complaints(BOARD), '')
  // what a wrong one would say, so that silence above means something
  const wrong = [
    ['"refresh"', '"refesh"', /refesh\W+ does not exist/],
    ['"type": "datasource"', '"type": "data"', /"data"' is not assignable to type 'VariableType/],
    ['"min": 0', '"min": "0"', /'string' is not assignable to type 'number'/],
    ['"w": 12', '"wide": 12', /wide\W+ does not exist/],
    ['"expr"', '"expression"', /expression\W+ does not exist/],
    ['"refId"', '"ref"', /\bref\W+ does not exist/],
  ] as const
  for (const [good, bad, says] of wrong) {
    t.ok(BOARD.includes(good), good)
    t.match(complaints(BOARD.replace(good, bad)), says, bad)
  }
  t.end()
})

t.test('panels have ids and letters of their own, and none lies on another', (t) => {
  const { panels }: Board = JSON.parse(BOARD)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { targets, gridPos, id } of panels) {
    t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, `letters of panel ${id}`)
    t.ok(gridPos.x + gridPos.w <= 24, `panel ${id} is on the board`)
  }
  const isOn = (a: Place, b: Place): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
  for (const [at, one] of panels.entries())
    for (const other of panels.slice(at + 1))
      t.notOk(isOn(one.gridPos, other.gridPos), `${one.id} and ${other.id}`)
  t.end()
})
