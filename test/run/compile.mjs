#!/usr/bin/env node
// Puts src/ and test/ into dist/ with esbuild: each file whose output is older, without looking at types, in a second where
// tsc takes ten. What has no source any more goes. `npm run build` looks at the types, too. A thread is put into one file
// with all that it imports, as in dist/run: each store that a test opens begins one, and 80 modules take half of that time.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, formatMessages, transform } from 'esbuild'

const SOURCE = /(?<!\.d)\.tsx?$/
const madeAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const filesIn = (folder) => {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

const one = async (source, out) => {
  // as tsconfig.json says
  const { code, map } = await transform(readFileSync(source, 'utf8'), {
    loader: source.endsWith('x') ? 'tsx' : 'ts',
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'external',
    sourcefile: source,
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  mkdirSync(dirname(out), { recursive: true })
  const name = out.slice(dirname(out).length + 1)
  writeFileSync(`${out}.map`, map)
  writeFileSync(out, `${code}//# sourceMappingURL=${name}.map\n`)
}

const THREAD = /^ *enterThread\('/m
const MARK = '// a thread with all that it imports'

const outOf = (top, source) => join(top, 'dist', relative(top, source).replace(SOURCE, '.js'))

/** The threads that do not have all of src/ as it is now. */
const oldThreads = (top) => {
  const sources = filesIn(join(top, 'src')).map((name) => join(top, 'src', name))
  const newest = Math.max(...sources.map(madeAt))
  const threads = sources.filter((source) => SOURCE.test(source) && THREAD.test(readFileSync(source, 'utf8')))
  return threads.filter((source) => {
    const out = outOf(top, source)
    return madeAt(out) < newest || !readFileSync(out, 'utf8').startsWith(MARK)
  })
}

/** What a module finds by its place is there as seen from the thread. */
const places = (top, thread) => ({
  name: 'places',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      const place = `new URL('${relative(dirname(thread), outOf(top, path))}', import.meta.url).href`
      return { contents: text.replaceAll('import.meta.url', place), loader: 'ts' }
    }),
})

const bundle = (top, source) =>
  build({
    entryPoints: [source],
    outfile: outOf(top, source),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'es2023',
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: MARK },
    plugins: [places(top, outOf(top, source))],
    logLevel: 'silent',
  })

/** How many files were compiled; one that cannot be is said, with its place, and null comes back. */
export const compile = async (top = join(import.meta.dirname, '..', '..')) => {
  const dist = join(top, 'dist')
  const wanted = new Set()
  const work = []
  for (const room of ['src', 'test']) {
    for (const file of filesIn(join(top, room)).filter((name) => SOURCE.test(name))) {
      const [source, out] = [join(top, room, file), join(dist, room, file.replace(SOURCE, '.js'))]
      wanted.add(out)
      if (madeAt(out) < madeAt(source)) work.push(one(source, out))
    }
    for (const file of filesIn(join(dist, room)).filter((name) => name.endsWith('.js')))
      if (!wanted.has(join(dist, room, file)))
        for (const end of ['', '.map']) rmSync(join(dist, room, file + end), { force: true })
  }
  const compiled = await Promise.allSettled(work)
  // what is no TypeScript is said once
  const isWell = compiled.every(({ status }) => status === 'fulfilled')
  const bundled = isWell ? await Promise.allSettled(oldThreads(top).map((source) => bundle(top, source))) : []
  const faults = [...compiled, ...bundled].flatMap(({ reason }) => (reason === undefined ? [] : [reason]))
  for (const fault of faults) {
    const said = fault.errors === undefined ? [String(fault)] : await formatMessages(fault.errors, { kind: 'error' })
    process.stderr.write(said.join(''))
  }
  return faults.length > 0 ? null : work.length
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = (await compile()) === null ? 1 : 0
