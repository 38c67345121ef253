// Run by npm when Postern is installed. Node below 22.14 can not run the SQLite driver that npm has put beside
// Postern (see src/store/sqlite/driver.ts): there, the older one is installed into bin/native/node20, as its own
// package-lock.json says. Elsewhere nothing is left to do.
import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

// what the npm around this one was told about its own work
const NOT_OURS =
  /^npm_config_(global|location|prefix|local_prefix|dry_run|omit|include|only|production|package|package_lock|ignore_scripts|allow_scripts|workspaces?|save.*|json)$/i

if (Number(process.versions.napi) < 10) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_OURS.test(name)))
  const { npm_execpath: npm = '' } = env
  const [program, ...args] = basename(npm) === 'npm-cli.js' ? [process.execPath, npm] : ['npm']
  const cwd = fileURLToPath(new URL('node20', import.meta.url))
  const old = `Node ${process.versions.node}`
  console.error(
    `postern: compiles the SQLite driver for ${old} now, for about 3 minutes, unless a finished one can be downloaded; Node 22.14 and newer compile nothing`,
  )
  const words = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync(program, [...args, ...words], { cwd, env, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`postern: the SQLite driver for ${old} could not be installed.`)
    console.error('It needs a C++ compiler, make and Python 3; Node 22.14 and newer need none of them.')
  }
  process.exitCode = status ?? 1
}
