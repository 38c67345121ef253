// The bill of materials, CycloneDX: the production packages of package-lock.json, and what is in the packages besides: Node,
// the SQLite driver for older Nodes, and Debian's packages of the image. The same lock gives the same octets.
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
    hashes: [{ alg: 'SHA-512', content: hexOf(integrity) }],
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

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
const refOf = (path, { version }) => `${nameOf(path)}@${version}`
const purlOf = (path, { version }) => `pkg:npm/${nameOf(path).replace('@', '%40')}@${version}`
const hexOf = (integrity) => Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
const licenceOf = (license) =>
  license === undefined ? {} : { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] }

/** The production packages of a lock, each with those that it asks for. Not by `npm sbom`: its --omit=dev drops what is of both kinds. */
const packagesOf = (packages) => {
  const found = (from, name) => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/')))) {
      const path = `${at}${at === '' || at.endsWith('/') ? '' : '/'}node_modules/${name}`
      if (packages[path] !== undefined) return path
      if (at === '') return undefined
    }
  }
  const wanted = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
  const refs = ([path, { dependencies = {}, optionalDependencies = {} }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .flatMap((name) => found(path, name) ?? [])
      .map((one) => refOf(one, packages[one]))
      .sort()
  const components = new Map(
    wanted.map(([path, one]) => [
      refOf(path, one),
      {
        'bom-ref': refOf(path, one),
        type: 'library',
        name: nameOf(path),
        version: one.version,
        ...licenceOf(one.license),
        purl: purlOf(path, one),
        ...(one.integrity !== undefined && { hashes: [{ alg: 'SHA-512', content: hexOf(one.integrity) }] }),
      },
    ]),
  )
  const dependencies = new Map(wanted.map((entry) => [refOf(...entry), refs(entry)]))
  return { components: [...components.values()], dependencies, direct: refs(['', packages['']]) }
}

export const sbomOf = (top, { version, epoch }) => {
  const { packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8'))
  const { license, description } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  const npm = packagesOf(packages)
  const others = [...nodes(), olderDriver(top), ...debian()]
  const own = `postern@${version}`
  const dependencies = [
    { ref: own, dependsOn: [...npm.direct, ...others.map((one) => one['bom-ref'])] },
    ...[...npm.dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
    ...others.map((one) => ({ ref: one['bom-ref'], dependsOn: [] })),
  ]
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuid5(own)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        'bom-ref': own,
        type: 'application',
        name: 'postern',
        version,
        description,
        ...licenceOf(license),
        purl: `pkg:npm/postern@${encodeURIComponent(version)}`,
      },
    },
    components: [...npm.components, ...others],
    dependencies,
  }
}
