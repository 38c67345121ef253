#!/usr/bin/env node
// Puts the program and the packages that it needs into a few files, with esbuild, straight from src/.
//   bundle.mjs                        dist/run, which bin/postern runs in a checkout: modules and threads; native modules
//                                     stay in node_modules and bin/native
//   bundle.mjs OUT --npm              the same for the npm package, which knows its commit
//   bundle.mjs OUT --package [ARCH]   a folder for a package with a Node of its own: postern.js, its threads, chunks, and
//                                     native modules for x64 or arm64
//   bundle.mjs OUT --sea [ARCH]       what the single executable is made of: postern.cjs, threads, assets
// Run in the top folder after `npm ci`. licences.txt names all packages that went in. The same sources give the same
// octets, whatever the folders are called.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, transform } from 'esbuild'
import { driverFolder } from '../release/parts.mjs'
import { versionOf } from '../release/version.mjs'

const top = process.cwd()
const [out = join('dist', 'run'), flag, arch = process.arch] = process.argv.slice(2)
const isHere = flag === undefined
const sea = flag === '--sea'
/** With node_modules beside it. */
const isInstalled = isHere || flag === '--npm'
const { name, version: said } = JSON.parse(readFileSync('package.json', 'utf8'))
// of a checkout the commit would be that of another day
const { version, commit } = isHere ? { version: said, commit: '' } : versionOf(top)
const source = (file) => join(top, 'src', file)
const NATIVE = './systemd/bundle/native.cjs' // relative to the top: names of chunks hang on what is written
/** The driver for the Node that goes along, whichever Node builds. */
const driver = isInstalled ? '' : driverFolder()

/** The scripts of the browser, each by itself, and uPlot, which as it is published makes a variable. */
const clientFiles = async () => {
  const folder = source('dashboard/client')
  const entryPoints = readdirSync(folder).map((file) => join(folder, file))
  const { outputFiles } = await build({ entryPoints, outdir: folder, write: false, format: 'esm', target: 'es2022' })
  const uplot = readFileSync(join('node_modules', 'uplot', 'dist', 'uPlot.iife.min.js'), 'utf8')
  return [
    ...outputFiles.map(({ path, text }) => [path.slice(folder.length + 1), text]),
    ['uplot.js', `${uplot}\nexport { uPlot }\n`],
  ]
}

/** The papers that /docs shows, as the module itself finds them in the top folder. */
const papers = async (file) => {
  const { code } = await transform(readFileSync(file, 'utf8'), { loader: 'ts', format: 'esm' })
  const { paperFiles } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return [...paperFiles(top)]
}

/** Where the program is. */
const pieces = {
  name: 'pieces',
  setup({ onResolve, onLoad }) {
    // they are no modules of ours: they go along as texts
    onLoad({ filter: /\/dashboard\/assets\/client-files\.ts$/ }, async () => ({
      contents: `export const clientFiles=()=>new Map(${JSON.stringify(await clientFiles())})`,
    }))
    onLoad({ filter: /\/dashboard\/pages\/docs\/paper-files\.ts$/ }, async ({ path }) => ({
      contents: `export const paperFiles=()=>new Map(${JSON.stringify(await papers(path))})`,
    }))
    onResolve({ filter: /^@postern\/main$/ }, () => ({ path: source('cli/main.ts') }))
    // import() of a package in CommonJS gives its names, as Node finds them; a chunk of esbuild would have `default` alone
    onResolve({ filter: /^[a-z@]/ }, ({ path, kind, namespace }) => {
      const isPackage = !path.startsWith('node:') && path !== '@postern/main'
      return kind === 'dynamic-import' && namespace !== 'names' && isPackage ? { path, namespace: 'names' } : undefined
    })
    onLoad({ filter: /.*/, namespace: 'names' }, async ({ path }) => {
      const all = Object.keys(await import(path)).filter((one) => one !== 'module.exports')
      const from = JSON.stringify(path)
      const rest = `import*as all from ${from};export const{${all.filter((one) => one !== 'default')}}=all;`
      return {
        contents: all.includes('default') ? `export default all['default'];${rest}` : rest,
        resolveDir: top,
      }
    })
  },
}

/** Who loads native modules where there is no node_modules. */
const natives = {
  name: 'natives',
  setup({ onResolve, onLoad }) {
    // esbuild sees a package in a plain require() only
    onLoad({ filter: /\/store\/sqlite\/connect\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/^const require = .*$/m, ''),
      loader: 'ts',
    }))
    onResolve({ filter: /^(\.\/node20\/node_modules\/)?better-sqlite3$/ }, ({ path }) => {
      return path.startsWith('.') ? { path, namespace: 'left-out' } : { path: join(driver, 'lib/index.js') }
    })
    onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: '' }))
    onLoad({ filter: /\/better-sqlite3\/lib\/binding\.js$/ }, () => ({
      contents: `exports.getBinding = () => require(${JSON.stringify(NATIVE)}).native('better_sqlite3.node')`,
      resolveDir: top,
    }))
    onResolve({ filter: /^node-gyp-build$/ }, ({ path }) => ({ path, namespace: 'native' }))
    onLoad({ filter: /.*/, namespace: 'native' }, () => ({
      contents: `module.exports = () => require(${JSON.stringify(NATIVE)}).native('bcrypt.node')`,
      resolveDir: top,
    }))
  },
}

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  // maps and names of chunks go by it, so it is always the same
  outdir: join(top, 'dist', isInstalled ? 'run' : 'package'),
  write: false,
  metafile: true,
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: sea ? false : 'external', // base/crash.ts reads it; nothing that runs is told of it
  sourcesContent: false,
  legalComments: 'none', // every licence goes along whole
  logLevel: 'warning',
  external: isInstalled ? ['bcrypt'] : [],
  plugins: isInstalled ? [pieces] : [pieces, natives],
  nodePaths: [join(top, 'node_modules')],
}
const define = {
  POSTERN_VERSION: JSON.stringify(version),
  POSTERN_COMMIT: JSON.stringify(commit),
  ...(isInstalled && { POSTERN_NATIVE: '"../../bin/native/"' }),
  __dirname: '""',
}
const modules = (from) => ({
  ...common,
  define,
  format: 'esm',
  // packages in CommonJS ask for what Node brings
  banner: { js: `import{createRequire as __from}from'node:module';const require=__from(${from});` },
})
const threads = {
  worker: source('relay/worker.ts'),
  'writer-thread': source('store/sqlite/thread/writer-thread.ts'),
  'followers-thread': source('followers/followers-thread.ts'),
  'body-thread': source('http/thread/body-thread.ts'),
}
// bin/postern is the first file in a checkout
const entry = { postern: isInstalled ? source('cli/main.ts') : join(top, 'systemd', 'bundle', 'entry.js') }

if (isHere) rmSync(out, { recursive: true, force: true })
const results = sea
  ? [
      await build({
        ...common,
        entryPoints: entry,
        format: 'cjs',
        outExtension: { '.js': '.cjs' },
        define: { ...define, 'import.meta.url': '__self' },
        banner: { js: "const __self=require('node:url').pathToFileURL(process.execPath).href;" },
      }),
      await build({ ...modules('process.execPath'), entryPoints: threads }),
    ]
  : [await build({ ...modules('import.meta.url'), entryPoints: { ...entry, ...threads }, splitting: true })]

// it would be searched where the package is installed, and found in a checkout alone
const entered = results.flatMap(({ metafile }) => Object.keys(metafile.inputs))
if (!isInstalled && !entered.some((path) => path.endsWith('better-sqlite3/lib/index.js')))
  throw new Error('better-sqlite3 did not go in: the file that loads it is another one than the plugin natives knows')

mkdirSync(out, { recursive: true })
for (const { path, contents } of results.flatMap(({ outputFiles }) => outputFiles))
  writeFileSync(join(out, basename(path)), contents)
if (!isInstalled) {
  copyFileSync(join(driver, `prebuilds/linux-${arch}.node`), join(out, 'better_sqlite3.node'))
  copyFileSync(`node_modules/bcrypt/prebuilds/linux-${arch}/bcrypt.glibc.node`, join(out, 'bcrypt.node'))
  if (!sea) writeFileSync(join(out, 'package.json'), `${JSON.stringify({ name, version, type: 'module' })}\n`)
}

// every package that went in, with its licence
const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs)).filter((file) => !file.startsWith('left-out:'))
const packages = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [])
const folders = new Set([...packages, 'node_modules/uplot'])
const licences = [...folders].sort().map((folder) => {
  const { name: title, version: of, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()
  return `${title} ${of} (${license ?? 'see below'})\n\n${text}\n`
})
writeFileSync(join(out, 'licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
