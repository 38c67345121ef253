/** What esbuild makes of an edit: only what is older is compiled, what has no source goes, a mistake is said with its place. */
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../parts/postern.js'

const { compile } = (await import(join(ROOT, 'test', 'run', 'compile.mjs'))) as {
  compile(top: string): Promise<number | null>
}

t.test('an edit is compiled, and nothing else', async (t) => {
  const top = t.testdir({
    src: { 'one.ts': 'export const one: number = 1\n', 'types.d.ts': 'export type A = 1\n' },
    test: {
      part: {
        'two.tsx': "import { type A, b } from './b.js'\nexport const two = (a: A) => <b>{b + a}</b>\n",
      },
    },
  })
  const read = (...path: readonly string[]): string => readFileSync(join(top, 'dist', ...path), 'utf8')
  t.equal(await compile(top), 2)
  t.match(read('src', 'one.js'), /^const one = 1;\n/)
  t.match(read('test', 'part', 'two.js'), /from "\.\/b\.js"/)
  t.match(read('test', 'part', 'two.js'), /from "preact\/jsx-runtime"/)
  t.match(JSON.parse(read('src', 'one.js.map')), { sources: [/one\.ts$/] })
  t.equal(await compile(top), 0, 'nothing is older than its source')

  const one = join(top, 'src', 'one.ts')
  writeFileSync(one, 'export const one = 2\n')
  const later = new Date(Date.now() + 5_000)
  utimesSync(one, later, later)
  t.equal(await compile(top), 1)
  t.match(read('src', 'one.js'), 'one = 2')
  rmSync(one)
  t.equal(await compile(top), 0)
  t.notOk(existsSync(join(top, 'dist', 'src', 'one.js')), 'what has no source goes')
})

t.test('a thread is one file, as new as all that it imports', async (t) => {
  const top = t.testdir({
    src: {
      base: { 'one.ts': 'export const one: string = import.meta.url\n' },
      room: { 'thread.ts': "import { one } from '../base/one.js'\nenterThread('room')\nconsole.log(one)\n" },
    },
  })
  const thread = (): string => readFileSync(join(top, 'dist', 'src', 'room', 'thread.js'), 'utf8')
  t.equal(await compile(top), 2)
  t.notMatch(thread(), 'from')
  t.match(thread(), /one = new URL\("\.\.\/base\/one\.js", import\.meta\.url\)/, 'which finds what it found')
  const one = join(top, 'src', 'base', 'one.ts')
  writeFileSync(one, "export const one = 'another'\n")
  const later = new Date(Date.now() + 5_000)
  utimesSync(one, later, later)
  await compile(top)
  t.match(thread(), /one = "another"/)
  writeFileSync(join(top, 'dist', 'src', 'room', 'thread.js'), '// as tsc makes it\n')
  await compile(top)
  t.match(thread(), /one = "another"/)
})

t.test('what is no TypeScript is said with its place', async (t) => {
  const top = t.testdir({ src: { 'bad.ts': 'export const = 1\n', 'good.ts': 'export const a = 1\n' } })
  const said = t.capture(process.stderr, 'write', () => true)
  t.equal(await compile(top), null)
  t.match(String(said().map(({ args }) => args[0])), /bad\.ts:1:13/)
  t.ok(existsSync(join(top, 'dist', 'src', 'good.js')), 'the others are compiled')
})
