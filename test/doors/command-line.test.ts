/**
 * The command line as it is written down: the help of every command, and what the commands about one's own things print,
 * for people and as JSON, with their exit codes.
 */
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { isSubject, verbOf } from '../../src/cli/command.js'
import { loadWhole } from '../../src/cli/parse.js'
import { openDesk } from '../cli/desk.js'
import { DnsServer } from '../parts/dns-server.js'
import { here } from '../parts/here.js'
import { demandPaper, named } from './paper.js'

t.setTimeout(300_000)

const names: string[] = []
for (const entry of CATALOG) {
  const loaded = await loadWhole(entry)
  if (isSubject(loaded))
    names.push(loaded.name, ...loaded.commands.map((one) => `${loaded.name} ${verbOf(one)}`))
  else names.push(entry.name)
}

t.test('the help of each command', async (t) => {
  const helps = new Map<string, readonly string[]>()
  for (const name of ['', ...names]) {
    const { stdout } = await here([...name.split(' ').filter(Boolean), '--help'])
    helps.set(
      name,
      stdout.split('\n').filter((line) => line.trim() !== ''),
    )
  }
  // what stands in all of them stands here once
  const [first = [], ...others] = helps.values()
  const common = new Set(first.filter((line) => others.every((lines) => lines.includes(line))))
  const own = [...helps].flatMap(([name, lines]) => [
    `== postern ${name}`.trimEnd(),
    ...lines.filter((line) => !common.has(line)),
  ])
  demandPaper(t, 'cli-help', ['== in each of them', ...common, ...own])
})

/** In this order, each about what those before have made; `{…}` is the id that the command of that line printed. */
const LINES: readonly string[] = [
  'workspace create Shop --slug shop',
  'workspace list',
  'workspace show shop',
  'workspace update shop --name Store',
  'workspace show nowhere',
  'domain add Shop.Example.',
  'domain add pay.example --workspace shop',
  'domain add shop.example',
  'domain add localhost',
  'domain list',
  'domain list --limit 1',
  'domain show shop.example',
  'domain show nowhere.example',
  'domain check shop.example --resolver RESOLVER',
  'domain check --resolver RESOLVER',
  'domain check shop.example --resolver nowhere',
  'domain rotate shop.example',
  'domain rotate shop.example --now',
  'domain remove pay.example --dry-run',
  'domain remove pay.example',
  'domain remove pay.example --yes',
  'domain remove pay.example --yes',
  'suppression add gone@example.com --reason asked',
  'suppression add gone@example.com',
  'suppression add nonsense',
  'suppression add all@example.com --account',
  'suppression add test@example.com --mode test --workspace shop',
  'suppression list',
  'suppression list --account',
  'suppression show gone@example.com',
  'suppression show nobody@example.com',
  'suppression export',
  'suppression incidents',
  'suppression remove gone@example.com --dry-run',
  'suppression remove gone@example.com --yes',
  'suppression remove gone@example.com --yes',
  'key create ci --workspace shop',
  'key create all',
  'key list',
  'credential create --workspace shop --username printer',
  'credential list',
  'pool create eu --upstream smtp://mta.example:587',
  'pool list',
  'pool show eu',
  'pool update eu --name europe',
  'upstream list',
  'pool delete europe --yes',
  'webhook create https://hooks.example/mail --mode test',
  'webhook list',
  'user create ana@acme.test --role member',
  'user list',
  'user show ana@acme.test',
  'user update ana@acme.test --role viewer',
  'user invite --role member',
  'user invitations',
  'job list',
  'email list',
  'event list',
  'workspace delete shop --dry-run',
]

/** Ids and secrets have their names; what is left says how long ago, or is random. */
const printed = (text: string): string =>
  named(text)
    .replace(/("?(?:secret|password|token|code|url|link)"?: ?)"[^"]+"/g, '$1"<secret>"')
    .replace(/(?<=<public key \d+>)(\\?" \\?")[^"\\]+/g, '$1<rest>')
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b/g, '<span>')
    .replace(/^(?:[\w-]{20,}|[\w-]+\.[\w-]+\.[\w-]+)$/gm, '<secret>')

t.test('what commands print', async (t) => {
  const dns = await new DnsServer().start()
  t.teardown(() => dns.stop())
  const [people, machines] = [openDesk(t), openDesk(t)]
  const lines: string[] = []
  for (const line of LINES) {
    const words = line.replace('RESOLVER', `127.0.0.1:${dns.port}`).split(' ')
    const [shown, json] = [await people.run(words), await machines.run([...words, '--json'])]
    lines.push(`== ${line}: ${shown.code}${json.code === shown.code ? '' : `, with --json ${json.code}`}`)
    lines.push(
      printed(shown.stdout.trimEnd()),
      ...printed(shown.stderr.trimEnd())
        .split('\n')
        .map((one) => `! ${one}`),
    )
    lines.push(`json ${printed(json.stdout.trimEnd())}`)
  }
  demandPaper(
    t,
    'cli-commands',
    lines.filter((line) => line !== '' && line !== '! '),
  )
})
