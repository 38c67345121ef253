#!/usr/bin/env node
// Debian's packages that are the base of the image: what parts.json pins, version and SHA-256, from the mirror that this
// machine's apt uses, by apt and with its checks. A mirror keeps a version only as long as it is the newest; then
//   node systemd/release/debian.mjs pin    writes the newest into parts.json, to be looked at and committed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestOf, kept, part, pins } from './parts.mjs'

const NAMES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates', 'tzdata', 'netbase']

/** The addresses of Debian's archives in the sources of apt, security's apart. */
const mirrors = () => {
  const folder = '/etc/apt/sources.list.d'
  const files = [...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []), '/etc/apt/sources.list']
  const text = files.map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')).join('\n')
  const found = text.replace(/^#.*$/gm, '').match(/\b(?:https?|mirror\+file|file):\S*\/debian(?:-security)?\/?(?=\s)/g) ?? []
  const main = process.env.POSTERN_DEBIAN_MIRROR ?? found.find((one) => !/-security\/?$/.test(one))
  if (main === undefined) throw new Error('the sources of apt name no mirror of Debian: set POSTERN_DEBIAN_MIRROR=URL')
  return { main, security: found.find((one) => /-security\/?$/.test(one)) }
}

/** apt with folders of its own, for an architecture and a release that need not be this machine's. */
const aptFor = (arch) => {
  const { suite } = pins.debian
  const root = mkdtempSync(join(kept(), 'apt-'))
  for (const folder of ['state/lists/partial', 'cache/archives/partial']) mkdirSync(join(root, folder), { recursive: true })
  const { main, security } = mirrors()
  const source = (uri, suites) =>
    `Types: deb\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n`
  const sources = [source(main, `${suite} ${suite}-updates`), ...(security ? [source(security, `${suite}-security`)] : [])]
  writeFileSync(join(root, 'debian.sources'), sources.join('\n'))
  const options = {
    'Dir::State': join(root, 'state'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(root, 'cache'),
    'Dir::Etc::sourcelist': join(root, 'debian.sources'),
    'Dir::Etc::sourceparts': '-',
    'APT::Architecture': arch,
    'APT::Architectures': arch,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  }
  const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const apt = (program, ...args) =>
    execFileSync(program, [...words, ...args], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  apt('apt-get', 'update', '--quiet')
  return { apt, root }
}

const fileOf = ({ name, version, sha256 }) => `${name}_${version.replaceAll(':', '%3a')}_${sha256.slice(0, 12)}.deb`

/** The files of one architecture; apt is asked only for what is not kept yet. */
export const debianPackages = (arch) => {
  let own
  try {
    return pins.debian.packages[arch].map((pinned) =>
      part(
        fileOf(pinned),
        (file) => digestOf(file, 'sha256', 'hex') === pinned.sha256,
        (work) => {
          own ??= aptFor(arch)
          try {
            own.apt('apt-get', 'download', `${pinned.name}=${pinned.version}`)
          } catch {
            const remedy = 'run node systemd/release/debian.mjs pin, look at the change, and commit it'
            throw new Error(`the mirror has no ${pinned.name} ${pinned.version} (${arch}) any more: ${remedy}`)
          }
          const got = readdirSync(own.root).find((name) => name.startsWith(`${pinned.name}_`))
          renameSync(join(own.root, got), join(work, fileOf(pinned)))
        },
      ),
    )
  } finally {
    if (own) rmSync(own.root, { recursive: true, force: true })
  }
}

const newest = (arch) => {
  const { apt, root } = aptFor(arch)
  try {
    return NAMES.map((wanted) => {
      const shown = apt('apt-cache', 'show', '--no-all-versions', wanted)
      const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(shown)[1]
      return { name: wanted, version: field('Version'), sha256: field('SHA256') }
    })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  if (process.argv[2] !== 'pin') {
    console.error('usage: debian.mjs pin')
    process.exit(64)
  }
  const packages = Object.fromEntries(['amd64', 'arm64'].map((arch) => [arch, newest(arch)]))
  const made = { ...pins, debian: { ...pins.debian, packages } }
  writeFileSync(join(dirname(fileURLToPath(import.meta.url)), 'parts.json'), `${JSON.stringify(made, null, 2)}\n`)
}
