#!/usr/bin/env node
// The image of one platform, in Docker's format, made without an engine: the same packages give the same octets. It has no
// shell and no package manager: Debian's libraries as dpkg unpacks them, Node, and the program of the Debian package, each
// in a layer of its own, so that a new release brings the last one alone. What a container of it does is said by
// config/container/Containerfile: it runs as uid 10001 and writes to /data alone.
//   node systemd/release/image.mjs unpack ARCHIVE FOLDER    makes the root of a container of it (as root)
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { imageConfig } from './containerfile.mjs'
import { debianPackages } from './debian.mjs'

const UID = Number(imageConfig({}).User.split(':')[0])
const MULTIARCH = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }
const DOCKER = 'application/vnd.docker'

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const put = (root, file, text, mode = 0o644) => {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text, { mode })
}

/** What a system has besides the packages: names of users, where names of hosts come from, the authorities in one file. */
const completeBase = (root, arch) => {
  // of the papers the licences alone; some packages only refer to another one's
  execFileSync('find', [join(root, 'usr/share/doc'), '-type', 'f', '!', '-name', 'copyright', '-delete'])
  for (const folder of ['usr/share/lintian', 'usr/share/man', 'usr/share/bug', `usr/lib/${MULTIARCH[arch]}/gconv`])
    rmSync(join(root, folder), { recursive: true, force: true })
  symlinkSync('usr/lib', join(root, 'lib'))
  if (arch === 'amd64') symlinkSync('usr/lib64', join(root, 'lib64'))
  const nologin = '/usr/sbin/nologin'
  put(root, 'etc/passwd', `root:x:0:0:root:/root:${nologin}\npostern:x:${UID}:${UID}:Postern:/data:${nologin}\n`)
  put(root, 'etc/group', `root:x:0:\npostern:x:${UID}:\n`)
  put(root, 'etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n')
  const authorities = join(root, 'usr/share/ca-certificates/mozilla')
  const texts = readdirSync(authorities).sort().map((name) => readFileSync(join(authorities, name), 'utf8').trim())
  put(root, 'etc/ssl/certs/ca-certificates.crt', `${texts.join('\n')}\n`)
}

/** One layer: what lies in a folder, and empty folders as [path, mode, owner]; octets that hang on the files alone. */
const layerOf = (root, out, epoch, empty = []) => {
  const tar = join(out, 'layer.tar')
  const common = ['--format=ustar', '--numeric-owner', `--mtime=@${epoch}`, '--no-recursion']
  const list = execFileSync('find', ['.', '-mindepth', '1', '-printf', '%P\\n'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  const names = list.split('\n').filter((name) => name !== '').sort()
  const owned = ['--owner=0', '--group=0', '--mode=u=rwX,go=rX']
  execFileSync('tar', ['-cf', tar, ...common, ...owned, '-C', root, '--files-from=-'], { input: names.join('\n') })
  for (const [path, mode, owner] of empty) {
    const folder = join(out, 'empty')
    mkdirSync(join(folder, path), { recursive: true })
    const words = [`--owner=${owner}`, `--group=${owner}`, `--mode=${mode}`]
    execFileSync('tar', ['-rf', tar, ...common, ...words, '-C', folder, path])
  }
  const plain = sha256(readFileSync(tar))
  const packed = execFileSync('gzip', ['-6n', '-c', tar], { maxBuffer: 1 << 30 })
  rmSync(tar)
  return { plain, packed }
}

/** What a container is told unless it is told otherwise. */
const configOf = ({ version, commit, epoch, arch, node }, plains) => ({
  architecture: arch,
  os: 'linux',
  created: new Date(epoch * 1000).toISOString(),
  config: imageConfig({ VERSION: version, REVISION: commit }),
  rootfs: { type: 'layers', diff_ids: plains.map((plain) => `sha256:${plain}`) },
  history: ['Debian packages', `Node ${node}`, `Postern ${version}`].map((text) => ({
    created: new Date(epoch * 1000).toISOString(),
    created_by: text,
  })),
})

/**
 * Writes the archive that `docker load` and `podman load` take, which is a layout of the Open Container Initiative, too.
 * The answer is the row of this platform in a list of manifests.
 */
export const writeImage = ({ deb, file, work, ...about }) => {
  const { arch, version, epoch } = about
  const base = join(work, 'base')
  const program = join(work, 'program')
  const node = join(work, 'node')
  for (const folder of [base, program, node]) mkdirSync(folder, { recursive: true })
  for (const one of debianPackages(arch)) execFileSync('dpkg-deb', ['-x', one, base])
  completeBase(base, arch)
  const unpacked = join(work, 'unpacked')
  execFileSync('dpkg-deb', ['-x', deb, unpacked])
  for (const path of ['usr/lib/postern', 'usr/bin', 'usr/share/doc/postern'])
    cpSync(join(unpacked, path), join(program, path), { recursive: true, verbatimSymlinks: true })
  const doc = join(program, 'usr/share/doc/postern')
  for (const name of readdirSync(doc)) if (!/licence|copyright/.test(name)) rmSync(join(doc, name), { recursive: true })
  mkdirSync(join(node, 'usr/lib/postern/bin'), { recursive: true })
  renameSync(join(program, 'usr/lib/postern/bin/node'), join(node, 'usr/lib/postern/bin/node'))
  rmSync(join(program, 'usr/lib/postern/bin'), { recursive: true })

  const layers = [
    layerOf(base, work, epoch, [['tmp', '1777', 0]]),
    layerOf(node, work, epoch),
    layerOf(program, work, epoch, [['data', '0700', UID]]),
  ]
  const image = join(work, 'image')
  const blobs = join(image, 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  const blob = (bytes, mediaType) => {
    const digest = sha256(bytes)
    writeFileSync(join(blobs, digest), bytes)
    return { mediaType, size: bytes.length, digest: `sha256:${digest}` }
  }
  const json = (value) => Buffer.from(JSON.stringify(value))
  const config = blob(json(configOf(about, layers.map(({ plain }) => plain))), `${DOCKER}.container.image.v1+json`)
  const parts = layers.map(({ packed }) => blob(packed, `${DOCKER}.image.rootfs.diff.tar.gzip`))
  const mediaType = `${DOCKER}.distribution.manifest.v2+json`
  const manifest = blob(json({ schemaVersion: 2, mediaType, config, layers: parts }), mediaType)
  const row = { ...manifest, platform: { architecture: arch, os: 'linux' } }
  const tag = version.replace('+', '-')
  const at = ({ digest }) => `blobs/sha256/${digest.replace('sha256:', '')}`
  put(image, 'oci-layout', json({ imageLayoutVersion: '1.0.0' }))
  const named = { ...row, annotations: { 'org.opencontainers.image.ref.name': tag } }
  put(image, 'index.json', json({ schemaVersion: 2, manifests: [named] }))
  put(image, 'manifest.json', json([{ Config: at(config), RepoTags: [`postern:${tag}`], Layers: parts.map(at) }]))
  const words = ['--format=ustar', '--numeric-owner', '--owner=0', '--group=0', '--mode=u=rwX,go=rX', `--mtime=@${epoch}`]
  execFileSync('tar', ['-cf', file, '--sort=name', ...words, '-C', image, 'blobs', 'index.json', 'manifest.json', 'oci-layout'])
  return { row, size: statSync(file).size }
}

/** The list of both platforms, to be pushed after them. */
export const listOf = (rows) => ({
  schemaVersion: 2,
  mediaType: `${DOCKER}.distribution.manifest.list.v2+json`,
  manifests: rows,
})

/** What a container of the image sees as its root; the answer is the configuration of the image. */
export const unpackImage = (archive, root) => {
  const work = mkdtempSync(join(tmpdir(), 'postern-image-'))
  try {
    execFileSync('tar', ['-xf', archive, '-C', work])
    const [{ Config, Layers }] = JSON.parse(readFileSync(join(work, 'manifest.json'), 'utf8'))
    mkdirSync(root, { recursive: true })
    for (const layer of Layers) execFileSync('tar', ['-xpzf', join(work, layer), '--numeric-owner', '-C', root])
    return JSON.parse(readFileSync(join(work, Config), 'utf8'))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  const [word, archive, root] = process.argv.slice(2)
  if (word !== 'unpack' || root === undefined) {
    console.error('usage: image.mjs unpack ARCHIVE FOLDER')
    process.exit(64)
  }
  unpackImage(archive, root)
}
