/** A setup as it is written: what is read, and what is refused with its place. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MOST_FILES, MOST_OCTETS, readSetup, refText, SetupError } from '../../src/setup/files.js'

const folder = (t: Test): { dir: string; file(name: string, text: string | Uint8Array): string } => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-setup-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return {
    dir,
    file: (name, text) => {
      writeFileSync(join(dir, name), text)
      return join(dir, name)
    },
  }
}

/** All that is wrong, a mistake a line; where only things are wrong, what is read says so itself. */
const wrongIn = (paths: readonly string[], name: string | null = null): string => {
  try {
    return new SetupError(readSetup(paths, name).mistakes).message
  } catch (error) {
    if (error instanceof SetupError) return error.message
    throw error
  }
}

t.test('files and folders are read together, a folder in the order of its octets', async (t) => {
  const { dir, file } = folder(t)
  file('b.yaml', 'pools: { b: {} }')
  file('a.yaml', 'setup: shop\npools: { a: { notify_success: true } }')
  file('B.yaml', 'pools: { B: }')
  file('c.yml', 'nonsense')
  mkdirSync(join(dir, 'd.yaml'))
  const more = file('more', 'keys: { shop/a/b: { mode: test }, ops: {} }')
  const setup = readSetup([dir, more, more], null)
  t.equal(setup.name, 'shop')
  t.same(setup.mistakes, [])
  t.same(setup.objects.map(refText), ['pool/B', 'pool/a', 'pool/b', 'key/shop/a/b', 'key/ops'])
  t.match(setup.objects[3], { workspace: 'shop', name: 'a/b', given: { mode: 'test' } })
  t.equal(setup.objects[1]?.at('notify_success'), `${join(dir, 'a.yaml')}:2`)
  t.equal(readSetup([file('n', 'pools: {}')], 'other').name, 'other')
})

t.test('what YAML takes and a setup does not', async (t) => {
  const { file } = folder(t)
  const of = (text: string | Uint8Array): string =>
    wrongIn([file('x.yaml', text)], 'x').replace(/^.*x\.yaml/gm, '')
  t.match(of('pools:\n  a: {}\n  b: {}\n  a: {}'), /^:4: a stands here again; first on line 2$/)
  t.match(of('pools: { a: { upstreams: !!seq [] } }'), /:1: .*seq is a tag/)
  t.match(of('a: &a { x: 1 }\npools: { <<: *a }'), /:2: merge keys/)
  t.match(of('pools: { a: *b }'), /:1: .*b/)
  t.match(of('setup: x\n---\nsetup: y'), /:3?2?: is not YAML: a second document/)
  t.match(of('pools: {'), /is not YAML/)
  t.match(of('? [a, b]\n: 1'), /a name is one word/)
  t.match(of('- a'), /expected `setup: NAME`/)
  t.match(of('__proto__: {}'), /__proto__ is no name/)
  t.match(of(Buffer.from('pools: { "\xff": {} }', 'latin1')), /is not UTF-8/)
  t.match(of(`pools: { a: ${'['.repeat(200_000)} }`), /nested too deeply|is not YAML/)
  const bomb = [
    'a: &a0 [x, x]',
    ...Array.from({ length: 30 }, (_, i) => `b${i}: &a${i + 1} [*a${i}, *a${i}]`),
  ]
  t.match(of(bomb.join('\n')), /alias/i)
  const few = `x: &a { mode: test }\nkeys: { ${Array.from({ length: 101 }, (_, i) => `k${i}: *a`).join(', ')} }`
  t.match(of(few), /alias/i, 'and 101 of one anchor')
})

t.test('names, fields and types, all at once and each with its line', async (t) => {
  const { file } = folder(t)
  const path = file(
    'x.yaml',
    `pool: {}
pools:
  a: { return_pat: verp, notify_success: yes please }
  b: [1]
credentials: { printer: {} }
webhooks: { a: { events: email.sent, secret_file: FILL-IN } }
workspaces: { s: { routes: { a.example: 3 }, default_from: null, on_alarm: stop } }
suppressions: 3
keys: { "": {}, "a\\u0007": {} }`,
  )
  const lines = wrongIn([path], 'x').replaceAll(`${path}:`, '').split('\n')
  t.same(lines.sort(), [
    '1: pool is not known; did you mean pools?',
    '3: pool/a: notify_success: must be true or false',
    '3: pool/a: return_pat: is not known; did you mean return_path?',
    '4: pool/b: expected fields such as { upstreams: … }',
    '5: credentials: "printer" must be WORKSPACE/NAME, such as shop/web',
    '6: webhook/a: events: must be a list of texts',
    '6: webhook/a: secret_file: FILL-IN stands for a secret: name its file',
    '7: workspace/s: on_alarm: must be one of notify, hold',
    '7: workspace/s: routes: must be a map of texts',
    '8: suppressions: expected names, each with its fields',
    '9: keys: "" is no name',
    '9: keys: "a\\u0007" is no name',
  ])
})

t.test('one setup at a time, and one place for each name', async (t) => {
  const { file } = folder(t)
  const [a, b] = [
    file('a.yaml', 'setup: a\npools: { eu: {} }'),
    file('b.yaml', 'setup: b\npools: { eu: {} }'),
  ]
  t.equal(
    wrongIn([a, b]),
    `${b}:1: setup: is b here, but a at ${a}:1: one setup at a time\n${b}:2: pool/eu stands here again; first at ${a}:2`,
  )
  t.match(wrongIn([a], 'z'), /but --name is z/)
  t.match(wrongIn([file('c.yaml', 'pools: {}')]), /has no name/)
  t.match(wrongIn([file('c.yaml', 'setup: Ab c')]), /setup: must be 1 to 63/)
  t.match(wrongIn([file('c.yaml', 'setup: 3')]), /setup: must be/)
  t.equal(wrongIn([file('empty.yaml', '')], 'x'), '', 'an empty file says nothing')
})

t.test('what cannot be read', async (t) => {
  const { dir, file } = folder(t)
  t.match(wrongIn([join(dir, 'none'), dir]), /none: no such file or folder\n.*has no \*\.yaml file/)
  t.match(wrongIn([file('big.yaml', `# ${'x'.repeat(MOST_OCTETS)}`)]), /big\.yaml: is larger than 4 MiB/)
  t.match(wrongIn(['/dev/zero'], 'x'), /\/dev\/zero: is larger/)
  const many = join(dir, 'many')
  mkdirSync(many)
  for (let i = 0; i <= MOST_FILES; i++) symlinkSync('../big.yaml', join(many, `${i}.yaml`))
  t.match(wrongIn([many]), /more than 1000 files/)
})
