// Native modules of a bundle; stands in for `bindings` and `node-gyp-build`, which search folders that are not there.
// In a package the module is a file beside the bundle. The single executable carries it as an asset, and the system
// loads files only: it is written to a private folder, opened, removed again, and loaded through its descriptor, so
// that nothing stays behind. All threads load that very file: two copies of SQLite in one process would undo each
// other's locks.
const { mkdtempSync, openSync, rmSync, writeFileSync } = require('node:fs')
const { homedir, tmpdir } = require('node:os')
const { join } = require('node:path')
const { getRawAsset, isSea } = require('node:sea')
const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads')

const load = (file) => {
  const module = { exports: {} }
  process.dlopen(module, file)
  return module.exports
}

/** Some machines forbid running files from /tmp. */
const places = () => [tmpdir(), process.env.XDG_RUNTIME_DIR, '/dev/shm', homedir()].filter(Boolean)

const unpacked = (name, place) => {
  const folder = mkdtempSync(join(place, 'postern-'))
  try {
    writeFileSync(join(folder, name), new Uint8Array(getRawAsset(name)), { mode: 0o700 })
    return `/proc/self/fd/${openSync(join(folder, name), 'r')}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const unpack = (name) => {
  const refused = []
  for (const place of places()) {
    try {
      const file = unpacked(name, place)
      load(file)
      setEnvironmentData(name, file)
      return file
    } catch (error) {
      refused.push(`${place}: ${error.message}`)
    }
  }
  throw new Error(`${name} can be loaded from nowhere; set TMPDIR to a folder that allows it (${refused.join('; ')})`)
}

/** Before any thread is started: threads find the file by what was put down here. */
const prepareSqlite = () => {
  if (isSea()) unpack('better_sqlite3.node')
}

/** By a call, or the bundler would take all that lies here for meant. */
const beside = (name) => `./${name}`

const native = (name) => (isSea() ? load(getEnvironmentData(name) ?? unpack(name)) : require(beside(name)))

module.exports = { native, prepareSqlite }
