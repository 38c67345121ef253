/** Numbers: what /metrics says after mail has passed, and that rules and board ask for what there is. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { demandPaper } from '../doors/paper.js'
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
  await eventually('one waits', async () =>
    /^postern_queue_recipients\{pool="pool_[^"]+",state="waiting"\} 1$/m.test(await metrics()),
  )
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

/** Those of one engine alone stand in its own tests. */
const OF_AN_ENGINE = /^postern_(store|cluster|database)_/

t.test('names and types stay within a major version', async (t) => {
  const found = [...(await metrics()).matchAll(/^# TYPE (postern_\w+ \w+)$/gm)].map(([, line = '']) => line)
  demandPaper(t, 'metrics', found.filter((line) => !OF_AN_ENGINE.test(line)).sort())
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

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}
const RULES: readonly Rule[] = parse(readFileSync(join(EXAMPLES, 'postern.rules.yml'), 'utf8')).groups[0]
  .rules
const ALERTS = RULES.filter(({ alert }) => alert !== undefined)

interface Case {
  /** Series of a sample a minute, as promtool writes them. */
  readonly bad: Readonly<Record<string, string>>
  readonly good: Readonly<Record<string, string>>
  /** Minutes until it fires; one before that it does not, where it waits at all, or at `silent`. */
  readonly fires: number
  readonly silent?: number
  readonly labels: Readonly<Record<string, string>>
  /** What stands for each `{{ $value … }}`. */
  readonly value?: string
}
const A = 'instance="a",pool="main"'
const OF_A = { instance: 'a', pool: 'main' }
const SETTLED = (status: string): string => `postern_recipients_settled_total{status="${status}",mode="live"}`
const CASES: Readonly<Record<string, Case>> = {
  PosternDown: {
    bad: { 'up{job="postern",instance="a"}': '0x1500' },
    good: { 'up{job="postern",instance="a"}': '1x1500' },
    ...{ fires: 2, labels: { job: 'postern', instance: 'a' } },
  },
  PosternMailIsStuck: {
    bad: { [`postern_queue_oldest_due_seconds{${A}}`]: '400x1500' },
    good: { [`postern_queue_oldest_due_seconds{${A}}`]: '200x1500' },
    ...{ fires: 5, labels: OF_A, value: '6m 40s' },
  },
  PosternPoolStandsStill: {
    bad: { [`postern_pool_stalled{${A}}`]: '1x1500' },
    good: { [`postern_pool_stalled{${A}}`]: '0x1500' },
    ...{ fires: 2, labels: OF_A },
  },
  PosternMailHasNoUpstream: {
    bad: { [`postern_pool_no_upstream{${A}}`]: '1x1500' },
    good: { [`postern_pool_no_upstream{${A}}`]: '0x1500' },
    ...{ fires: 1, labels: OF_A },
  },
  PosternMailIsHeld: {
    bad: { [`postern_queue_held_recipients{${A}}`]: '3x1500' },
    good: { [`postern_queue_held_recipients{${A}}`]: '3x700 0x800' },
    ...{ fires: 1440, labels: OF_A, value: '3' },
  },
  PosternUpstreamIsAvoided: {
    bad: { 'postern_upstream_breaker{host="mta1",upstream="up_1",state="open"}': '1x1500' },
    good: { 'postern_upstream_breaker{host="mta1",upstream="up_1",state="open"}': '0x1500' },
    ...{ fires: 5, labels: { host: 'mta1', upstream: 'up_1', state: 'open' } },
  },
  PosternManyBounces: {
    bad: { [SETTLED('bounced')]: '0+30x1500', [SETTLED('sent')]: '0+30x1500' },
    good: { [SETTLED('bounced')]: '0+1x1500', [SETTLED('sent')]: '0+30x1500' },
    ...{ fires: 40, silent: 14, labels: {}, value: '50%' },
  },
  PosternWorkspaceAlarm: {
    bad: { 'postern_workspace_alarm{workspace="shop",alarm="complaints"}': '1x1500' },
    good: { 'postern_workspace_alarm{workspace="shop",alarm="complaints"}': '0x1500' },
    ...{ fires: 0, labels: { workspace: 'shop', alarm: 'complaints' } },
  },
  PosternAmbiguousAttempts: {
    bad: { postern_ambiguous_attempts_total: '0x60 2x1500' },
    good: { postern_ambiguous_attempts_total: '2x1500' },
    ...{ fires: 90, labels: {}, value: '2' },
  },
  PosternCertificateExpires: {
    bad: { postern_certificate_expires_timestamp_seconds: '864000x1500' },
    good: { postern_certificate_expires_timestamp_seconds: '8640000x1500' },
    ...{ fires: 60, labels: {}, value: '9d 23h 0m 0s' },
  },
  PosternCertificateExpiresNow: {
    bad: { postern_certificate_expires_timestamp_seconds: '86400x1500' },
    good: { postern_certificate_expires_timestamp_seconds: '864000x1500' },
    ...{ fires: 0, labels: {}, value: '1d 0h 0m 0s' },
  },
  PosternSetupFailed: {
    bad: { 'postern_setup_failed{instance="a"}': '1x1500' },
    good: { 'postern_setup_failed{instance="a"}': '0x1500' },
    ...{ fires: 0, labels: { instance: 'a' } },
  },
  PosternClockStepped: {
    bad: { 'postern_clock_steps_total{instance="a"}': '0x10 1x1500' },
    good: { 'postern_clock_steps_total{instance="a"}': '1x1500' },
    ...{ fires: 20, labels: { instance: 'a' } },
  },
  PosternDiskNearlyFull: {
    bad: { 'postern_disk_free_bytes{instance="a"}': '500000000x1500' },
    good: { 'postern_disk_free_bytes{instance="a"}': '5000000000x1500' },
    ...{ fires: 5, labels: { instance: 'a' }, value: '476.8Mi' },
  },
  PosternEventLoopIsLate: {
    bad: { 'nodejs_eventloop_lag_p99_seconds{job="postern"}': '0.6x1500' },
    good: { 'nodejs_eventloop_lag_p99_seconds{job="postern"}': '0.1x1500' },
    ...{ fires: 10, labels: { job: 'postern' } },
  },
  PosternStatisticsBehind: {
    bad: { postern_statistics_lag_seconds: '400x1500' },
    good: { postern_statistics_lag_seconds: '100x1500' },
    ...{ fires: 10, labels: {}, value: '6m 40s' },
  },
}

t.test('each alert has its case, its action in words, and what to do in the paper', async (t) => {
  t.strictSame(
    Object.keys(CASES),
    ALERTS.map(({ alert }) => alert),
  )
  const paper = readFileSync(join(ROOT, 'config', 'OPERATE.md'), 'utf8')
  for (const { alert = '', annotations } of ALERTS) {
    t.match(annotations.action, /\w+ \w+/, alert)
    t.match(paper, new RegExp(`^\\| ${alert} \\| .+ \\| .+ \\|$`, 'm'), alert)
  }
})

t.test('rules and board ask for metrics that there are', async (t) => {
  const there = new Set([...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const board = JSON.parse(readFileSync(join(EXAMPLES, 'postern.grafana.json'), 'utf8'))
  const asked: string[] = [
    ...RULES.map(({ expr }) => expr),
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

/** An annotation as Prometheus fills it in. */
const filled = (text: string, labels: Case['labels'], value = ''): string =>
  text
    .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, name) => labels[name] ?? '')
    .replace(/\{\{ \$value[^}]*\}\}/g, value)

t.test('each alert fires when it should, and not before', { skip: !PROMTOOL && 'no promtool' }, async (t) => {
  const seriesOf = (of: Case['bad']) => Object.entries(of).map(([series, values]) => ({ series, values }))
  const tests = ALERTS.flatMap(({ alert = '', for: wait, labels: severity, annotations }) => {
    const { bad, good, fires, silent = fires - 1, labels, value } = CASES[alert] as Case
    const exp_alerts = [
      {
        exp_labels: { ...labels, ...severity },
        exp_annotations: Object.fromEntries(
          Object.entries(annotations).map(([name, text]) => [name, filled(text, labels, value)]),
        ),
      },
    ]
    const none = (minutes: number) => ({ eval_time: `${minutes}m`, alertname: alert, exp_alerts: [] })
    return [
      {
        interval: '1m',
        input_series: seriesOf(bad),
        alert_rule_test: [
          ...(wait === undefined ? [] : [none(silent)]),
          { eval_time: `${fires}m`, alertname: alert, exp_alerts },
        ],
      },
      { interval: '1m', input_series: seriesOf(good), alert_rule_test: [none(fires), none(fires + 120)] },
    ]
  })
  const file = join(postern.dir, 'rules-test.yml')
  const rule_files = [join(EXAMPLES, 'postern.rules.yml')]
  writeFileSync(file, JSON.stringify({ rule_files, evaluation_interval: '1m', tests }))
  const { said, code } = promtool(['test', 'rules', file])
  t.equal(code, 0, said)
})
