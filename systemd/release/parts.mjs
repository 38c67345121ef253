#!/usr/bin/env node
// Parts of others that go into what is handed out: Node itself, and the SQLite driver of the other architecture, too. They
// come from the npm registry once and are kept in ~/.cache/postern (POSTERN_PARTS names another folder); what is kept is
// as little believed as what comes: each use compares it with parts.json or package-lock.json.
//   node systemd/release/parts.mjs node x64|arm64 FILE    writes that Node to FILE
//   node systemd/release/parts.mjs licence x64|arm64      prints its licence
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const top = join(here, '..', '..')
export const pins = JSON.parse(readFileSync(join(here, 'parts.json'), 'utf8'))

/** The folder where parts are kept. */
export const kept = () => {
  const folder = process.env.POSTERN_PARTS ?? join(homedir(), '.cache', 'postern')
  mkdirSync(folder, { recursive: true })
  return folder
}

export const digestOf = (file, algorithm, encoding) =>
  createHash(algorithm).update(readFileSync(file)).digest(encoding)

/** A part that can not be had here: no fault of the tree. */
export class Lacking extends Error {
  exit = 69
}

/** The file `name` of the folder of parts; `bring` writes it into an empty folder, and `isIt` judges it. */
export const part = (name, isIt, bring) => {
  const file = join(kept(), name)
  if (existsSync(file) && isIt(file)) return file
  const work = mkdtempSync(join(kept(), 'coming-'))
  try {
    try {
      bring(work)
    } catch (error) {
      throw new Lacking(`${name} can not be had: ${error.message}`)
    }
    if (!isIt(join(work, name))) throw new Error(`${name} is not what was pinned: its checksum differs`)
    renameSync(join(work, name), file)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return file
}

const tarball = (name, version, integrity) =>
  part(
    `${name}-${version}.tgz`,
    (file) => `sha512-${digestOf(file, 'sha512', 'base64')}` === integrity,
    (work) =>
      execFileSync('npm', ['pack', `${name}@${version}`, '--silent', '--ignore-scripts', '--pack-destination', work], {
        stdio: ['ignore', 'ignore', 'inherit'],
        cwd: work,
      }),
  )

/** Writes Node for one architecture to a file. */
export const writeNode = (arch, file) => {
  const name = `node-linux-${arch}`
  const from = tarball(name, pins.node, pins.integrity[name])
  const work = mkdtempSync(join(dirname(file), '.node-'))
  execFileSync('tar', ['-xzf', from, '-C', work, 'package/bin/node'])
  chmodSync(join(work, 'package/bin/node'), 0o755)
  renameSync(join(work, 'package/bin/node'), file)
  rmSync(work, { recursive: true })
}

/** The licence of Node and of all that is in it. */
export const nodeLicence = (arch) => {
  const name = `node-linux-${arch}`
  const from = tarball(name, pins.node, pins.integrity[name])
  return execFileSync('tar', ['-xzf', from, '-O', 'package/LICENSE'], { encoding: 'utf8' })
}

/** The folder of better-sqlite3 with its program for all platforms, always at one place of the tree: maps name it. */
export const driverFolder = () => {
  const { version, integrity } = lock('better-sqlite3')
  const folder = join(top, 'dist', 'parts', `better-sqlite3-${version}`)
  const driver = join(folder, 'node_modules', 'better-sqlite3')
  if (existsSync(driver)) return driver
  const from = tarball('better-sqlite3', version, integrity)
  mkdirSync(dirname(folder), { recursive: true })
  const work = mkdtempSync(`${folder}-`)
  mkdirSync(join(work, 'node_modules', 'better-sqlite3'), { recursive: true })
  const into = ['-C', join(work, 'node_modules', 'better-sqlite3'), '--strip-components=1']
  const wanted = ['package.json', 'LICENSE', 'lib', 'prebuilds'].map((name) => `package/${name}`)
  execFileSync('tar', ['-xzf', from, ...into, ...wanted])
  try {
    renameSync(work, folder)
  } catch (error) {
    // another build was there first
    if (!existsSync(driver)) throw error
    rmSync(work, { recursive: true })
  }
  return driver
}

/** A package of package-lock.json. */
export const lock = (name) =>
  JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')).packages[`node_modules/${name}`]

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  const [what, arch, file] = process.argv.slice(2)
  if (pins.integrity[`node-linux-${arch}`] === undefined) {
    console.error('usage: parts.mjs node x64|arm64 FILE, or parts.mjs licence x64|arm64')
    process.exit(64)
  }
  try {
    if (what === 'node') writeNode(arch, file)
    else process.stdout.write(nodeLicence(arch))
  } catch (error) {
    console.error(error.message)
    process.exit(error.exit ?? 70)
  }
}
