#!/usr/bin/env node
// Makes everything that a release hands out, in dist/release/, from a clean clone after `npm ci`: Debian packages, the npm
// package, executables, images, the bill of materials, notes, checksums, and a signature. On a tag vX.Y.Z it is X.Y.Z, and
// CHANGELOG.md must have its entry; between tags it is X.Y.Z-dev.N+commit. Made twice, all but the signature is the same
// octets: times are the commit's, Node and Debian's packages are pinned in parts.json, and everything is built by that Node.
//   npm run release -- --key ~/.ssh/id_ed25519    signs SHA256SUMS by ssh-keygen
//   npm run release -- --unsigned                 leaves the signature out, and says so
//   npm run release -- --only=deb,npm --arch=amd64 --unsigned    makes a part of it, for trials
// A whole release is refused where the pictures of README.md are not those of its pages; --old-pictures makes it all the same.
// Exit codes: 64 a wrong word, 65 the tree is not fit to be released, 69 a part of others can not be had, 70 a step failed.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { listOf, writeImage } from './image.mjs'
import { pins } from './parts.mjs'
import { sbomOf } from './sbom.mjs'
import { versionOf } from './version.mjs'

const top = process.cwd()
const KINDS = ['deb', 'npm', 'executable', 'image']
const CPUS = { amd64: 'x64', arm64: 'arm64' }

const refuse = (code, text) => {
  console.error(`release: ${text}`)
  process.exit(code)
}

const words = () => {
  try {
    const { values } = parseArgs({
      options: {
        key: { type: 'string' },
        unsigned: { type: 'boolean', default: false },
        'old-pictures': { type: 'boolean', default: false },
        only: { type: 'string', default: KINDS.join() },
        arch: { type: 'string', default: Object.keys(CPUS).join() },
      },
    })
    const only = values.only.split(',')
    const arch = values.arch.split(',')
    const wrong = [...only.filter((one) => !KINDS.includes(one)), ...arch.filter((one) => !(one in CPUS))]
    if (wrong.length > 0) refuse(64, `${wrong.join()} is none of ${KINDS.join()} (--only) and ${Object.keys(CPUS)} (--arch)`)
    return { ...values, only, arch }
  } catch (error) {
    return refuse(64, error.message)
  }
}

/** What CHANGELOG.md says of a version; null where it says nothing. */
const entryOf = (version) => {
  const text = existsSync('CHANGELOG.md') ? readFileSync('CHANGELOG.md', 'utf8') : ''
  const sections = text.split(/^(?=## )/m)
  const found = sections.find((one) => one.startsWith(`## [${version}]`) || one.startsWith(`## ${version}`))
  const said = found?.replace(/^.*\n/, '').replace(/^\[[^\]]+\]: .*$/gm, '').trim()
  return said === undefined || said === '' ? null : said
}

/** Whether what is installed is what package-lock.json says; npm leaves out what this Node can not run. */
const installedDiffers = () => {
  const file = 'node_modules/.package-lock.json'
  if (!existsSync(file)) return true
  const { packages: wanted } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const { packages } = JSON.parse(readFileSync(file, 'utf8'))
  return Object.entries(wanted).some(([name, { integrity, optional, devOptional }]) => {
    if (name === '') return false
    const have = packages[name]
    return have === undefined ? !optional && !devOptional : have.integrity !== integrity
  })
}

const { key, unsigned, only, arch, 'old-pictures': isAnyPicture } = words()
if (key === undefined && !unsigned) refuse(64, 'name a key to sign with, --key FILE, or say --unsigned')
if (key !== undefined && !existsSync(key)) refuse(64, `there is no key ${key}`)
const about = versionOf(top)
const { version, tag, epoch, isClean } = about
if (!isClean) refuse(65, 'the tree has changes, or is no repository: commit them, or make a clean clone')
if (installedDiffers()) refuse(65, 'node_modules is not what package-lock.json says: run npm ci')
const { version: said } = JSON.parse(readFileSync('package.json', 'utf8'))
if (tag !== null && said !== version) refuse(65, `the tag ${tag} is on a tree whose package.json says ${said}: give both one version`)
const notes = entryOf(tag === null ? 'Unreleased' : version)
if (tag !== null && notes === null) refuse(65, `CHANGELOG.md has no entry for ${version}: write "## [${version}] - DATE" and what changed`)

process.env.SOURCE_DATE_EPOCH = String(epoch)
process.env.TZ = 'UTC'
process.env.LC_ALL = 'C'
const out = join(top, 'dist', 'release')
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const work = mkdtempSync(join(top, 'dist', 'releasing-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))

const run = (name, program, args, options = {}) =>
  new Promise((resolve, reject) => {
    const started = Date.now()
    const child = spawn(program, args, { cwd: top, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (some) => (text += some))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code !== 0) return reject(Object.assign(new Error(`${name} failed: ${text.trim().slice(-2000)}`), { exit: code === 69 ? 69 : 70 }))
      console.log(`${name}: ${Math.round((Date.now() - started) / 1000)} s`)
      return resolve(text)
    })
  })

/** The pages as this tree makes them, by the Node that goes along. */
const checkPictures = async () => {
  const cpu = process.arch
  const folder = join(work, 'pages')
  const node = join(folder, 'bin', 'node')
  mkdirSync(join(folder, 'bin'), { recursive: true })
  await run('Node', 'node', ['systemd/release/parts.mjs', 'node', cpu, node])
  await run('pages', node, ['systemd/bundle/bundle.mjs', folder, '--package', cpu])
  try {
    await run('pictures', 'node', ['systemd/pictures.mjs', '--check', `--program=${folder}`])
  } catch (error) {
    refuse(65, `${error.message}\nrelease: or say --old-pictures`)
  }
}

const executable = async (cpu) => {
  const folder = join(work, `executable-${cpu}`)
  mkdirSync(folder)
  await run(`executable ${cpu}`, 'systemd/build-sea.sh', [folder, cpu])
  const name = `postern-${version}-linux-${cpu}`
  renameSync(join(folder, name), join(folder, 'postern'))
  renameSync(join(folder, `${name}.licences.txt`), join(folder, 'licences.txt'))
  const pack =
    'tar -c --sort=name --owner=0 --group=0 --numeric-owner --format=ustar --mtime="@$SOURCE_DATE_EPOCH" -C "$1" postern licences.txt | gzip -6n >"$2"'
  await run(`executable ${cpu}, packed`, 'bash', ['-euo', 'pipefail', '-c', pack, 'pack', folder, join(out, `${name}.tar.gz`)])
}

/** The package of an architecture, and the image that is made of what is in it. */
const rows = []
const packageAndImage = async (one) => {
  const isWanted = only.includes('deb')
  const folder = isWanted ? out : join(work, `deb-${one}`)
  mkdirSync(folder, { recursive: true })
  const env = isWanted ? process.env : { ...process.env, DPKG_DEB_COMPRESSOR_TYPE: 'none' }
  await run(`deb ${one}`, 'systemd/build-deb.sh', [folder, one], { env })
  if (!only.includes('image')) return
  const started = Date.now()
  const image = join(work, `image-${one}`)
  mkdirSync(image)
  const { row } = writeImage({
    ...about,
    arch: one,
    node: pins.node,
    deb: join(folder, `postern_${about.deb}_${one}.deb`),
    file: join(out, `postern-${version}-image-${one}.tar`),
    work: image,
  })
  rows.push(row)
  console.log(`image ${one}: ${Math.round((Date.now() - started) / 1000)} s`)
}

/** Two at a time: the machines that build have two processors, and xz uses one. */
const isPackage = only.includes('deb') || only.includes('image')
const steps = [
  ...(isPackage ? arch.map((one) => () => packageAndImage(one)) : []),
  ...(only.includes('executable') ? arch.map((one) => () => executable(CPUS[one])) : []),
  ...(only.includes('npm') ? [() => run('npm', 'systemd/build-npm.sh', [out])] : []),
]
const lane = async () => {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) await step()
}
try {
  const isWhole = only.length === KINDS.length && arch.length === Object.keys(CPUS).length
  if (isWhole && !isAnyPicture) await checkPictures()
  await Promise.all([lane(), lane()])
  rows.sort((one, other) => (one.platform.architecture < other.platform.architecture ? -1 : 1))
  if (rows.length > 0) writeFileSync(join(out, `postern-${version}-image.json`), JSON.stringify(listOf(rows)))
  writeFileSync(join(out, `postern-${version}.cdx.json`), `${JSON.stringify(sbomOf(top, about), null, 2)}\n`)
  writeFileSync(join(out, 'NOTES.md'), `# Postern ${version}\n\n${notes ?? 'Made between releases.'}\n`)
  const sums = readdirSync(out)
    .sort()
    .map((name) => `${createHash('sha256').update(readFileSync(join(out, name))).digest('hex')}  ${name}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  if (key !== undefined)
    execFileSync('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', 'postern-release', join(out, 'SHA256SUMS')], { stdio: ['inherit', 'ignore', 'inherit'] })
} catch (error) {
  refuse(error.exit ?? 70, error.message)
}
for (const name of readdirSync(out)) console.log(`${String(statSync(join(out, name)).size).padStart(11)}  dist/release/${name}`)
console.log(key === undefined ? `Postern ${version} is made, unsigned` : `Postern ${version} is made and signed`)
