/** What every list does: it is a table, JSON and CSV of the same rows; where it is empty it says so; where it ends early, too. */
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { isSubject, verbOf } from '../../src/cli/command.js'
import { openDesk } from './desk.js'

t.setTimeout(300_000)

/** Lists of what belongs to one thing, which there has to be. */
const OF_ONE = ['email events', 'webhook events']
/** There is one of these from the first start on. */
const NEVER_EMPTY = ['workspace list', 'pool list']

t.test('an empty list says so; its JSON is an empty array, its CSV a head', async (t) => {
  const desk = openDesk(t)
  await desk.run(['workspace', 'list'])
  const lists: string[] = []
  for (const { name, load } of CATALOG) {
    const loaded = await load()
    for (const one of isSubject(loaded) ? loaded.commands : [])
      if ('csv' in one.options) lists.push(`${name} ${verbOf(one)}`)
  }
  t.ok(lists.length >= 20, `${lists.length} lists`)
  for (const path of lists.filter((one) => !OF_ONE.includes(one))) {
    const words = path.split(' ')
    const json = await desk.run([...words, '--json'])
    const plain = await desk.run(words)
    t.match([json.code, plain.code], [0, 0], path)
    t.match(
      (await desk.run([...words, '--csv'])).stdout,
      /^[a-z][a-z0-9_-]*(,[a-z0-9_-]+)+\r\n/,
      `${path} --csv`,
    )
    if (NEVER_EMPTY.includes(path) || path === 'audit list') continue
    t.equal(json.stdout, '[]\n', path)
    t.equal(plain.stdout, '', path)
    t.match(plain.stderr, /^there are no [a-z ]+(; next: postern .+)?$/m, path)
  }
  t.match(await desk.run(['key', 'list', '--csv', '--json']), { code: 64, stderr: /--json or --csv/ })
})

t.test(
  'one that is too long says how to see more; a filter that nothing matches is named as such',
  async (t) => {
    const desk = openDesk(t)
    const addresses = Array.from({ length: 3 }, (_, i) => `u${i}@example.com`)
    await desk.run(['suppression', 'add', ...addresses, '--reason', '=1+1, "quoted"'])
    t.match(await desk.run(['suppression', 'list', '--limit', '2']), {
      stdout: /^EMAIL .*\n.*\n.*\n$/,
      stderr: 'these are the first 2, and there are more: --limit N, or --all\n',
    })
    const all = await desk.run(['suppression', 'list', '--limit', '2', '--all', '--csv'])
    t.equal(all.stderr, '')
    t.equal(all.stdout.split('\r\n').length, 5)
    t.match(all.stdout, /^u2@example\.com,manual,"'=1\+1, ""quoted""",\d{4}-\d\d-\d\dT[\d:.]+Z,,\r$/m)
    t.match(await desk.run(['suppression', 'list', '--origin', 'complaint']), {
      stdout: '',
      stderr: 'no suppressed addresses match; all of them: postern suppression list\n',
    })
  },
)

t.test('a name that is nearly one is answered with that one', async (t) => {
  const desk = openDesk(t)
  await desk.run(['workspace', 'create', 'Shop', '--slug', 'shop'])
  await desk.run(['domain', 'add', 'shop.example'])
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      'workspace show shpo',
      /^postern: Workspace not found; did you mean shop\? postern workspace list shows/,
    ],
    ['key create --workspace defualt', /did you mean default\?/],
    ['domain show shop.exmaple', /did you mean shop\.example\?/],
    ['pool show defaut', /did you mean default\?/],
    ['workspace show nowhere', /^postern: Workspace not found; postern workspace list/],
  ]
  for (const [line, said] of cases)
    t.match(await desk.run(line.split(' ')), { code: 65, stdout: '', stderr: said }, line)
})

t.test('status is one screen, without a daemon too', async (t) => {
  const desk = openDesk(t)
  const { code, stdout } = await desk.run(['status'])
  t.equal(code, 0)
  t.match(stdout, /^Nothing waits\.\n/)
  t.match(stdout, /^daemon +none runs .*postern serve/m)
  t.match(stdout, /^waiting +0 now; 0 for a time of their own; 0 held$/m)
  t.match(stdout, /^POOL +STATE +WAITING +HELD +OLDEST +LAST ERROR$/m)
  t.ok(stdout.split('\n').length < 24)
})
