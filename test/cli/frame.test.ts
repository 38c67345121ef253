/** The frame of the command line: help, mistakes and their hints, closed pipes, one document of JSON. */
import { spawn } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { isSubject, verbOf } from '../../src/cli/command.js'
import { loadWhole, parse } from '../../src/cli/parse.js'
import { openTerminal } from '../../src/cli/terminal.js'
import { schemas } from '../../src/store/open.js'
import { cleanEnv } from '../parts/postern.js'
import { command, postern } from './desk.js'

t.test('a wrong command line is one line that names the remedy, and 64', async (t) => {
  const cases: readonly (readonly [args: string, said: RegExp])[] = [
    ['--json', /^name a command; try: postern --help$/],
    ['workspac list', /unknown command workspac; did you mean workspace\?$/],
    ['workspace', /workspace needs a verb: list, show, create, update, suspend, resume, delete$/],
    ['workspace lst', /unknown command lst; did you mean list\?$/],
    ['key list --jsno', /unknown option --jsno; did you mean --json\?$/],
    ['key create --workspce x', /unknown option --workspce; did you mean --workspace\?$/],
    ['key create --workspace', /--workspace needs a value$/],
    ['key create --workspace=', /--workspace: expected a value, found an empty one$/],
    ['key create', /needs either --workspace W or --platform$/],
    ['key create --platform --name a --name b', /--name is given twice; once is enough$/],
    ['key create --platform --rate-limit many', /--rate-limit: expected a whole number above 0$/],
    ['email list --limit 0', /--limit: expected a whole number above 0$/],
    ['email list --limit 2.5', /--limit: expected a whole number above 0$/],
    ['queue list --limit=-1', /--limit: expected a whole number above 0$/],
    ['key create --platform --mode prod', /--mode: "prod" is not one of live, test$/],
    ['workspace create', /something is missing; usage: postern workspace create <name>$/],
    ['key list more', /unexpected argument more; usage: postern key list$/],
    ['key list -', /unexpected argument -; usage: postern key list$/],
    ['key list -- more', /unexpected argument more; usage: postern key list$/],
    ['frobnicate', /unknown command frobnicate; try: postern --help$/],
  ]
  for (const [args, said] of cases) {
    const words = args.split(' ').filter((word) => word !== '')
    const refused = parse(words, CATALOG).then(({ command, args }) => command?.run(args, null as never))
    await t.rejects(refused, { exit: 64, message: said }, `postern ${args}`)
  }
  const { code, stdout, stderr } = await postern(['workspac', 'list'])
  t.same(
    { code, stdout, stderr },
    { code: 64, stdout: '', stderr: 'postern: unknown command workspac; did you mean workspace?\n' },
  )
})

t.test('a hidden secret is edited as any line, and given up by ^C and ^D', async (t) => {
  const typed = (keys: string) => {
    const stdin = Object.assign(Readable.from([keys]), { isTTY: true, setRawMode: () => {} })
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    return openTerminal(false, { stdin, stdout, stderr }).readSecret('password: ')
  }
  t.equal(await typed('wrong\u0015righx\u007ft\u001b\r'), 'right')
  for (const key of ['\u0003', '\u0004']) {
    await t.rejects(typed(`half${key}`), { exit: 64, message: 'nothing was changed' })
  }
})

t.test('help lists the commands and the exit codes', async (t) => {
  const { code, stdout, stderr } = await postern(['--help'])
  t.equal(code, 0)
  t.equal(stderr, '')
  for (const word of ['workspace', 'key', 'pool', 'email', 'serve', 'dev', 'config']) t.match(stdout, word)
  for (const exit of [0, 64, 65, 69, 70, 73, 74, 75, 77, 78]) t.match(stdout, new RegExp(`^ +${exit}  `, 'm'))
  t.same(await postern([]), { code: 0, stdout, stderr: '' }, 'and so does no word at all')
  const one = await postern(['key', 'revoke', '--help'])
  t.match(one.stdout, /--dry-run/)
  t.match(one.stdout, /^ +64 {2}usage/m)
  const { stdout: help } = await postern(['send', '--help'])
  t.match(help, /^ {2}# the text from a pipe\n {2}date \| postern send .*--key-file key$/m)
})

t.test('version', async (t) => {
  const { stdout } = await postern(['version', '--json'])
  const record = JSON.parse(stdout)
  t.match(record, { version: /^\d+\.\d+\.\d+/, node: process.version })
  t.match(record, { schema: await schemas(), commit: null }, 'a checkout asks git nothing')
  t.equal((await postern(['--version'])).stdout.trim(), record.version)
})

t.test('a reader that goes away ends the program quietly', async (t) => {
  const child = spawn('/usr/bin/env', [...command(['config', 'reference'])[1]], { env: cleanEnv() })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  child.stdout.destroy()
  const code = await new Promise((resolve) => child.on('close', resolve))
  t.equal(code, 0)
  t.equal(said, '')
})

t.test('no failure shows a trace, unless it is asked for', async (t) => {
  const env = { POSTERN_DATA_DIR: '/dev/null/x' }
  const plain = await postern(['key', 'list'], '', undefined, env)
  t.match(plain, { code: 73, stdout: '', stderr: /^postern: data_dir: .*a part of it is no folder; .*\n$/ })
  const traced = await postern(['key', 'list'], '', undefined, { ...env, POSTERN_DEBUG: '1' })
  t.match(traced.stderr, /\n +at /)
})

/** The command lines in an example: what a shell would hand to postern. */
const linesIn = (example: string): readonly (readonly string[])[] =>
  example
    .replaceAll('$0', 'postern')
    .split(/(?<![<>])\|\|?|&&|;|\$\(|\)|(?<=\s)[<>]\s*\S+/)
    .flatMap((part) => {
      const words = [...part.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
      return words[0] === 'postern' ? [words.slice(1)] : []
    })

t.test(
  'every command has examples, which end its help and are good command lines; none is wider than a page',
  async (t) => {
    for (const entry of CATALOG) {
      const { name } = entry
      const loaded = await loadWhole(entry)
      for (const one of isSubject(loaded) ? loaded.commands : [loaded]) {
        const path = isSubject(loaded) ? `${name} ${verbOf(one)}` : name
        t.ok(one.examples.length > 0, `${path} has an example`)
        for (const words of one.examples.flatMap(([example]) => linesIn(example)))
          if (words[0] !== 'sendmail') await t.resolves(parse(words, CATALOG), words.join(' '))
        const { text } = await parse([...path.split(' '), '--help'], CATALOG)
        t.match(text, /\nExamples:\n(?: .*\n?)+$/, `the help of ${path} ends with examples`)
        const [about = ''] = (text ?? '').split('\nExamples:')
        for (const line of about.split('\n')) t.ok(line.length <= 80, `${path}: ${line}`)
      }
    }
  },
)
