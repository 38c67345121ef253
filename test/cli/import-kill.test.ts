/** kill -9 while a list is imported: what is stored is whole pieces, the same command goes on, and twice is once. */
import t from 'tap'
import { openDesk, postern } from './desk.js'

const ROWS = 20_700

/** At which commit, and how many rows are there then. The last is in the second lot that is put in order. */
const POINTS: readonly (readonly [point: string, stored: number])[] = [
  ['importSuppressions.after-commit:3', 3000],
  ['importSuppressions.before-commit:21', 20_000],
]

t.setTimeout(600_000)

t.test('killed, and gone on with', { timeout: 600_000 }, async (t) => {
  const lines = Array.from({ length: ROWS }, (_, i) => `5.1.1,gone,u${(i * 7919) % ROWS}@x.test,1700000000`)
  for (const [point, stored] of POINTS) {
    const desk = openDesk(t)
    const file = desk.file('suppression_bounces.csv', `status,reason,email,created\n${lines.join('\n')}\n`)
    await desk.run(['workspace', 'list'])
    const args = ['--config', desk.configFile, 'import', file]
    const { code, stderr } = await postern(args, '', desk.dir, { POSTERN_CRASH_AT: point })
    t.notMatch({ code, stderr }, { code: 0 }, `it ended at ${point}`)
    const listed = async (): Promise<number> =>
      (await desk.run(['suppression', 'export'])).stdout.trim().split('\n').length - 1
    t.equal(await listed(), stored, `${point}: whole pieces`)
    const rest = { read: ROWS, added: ROWS - stored, strengthened: 0, listed: stored }
    t.match(await desk.json(['import', file]), rest, point)
    t.match(await desk.json(['import', file]), { added: 0, strengthened: 0, listed: ROWS }, 'twice is once')
  }
})
