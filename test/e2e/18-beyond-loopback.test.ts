/**
 * Behind an ingress, under a kubelet, scraped by Prometheus: what each address may ask, and that nobody else may. The
 * addresses are those of a network of its own.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { BIN } from '../parts/postern.js'
import { must } from '../parts/run.js'

const noNetwork = (() => {
  try {
    execFileSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' })
    return false
  } catch {
    return 'no network of its own can be made here'
  }
})()

const [OURS, PROXY, KUBELET, STRANGER] = ['10.9.0.1', '10.9.0.2', '10.9.0.3', '10.9.0.4']
const dir = mkdtempSync(join(tmpdir(), 'postern-beyond-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))
const tokenFile = join(dir, 'token')
const [OLD, NEW] = ['a'.repeat(32), 'b'.repeat(32)]

const SCRIPT = `
set -e
ip link set lo up
for n in 1 2 3 4; do ip address add 10.9.0.$n/24 dev lo; done
"$1" serve --config "$2" >"$3/log" 2>&1 & daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon || true' EXIT
for _ in $(seq 300); do grep -q '"listening"' "$3/log" && break; kill -0 $daemon || { cat "$3/log"; exit 1; }; sleep 0.1; done
. "$3/asked"
`

/** Each line asked in that network, with the status that came, and the whole answer: 000 is a connection that was ended. */
const asked = async (config: object, lines: readonly string[]): Promise<readonly string[]> => {
  const file = join(dir, 'postern.yaml')
  writeFileSync(
    file,
    JSON.stringify({ data_dir: join(dir, 'data'), submission: [], log: { format: 'json' }, ...config }),
  )
  writeFileSync(join(dir, 'asked'), lines.map((line) => `${line} || true\necho "<end>"\n`).join(''))
  const { stdout } = await must('unshare', ['-n', 'bash', '-c', SCRIPT, 'sh', BIN, file, dir])
  return stdout.split('<end>\n').slice(0, -1)
}
const curl = (from: string, path: string, port: number, ...more: readonly string[]): string =>
  ['curl -sk -o - -w "\\n%{http_code}" --interface', from, ...more, `http://${OURS}:${port}${path}`].join(' ')
const statuses = (answers: readonly string[]) =>
  answers.map((answer) => Number(answer.trim().split('\n').at(-1)))
const ask = (from: string, path: string, ...more: readonly string[]) => curl(from, path, 8081, ...more)
const bearer = (token: string) => `-H "Authorization: Bearer ${token}"`

t.test(
  'an ingress, a kubelet with an allow list, Prometheus with a token',
  { skip: noNetwork },
  async (t) => {
    writeFileSync(tokenFile, `${OLD}\n`, { mode: 0o600 })
    const config = {
      hostname: 'mail.example.com',
      base_url: 'https://mail.example.com',
      http: { host: '0.0.0.0', behind_proxy: true, trusted_proxies: [PROXY] },
      management: { host: '0.0.0.0', token_file: tokenFile, allow_networks: [KUBELET] },
    }
    const answers = await asked(config, [
      curl(PROXY, '/v1/emails', 8080),
      curl(STRANGER, '/v1/emails', 8080),
      curl(OURS, '/v1/emails', 8080),
      curl(PROXY, '/sign-in', 8080, '-D - -H "X-Forwarded-Proto: https" -H "Host: mail.example.com"'),
      ...['/livez', '/readyz', '/metrics', '/status', '/upstreams'].map((path) => ask(KUBELET, path)),
      ask(KUBELET, '/wake', '-X POST'),
      ...['/livez', '/metrics'].map((path) => ask(STRANGER, path)),
      ...['/metrics', '/status'].map((path) => ask(STRANGER, path, bearer(OLD))),
      ask(STRANGER, '/metrics', bearer(NEW)),
      `echo ${NEW} >${tokenFile}; ${ask(STRANGER, '/metrics', bearer(NEW))}`,
      ask(STRANGER, '/metrics', bearer(OLD)),
      ask(OURS, '/status'),
      `${BIN} doctor --json --config ${join(dir, 'postern.yaml')}`,
    ])
    const [ingress, stranger, own, page = '', ...rest] = answers
    t.strictSame(
      statuses([ingress ?? '', stranger ?? '', own ?? '']),
      [401, 0, 401],
      'the ingress and this machine alone',
    )
    t.match(page, /^set-cookie: __Host-postern_\w+=.*; Secure/im, 'a cookie is Secure, as base_url says')
    t.match(rest[1], /"checks":/)
    t.strictSame(statuses(rest.slice(0, 6)), [200, 200, 401, 401, 401, 401], 'the kubelet gets health')
    t.strictSame(statuses(rest.slice(6, 8)), [401, 401], 'others get nothing')
    t.strictSame(
      statuses(rest.slice(8, 13)),
      [200, 200, 401, 200, 401],
      'the token, and the next one at once',
    )
    t.strictSame(statuses(rest.slice(13, 14)), [200], 'this machine needs none')
    const checks = JSON.parse(rest[14] ?? '') as { check: string; result: string }[]
    const failed = checks.filter(({ result }) => result === 'fail').map(({ check }) => check)
    t.notOk(failed.includes('daemon'), rest[14] ?? '')
    t.notOk(failed.includes('configuration'), rest[14] ?? '')
  },
)

t.test('an allow list alone', { skip: noNetwork }, async (t) => {
  const config = { management: { host: OURS, allow_networks: [KUBELET] } }
  const answers = await asked(config, [
    ...['/readyz', '/metrics', '/status'].map((path) => ask(KUBELET, path)),
    ask(KUBELET, '/wake', '-X POST'),
    ask(STRANGER, '/readyz'),
    `${BIN} upstream list --config ${join(dir, 'postern.yaml')}; ${ask(OURS, '/upstreams')}`,
  ])
  t.strictSame(statuses(answers), [200, 200, 403, 403, 403, 200])
})
