/** Numbers: what /metrics says after mail has passed, and that rules and board ask for what there is. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { eventually } from '../parts/eventually.js'
import { Postern, ROOT } from '../parts/postern.js'

const EXAMPLES = join(ROOT, 'systemd', 'examples')
const postern = new Postern()
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')
const send = async (to: string): Promise<string> => {
  const mail = { from: 'a@acme.test', to, subject: 'x', text: 'x' }
  return (await postern.api('POST', '/v1/emails', key, mail)).body.id as string
}
const metrics = async (): Promise<string> =>
  (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()

t.test('mail that passed is counted and timed', async (t) => {
  await postern.until(key, await send('delivered@example.com'), ['delivered'])
  await postern.until(key, await send('bounced@example.com'), ['bounced'])
  await postern.until(key, await send('deferred@example.com'), ['deferred'])
  // the relay thread tells once a second
  await eventually('three attempts', async () => /kind="attempts"} [3-9]/.test(await metrics()))
  const text = await metrics()
  t.match(
    text,
    /^postern_recipients_settled_total\{workspace="ws_[^"]+",status="delivered",mode="test"\} 1$/m,
  )
  t.match(text, /^postern_recipients_settled_total\{workspace="ws_[^"]+",status="bounced",mode="test"\} 1$/m)
  t.match(text, /^postern_accept_to_relay_seconds_count 3$/m)
  t.match(text, /^postern_relay_to_outcome_seconds_count [12]$/m)
  t.match(text, /^postern_emails_accepted_total\{workspace="ws_[^"]+",source="api",mode="test"\} 3$/m)
  t.match(text, /^postern_relay_throttled_domains 0$/m)
  t.match(text, /^postern_relay_events_total\{kind="throttled"\} 0$/m)
  t.match(text, /^postern_queue_recipients\{pool="pool_[^"]+",state="waiting"\} 1$/m)
  t.match(text, /^postern_upstream_breaker\{[^}]*state="closed"\} 1$/m)
  t.match(text, /^postern_ambiguous_attempts_total 0$/m)
  t.match(text, /^postern_reports_total\{kind="delivered",tier="T1",did="applied"\} [12]$/m)
  t.match(text, /^postern_reports_suppressed_total 0$/m)
  await eventually('all is counted', async () => /^postern_statistics_lag_seconds 0$/m.test(await metrics()))
  t.notMatch(text, /example\.com|acme\.test/, 'nobody can be found in them')
})

t.test('what is held is seen', async (t) => {
  await postern.cli('queue', 'hold', '--workspace', 'default', '--reason', 'test')
  await send('delivered@example.com')
  t.match(await metrics(), /^postern_queue_held_recipients\{pool="pool_[^"]+"\} [12]$/m)
  await postern.cli('queue', 'release', '--workspace', 'default', '--reason', 'test', '--yes')
})

t.test('one HELP and one TYPE for each, and nothing unreadable', async (t) => {
  const lines = (await metrics()).trimEnd().split('\n')
  const helps = lines.filter((line) => line.startsWith('# HELP ')).map((line) => line.split(' ')[2])
  t.equal(new Set(helps).size, helps.length)
  for (const line of lines.filter((one) => !one.startsWith('#'))) {
    if (!/^[a-z_][a-z0-9_]*(\{([a-z_]+="[^"\n]*",?)+\})? [-+0-9.eE]+$/.test(line)) t.fail(line)
  }
})

const PROMTOOL = spawnSync('promtool', ['--version']).status === 0
const promtool = (args: readonly string[], input = ''): { said: string; code: number | null } => {
  const { stdout, stderr, status } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { said: stdout + stderr, code: status }
}

t.test(
  'promtool finds nothing to say',
  { skip: !PROMTOOL && 'no promtool (apt-get install prometheus)' },
  async (t) => {
    t.strictSame(promtool(['check', 'metrics'], await metrics()), { said: '', code: 0 })
    t.match(promtool(['check', 'rules', join(EXAMPLES, 'postern.rules.yml')]), { code: 0, said: /SUCCESS/ })
    t.notMatch(
      promtool(['check', 'rules', '--lint-fatal', join(EXAMPLES, 'postern.rules.yml')]).said,
      /FAILED|duplicate/,
    )
  },
)

t.test('rules and board ask for metrics that there are', async (t) => {
  const there = new Set([...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const rules = parse(readFileSync(join(EXAMPLES, 'postern.rules.yml'), 'utf8'))
  const board = JSON.parse(readFileSync(join(EXAMPLES, 'postern.grafana.json'), 'utf8'))
  const asked: string[] = [
    ...rules.groups[0].rules.map(({ expr }: { expr: string }) => expr),
    ...board.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    ),
  ]
  t.ok(asked.length > 20)
  for (const expression of asked) {
    for (const [name] of expression.matchAll(/\b(postern|process|nodejs)_[a-z0-9_]+/g)) {
      t.ok(there.has(name.replace(/_(bucket|sum|count)$/, '')), name)
    }
  }
})
