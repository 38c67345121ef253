#!/usr/bin/env node
// Puts the compiled program and the packages that it needs into a few files, with esbuild.
//   node systemd/bundle/bundle.mjs OUT DRIVERS  a folder for a package: postern.js, its threads, chunks, native modules,
//                                               with both SQLite drivers, as drivers.sh has put them into DRIVERS
//   node systemd/bundle/bundle.mjs OUT --sea    what the single executable is made of: postern.cjs, threads, assets
// Run in the top folder after `npm ci && npm run build`. licences.txt names all packages that went in.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const top = process.cwd()
const [out = 'bundle', flag] = process.argv.slice(2)
const sea = flag === '--sea'
const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))
const compiled = (file) => join(top, 'dist', 'src', file)
const NATIVE = join(top, 'systemd', 'bundle', 'native.cjs')
const STANDS_IN = { bindings: 'better_sqlite3-12.node', 'node-gyp-build': 'bcrypt.node' }

/** The folders of both SQLite drivers; the single executable needs the one alone that its Node can run. */
const isOld = Number(process.versions.napi) < 10
const drivers = sea
  ? isOld
    ? { old: join(top, 'bin/native/node20/node_modules/better-sqlite3') }
    : { new: join(top, 'node_modules/better-sqlite3') }
  : { old: resolve(flag, 'old/node_modules/better-sqlite3'), new: resolve(flag, 'new/node_modules/better-sqlite3') }

/** Where the compiled program is, and who loads native modules. */
const pieces = {
  name: 'pieces',
  setup({ onResolve, onLoad }) {
    // esbuild sees a package in a plain require() only
    onLoad({ filter: /\/store\/sqlite\/driver\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/^const require = .*$/m, ''),
    }))
    onResolve({ filter: /^(\.\/node20\/node_modules\/)?better-sqlite3$/ }, ({ path }) => {
      const folder = drivers[path.startsWith('.') ? 'old' : 'new']
      return folder === undefined ? { path, namespace: 'left-out' } : { path: join(folder, 'lib/index.js') }
    })
    onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: '' }))
    onLoad({ filter: /\/better-sqlite3\/lib\/binding\.js$/ }, () => ({
      contents: `exports.getBinding = () => require(${JSON.stringify(NATIVE)}).native('better_sqlite3-13.node')`,
      resolveDir: top,
    }))
    // the scripts of the browser are no modules of ours: they go along as texts
    onLoad({ filter: /\/dashboard\/assets\/client-files\.js$/ }, async ({ path }) => {
      const { clientFiles } = await import(path)
      return { contents: `export const clientFiles=()=>new Map(${JSON.stringify([...clientFiles()])})` }
    })
    onResolve({ filter: /^@postern\/main$/ }, () => ({ path: compiled('cli/main.js') }))
    // import() of a package in CommonJS gives its names, as Node finds them; a chunk of esbuild would have `default` alone
    onResolve({ filter: /^[a-z@]/ }, ({ path, kind, namespace }) => {
      const isPackage = !path.startsWith('node:') && path !== '@postern/main'
      return kind === 'dynamic-import' && namespace !== 'names' && isPackage ? { path, namespace: 'names' } : undefined
    })
    onLoad({ filter: /.*/, namespace: 'names' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((one) => one !== 'default' && one !== 'module.exports')
      const from = JSON.stringify(path)
      return {
        contents: `import*as all from ${from};export default all['default'];export const{${names}}=all;`,
        resolveDir: top,
      }
    })
    onResolve({ filter: /^(bindings|node-gyp-build)$/ }, ({ path }) => ({ path, namespace: 'native' }))
    onLoad({ filter: /.*/, namespace: 'native' }, ({ path }) => ({
      contents: `module.exports = () => require(${JSON.stringify(NATIVE)}).native(${JSON.stringify(STANDS_IN[path])})`,
      resolveDir: top,
    }))
  },
}

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  outdir: out,
  metafile: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // every licence goes along whole
  logLevel: 'warning',
  plugins: [pieces],
  nodePaths: [join(top, 'node_modules')],
}
const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
/** What this is built from, marked when files were changed since; empty outside of a repository. */
const commitOf = () => {
  try {
    if (git('rev-parse', '--show-toplevel') !== realpathSync(top)) return ''
    return `${git('rev-parse', '--short=12', 'HEAD')}${git('status', '--porcelain', '--untracked-files=no') && '+changes'}`
  } catch {
    return ''
  }
}
const define = {
  POSTERN_VERSION: JSON.stringify(version),
  POSTERN_COMMIT: JSON.stringify(commitOf()),
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
  worker: compiled('relay/worker.js'),
  'writer-thread': compiled('store/sqlite/thread/writer-thread.js'),
  'followers-thread': compiled('followers/followers-thread.js'),
  'body-thread': compiled('http/thread/body-thread.js'),
}
const entry = { postern: join(top, 'systemd', 'bundle', 'entry.js') }

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

const isMusl = existsSync('/etc/alpine-release')
const { platform, arch } = process
const prebuilt = `node_modules/bcrypt/prebuilds/${platform}-${arch}/bcrypt.${isMusl ? 'musl' : 'glibc'}.node`
mkdirSync(out, { recursive: true })
const addons = { old: 'build/Release/better_sqlite3.node', new: `prebuilds/${platform}${isMusl ? 'musl' : ''}-${arch}.node` }
for (const [age, folder] of Object.entries(drivers))
  copyFileSync(join(folder, addons[age]), join(out, `better_sqlite3-${age === 'old' ? 12 : 13}.node`))
copyFileSync(resolve(prebuilt), join(out, 'bcrypt.node'))
if (!sea) writeFileSync(join(out, 'package.json'), `${JSON.stringify({ name, version, type: 'module' })}\n`)

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
