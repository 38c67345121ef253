/** `postern mcp`, line by line: what is no message, what comes too early, and how it ends. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openDesk } from './desk.js'

const desk = openDesk(t)
const key = desk.file('key', 'svc_test_0000\n')

/** A daemon that answers everything but what is asked for `slow`. */
const asked: string[] = []
const server = createServer((req, res) => {
  asked.push(`${req.method} ${req.url}`)
  if (!req.url?.includes('slow'))
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"x"}')
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const said = async (...lines: readonly (object | string)[]) => {
  const input = lines.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join('')
  const { code, stdout, stderr } = await desk.run(['mcp', '--key-file', key, '--url', url], input)
  const answers = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  return { code, stderr, answers }
}
const request = (id: unknown, method: string, params?: unknown) => ({ jsonrpc: '2.0', id, method, params })
const begin = (protocolVersion = '2025-06-18') =>
  request(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } })

t.test('which version is spoken', async (t) => {
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
    const { answers, code, stderr } = await said(begin(version))
    t.match(answers, [
      { jsonrpc: '2.0', id: 0, result: { protocolVersion: version, capabilities: { tools: {} } } },
    ])
    t.match({ code, stderr }, { code: 0, stderr: /^$/ })
  }
  t.match((await said(begin('2099-01-01'))).answers, [{ result: { protocolVersion: '2025-11-25' } }])
  t.match((await said(request(1, 'initialize', {}))).answers, [{ error: { code: -32602 } }])
  const meta = (version: string, more = {}) => ({
    _meta: { 'io.modelcontextprotocol/protocolVersion': version, ...more },
  })
  const able = { 'io.modelcontextprotocol/clientCapabilities': {} }
  const { answers } = await said(
    request(1, 'server/discover', meta('2026-07-28', able)),
    request(2, 'server/discover', meta('1900-01-01', able)),
    request(3, 'tools/call', { name: 'getSession', ...meta('2026-07-28', able) }),
    request(4, 'tools/call', { name: 'getSession', ...meta('2026-07-28') }),
    request(5, 'ping', meta('2026-07-28', able)),
    request(6, 'server/discover'),
  )
  const byId = (id: number) => answers.find((one) => one.id === id)
  t.match(byId(1).result, {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    cacheScope: 'private',
  })
  t.match(byId(2).error, { code: -32022, data: { requested: '1900-01-01', supported: ['2026-07-28'] } })
  t.match(byId(3).result, { resultType: 'complete', structuredContent: { object: 'x' } })
  t.match(
    [byId(4), byId(5), byId(6)],
    [{ error: { code: -32602 } }, { error: { code: -32601 } }, { error: { code: -32602 } }],
  )
})

t.test('what is no message, and what comes too early', async (t) => {
  const { answers, code } = await said(
    'no json',
    '',
    '[]',
    '7',
    '"initialize"',
    'null',
    { jsonrpc: '1.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: null, method: 'ping' },
    { jsonrpc: '2.0', id: 1.5, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 5 },
    { jsonrpc: '2.0', id: 3, result: {} },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } },
    request(4, 'tools/list'),
    request(5, 'ping'),
    request(6, 'ping', [1]),
    `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"${'x'.repeat(1024 ** 2)}"}}`,
    request(8, 'toString'),
    begin(),
    request(9, 'prompts/list'),
    request(10, '__proto__'),
    request(11, 'tools/call', { name: 5 }),
    request(12, 'tools/call', { name: 'getSession', arguments: 'x' }),
    request(13, 'tools/list', { cursor: 'x' }),
  )
  t.equal(code, 0)
  const codes = answers.map(({ id, error }) => [id, error?.code ?? 'ok'])
  const sorted = (all: unknown[][]) => all.map(String).sort()
  t.same(
    sorted(codes),
    sorted([
      [null, -32700],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [1, -32600],
      [null, -32600],
      [null, -32600],
      [2, -32600],
      [4, -32600],
      [5, 'ok'],
      [6, -32602],
      [null, -32600],
      [8, -32600],
      [0, 'ok'],
      [9, -32601],
      [10, -32601],
      [11, -32602],
      [12, -32602],
      [13, -32602],
    ]),
  )
})

t.test('several messages on one line, in the one version that has them', async (t) => {
  const batch = [
    request(1, 'ping'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    request(2, 'ping'),
  ]
  const pings = [
    { id: 1, result: {} },
    { id: 2, result: {} },
  ]
  const answerTo = async (version: string) =>
    (await said(begin(version), JSON.stringify(batch))).answers.find(({ id }) => id !== 0)
  t.match(await answerTo('2025-03-26'), pings)
  t.match(await answerTo('2025-06-18'), { id: null, error: { code: -32600 } })
})

t.test('a call that is cancelled is not answered; the input ends while one is under way', async (t) => {
  const slow = request(1, 'tools/call', { name: 'getEmail', arguments: { id: 'slow' } })
  const { answers, code } = await said(
    begin(),
    slow,
    request(2, 'tools/call', { name: 'getEmail', arguments: { id: 'quick' } }),
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } },
  )
  t.equal(code, 0)
  t.same(
    answers.map(({ id }) => id),
    [0, 2],
  )
  const twice = await said(begin(), slow, slow)
  t.match(twice.answers, [{ id: 0 }, { id: 1, error: { message: /under way/ } }])
  t.match(twice.code, 0, 'the other one is given up')
})

t.test('it is not begun without a key', async (t) => {
  t.match(await desk.run(['mcp']), { code: 64, stdout: '', stderr: /a key is needed: --key-file/ })
  t.match(await desk.run(['mcp', '--key-file', '-']), { code: 64, stdout: '' })
  t.match(await desk.run(['mcp', '--key-file', '/nowhere/key']), { code: 74, stdout: '' })
  t.match(await desk.run(['mcp', '--key-file', key, '--url', 'localhost:8080']), { code: 64, stdout: '' })
})
