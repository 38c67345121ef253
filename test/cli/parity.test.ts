/** The command line is a door like the API: each operation has its verb, or a reason to have none. */
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { type Command, GLOBAL_OPTIONS, isSubject, optionsOf, verbOf } from '../../src/cli/command.js'
import { loadWhole } from '../../src/cli/parse.js'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { here } from './desk.js'

const commands = new Map<string, Command>()
for (const entry of CATALOG) {
  const loaded = await loadWhole(entry)
  if (isSubject(loaded)) for (const one of loaded.commands) commands.set(`${loaded.name} ${verbOf(one)}`, one)
  else commands.set(entry.name, loaded)
}

const twins = endpoints({} as HttpDeps, () => 'https://mail.acme.example').map(
  ({ id, cli }) => [id, cli] as const,
)

t.test('every operation has a verb, or a reason', (t) => {
  t.ok(twins.length > 100)
  for (const [id, cli] of twins) {
    if (typeof cli === 'string') t.ok(commands.has(cli), `${id}: ${cli}`)
    else t.match(cli.none, /\w{4,}/, `${id}: ${cli.none}`)
  }
  t.end()
})

/** Verbs of subjects that the API has, too, and why they are not there. */
const NOT_OVER_HTTP: Readonly<Record<string, string>> = {
  'queue throttles': 'the queue over HTTP has them beside its depths',
  'queue export': 'it writes a file beside the daemon',
  'queue import': 'it reads a file beside the daemon',
  'queue lots': 'of what was exported to a file',
  'queue take-back': 'of what was exported to a file',
  'queue forget': 'of what was exported to a file',
}

t.test('and every verb of the queue and of domains has its operation, or a reason', (t) => {
  const served = new Set(twins.map(([, cli]) => cli))
  const verbs = [...commands.keys()].filter((name) => /^(queue|domain) /.test(name))
  t.ok(verbs.length > 15)
  for (const name of verbs) t.ok(served.has(name) !== name in NOT_OVER_HTTP, name)
  t.end()
})

/** Mail that moves as a whole is told of by its file and its lot. */
const MOVES = new Set(['queue export', 'queue import', 'queue take-back', 'queue forget'])

t.test('what each command has in common', async (t) => {
  t.ok(commands.size > 60)
  for (const [name, one] of commands) {
    const options = optionsOf(one)
    t.match(one.summary, /^[A-Z].{8,}[^.]$/, `${name} says what it does`)
    for (const [option, shape] of Object.entries({ ...options, ...one.positionals })) {
      t.ok(shape.describe || 'hidden' in shape, `${name} ${option} is described`)
    }
    for (const option of Object.keys(options)) {
      t.notMatch(option, /^(password|secret|token|pass|key)$/, `${name}: no secret on a command line`)
      t.notOk(option in GLOBAL_OPTIONS, `${name}: --${option} means everywhere the same`)
    }
    const destroys = /^(delete|remove|revoke|purge|cancel|restore|reroute)$/.test(
      name.split(' ').at(-1) ?? '',
    )
    if (destroys) t.ok('yes' in options && 'dry-run' in options, `${name} asks, or shows what it would do`)
    if (name.startsWith('queue ') && one.destroys && !MOVES.has(name))
      t.ok('reason' in options, `${name} wants a reason`)
    t.match(
      (await here([...name.split(' '), '--help'])).stdout,
      /--config[\s\S]*--json[\s\S]*Exit codes:[\s\S]* 64 {2}usage/,
      name,
    )
  }
})
