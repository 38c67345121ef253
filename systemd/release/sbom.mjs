// The bill of materials, CycloneDX: the production packages of package-lock.json by `npm sbom`, and what is in the packages
// besides: Node, the SQLite driver for older Nodes, and Debian's packages of the image. The same lock gives the same octets.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pins } from './parts.mjs'

/** UUID of version 5 (RFC 9562) in the namespace of DNS names. */
export const uuid5 = (name) => {
  const namespace = Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex')
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16)
  bytes[6] = (bytes[6] & 0x0f) | 0x50
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const nodes = () =>
  Object.entries(pins.integrity).map(([name, integrity]) => ({
    'bom-ref': `${name}@${pins.node}`,
    type: 'platform',
    name: 'node',
    version: pins.node,
    description: `Node.js for ${name.replace('node-', '')}, as the npm package ${name} repacks it`,
    licenses: [{ license: { id: 'MIT' } }],
    purl: `pkg:npm/${name}@${pins.node}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
  }))

const olderDriver = (top) => {
  const { packages } = JSON.parse(readFileSync(join(top, 'bin/native/node20/package-lock.json'), 'utf8'))
  const { version } = packages['node_modules/better-sqlite3']
  return {
    'bom-ref': `better-sqlite3@${version}`,
    type: 'library',
    name: 'better-sqlite3',
    version,
    scope: 'optional',
    description: 'What the npm package installs on Node before 22.14',
    purl: `pkg:npm/better-sqlite3@${version}`,
  }
}

const debian = () =>
  Object.entries(pins.debian?.packages ?? {}).flatMap(([arch, packages]) =>
    packages.map(({ name, version, sha256 }) => ({
      'bom-ref': `${name}@${version}:${arch}`,
      type: 'library',
      name,
      version,
      description: 'In the image alone',
      purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${arch}&distro=${pins.debian.suite}`,
      hashes: [{ alg: 'SHA-256', content: sha256 }],
    })),
  )

export const sbomOf = (top, { version, epoch }) => {
  const words = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only']
  const made = JSON.parse(execFileSync('npm', words, { cwd: top, encoding: 'utf8', maxBuffer: 64 << 20 }))
  const { component } = made.metadata
  const older = olderDriver(top)
  const components = [...made.components, ...nodes(), older, ...debian()]
  const own = `postern@${version}`
  return {
    ...made,
    serialNumber: `urn:uuid:${uuid5(own)}`,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      lifecycles: made.metadata.lifecycles,
      component: { ...component, 'bom-ref': own, version, purl: `pkg:npm/${encodeURIComponent(own).replace('%40', '@')}` },
    },
    components,
    dependencies: made.dependencies.map((one) =>
      one.ref === component['bom-ref']
        ? { ref: own, dependsOn: [...one.dependsOn, ...components.slice(made.components.length).map((part) => part['bom-ref'])] }
        : one,
    ),
  }
}
