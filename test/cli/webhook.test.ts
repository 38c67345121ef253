/** Endpoints from the command line: the secret once, the same verbs as over HTTP, exit codes. */
import t from 'tap'
import { answer, receiver } from '../parts/receiver.js'
import { openDesk } from './desk.js'

const SETTINGS = 'hostname: gw.postern.test\ndata_dir: data\nwebhook:\n  allow_networks: [127.0.0.0/8]\n'

t.test('an endpoint from its making to its end', async (t) => {
  const desk = openDesk(t, SETTINGS)
  const end = await receiver(t)
  const url = `http://127.0.0.1:${end.port}/hook`
  const headers = desk.file('headers', 'Authorization: Bearer hush\n\nX-Env: eu\n')
  const made = await desk.json([
    ...['webhook', 'create', url, '--events', 'email.delivered,email.bounced', '--workspace', 'default'],
    ...['--header', headers, '--tag', 'kind=receipt', '--domain', 'Shop.example', '--fields', 'thin'],
  ])
  t.match(made, {
    endpoint: url,
    events: ['email.delivered', 'email.bounced'],
    signing_secret: /^whsec_/,
    mode: 'live',
    header_names: ['Authorization', 'X-Env'],
    tags: [{ name: 'kind', value: 'receipt' }],
    domains: ['shop.example'],
    fields: 'thin',
  })
  const login = desk.file('login', 'list:hush\n')
  const theirs = ['webhook', 'create', url, '--format', 'postmark', '--events', 'email.bounced,email.sent']
  const named = await desk.run([...theirs, '--auth', login])
  t.match(named, { code: 0, stderr: /nothing is told of email\.sent: format postmark has no word for it/ })
  const id = /wh_[0-9a-z]{26}/.exec(named.stderr)?.[0] ?? ''
  t.match((await desk.run(['webhook', 'show', id])).stdout, /format +postmark[\s\S]*login +kept/)
  const moved = ['webhook', 'update', id, '--url', 'http://127.0.0.1:1/hook']
  t.match(await desk.run(moved), { code: 65, stderr: /auth: must be given anew/ }, 'another server')
  const none = desk.file('none', '')
  t.match(await desk.run(['webhook', 'update', id, '--auth', none]), { stdout: /login +none/ })
  t.match(await desk.run([...theirs, '--auth', none]), { code: 65, stderr: /--auth: .* is empty/ })
  const all = await desk.run(['webhook', 'create', url, '--format', 'postmark'])
  t.match(
    all.stderr,
    /told of email\.delivered, email\.bounced, email\.complained; .* no word for the others/,
  )
  await desk.run(['webhook', 'delete', /wh_[0-9a-z]{26}/.exec(all.stderr)?.[0] ?? '', '--yes'])
  const bad = desk.file('bad', 'list:hush\nmore')
  t.match(await desk.run([...theirs, '--auth', bad]), { code: 65, stderr: /auth.*must be user:password/ })
  t.match(await desk.run(['webhook', 'create', url, '--format', 'ses']), { code: 64 })
  await desk.run(['webhook', 'delete', id, '--yes'])
  const plain = await desk.run(['webhook', 'create', url])
  t.match(plain.stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/, 'for scripts: the secret alone')
  t.match(plain.stderr, /shown now, and never again/)
  t.match(plain.stderr, /live mail; .* --mode test/)
  const listed = await desk.run(['webhook', 'list'])
  t.match(listed.stdout, made.id)
  t.notMatch(listed.stdout, /whsec_|hush/)
  t.equal((await desk.json(['webhook', 'list'])).length, 2)

  const tested = await desk.run(['webhook', 'test', made.id])
  t.equal(tested.code, 0)
  t.match(tested.stdout, /result +ok/)
  t.equal(end.received[0]?.headers.authorization, 'Bearer hush')
  end.behave = answer(302, '', { location: 'https://elsewhere.example/' })
  const failed = await desk.run(['webhook', 'test', made.id])
  t.equal(failed.code, 69)
  t.match(failed.stdout, /redirected to https:\/\/elsewhere.example\/, we do not follow/)
  const shown = await desk.json(['webhook', 'events', made.id])
  t.match(shown, [
    { kind: 'test', status: 'failed', http_status_code: 302 },
    { kind: 'test', status: 'success', http_status_code: 200 },
  ])
  t.equal((await desk.json(['webhook', 'events', made.id, '--failed'])).length, 1)
  t.match((await desk.run(['webhook', 'events', made.id])).stdout, /webhook\.test +- +test +failed +302/)

  const rotated = await desk.json(['webhook', 'rotate', made.id, '--grace', '1h'])
  t.not(rotated.signing_secret, made.signing_secret)
  t.type(rotated.previous_secret_until, 'string')
  const off = await desk.json(['webhook', 'update', made.id, '--disable'])
  t.match(off, { status: 'disabled', disabled_reason: 'requested' })
  t.match((await desk.run(['webhook', 'show', made.id])).stdout, /health +disabled \(requested\)/)
  t.equal((await desk.run(['webhook', 'replay', made.id, '--since', '1h'])).code, 65)
  const on = await desk.json([
    'webhook',
    'update',
    made.id,
    '--enable',
    '--from-now',
    '--domain',
    '',
    '--rate',
    '5',
  ])
  t.match(on, { status: 'enabled', domains: [], rate: 5, behind: { events: 0 } })
  t.match(await desk.json(['webhook', 'replay', made.id, '--since', '1h', '--dry-run']), {
    matched: 0,
    dry_run: true,
  })
  const replayed = await desk.run(['webhook', 'replay', made.id, '--failed'])
  t.match(replayed.stdout, '0 events will be posted again')

  t.match((await desk.run(['webhook', 'delete', made.id, '--dry-run'])).stdout, 'would delete')
  t.match(await desk.json(['webhook', 'delete', made.id, '--yes']), { id: made.id, deleted: true })
  const gone = await desk.run(['webhook', 'show', made.id])
  t.equal(gone.code, 65)
  t.match(gone.stderr, /postern webhook list shows what there is/)
})

t.test('what is wrong is said by its name, with the remedy', async (t) => {
  const desk = openDesk(t, SETTINGS)
  const refused = async (...args: string[]) => {
    const { code, stderr } = await desk.run(['webhook', ...args])
    t.ok(code === 64 || code === 65, args.join(' '))
    t.equal(
      stderr
        .trim()
        .split('\n')
        .filter((line) => /^\s+at /.test(line)).length,
      0,
    )
    return stderr
  }
  t.match(
    await refused('create', 'http://169.254.169.254/'),
    /endpoint: 169.254.169.254 is a private or reserved .*webhook\.allow_networks/,
  )
  t.match(
    await refused('create', 'http://hook.invalid/'),
    /endpoint: hook\.invalid .*plain http is for .*use https/,
  )
  t.match(await refused('create', 'nonsense'), /endpoint: /)
  t.match(await refused('create', 'https://1.1.1.1/', '--events', 'email.opend'), /did you mean/)
  t.match(
    await refused('create', 'https://1.1.1.1/', '--rate', '2000'),
    /--rate: 2000 is no whole number from 1 to 1000/,
  )
  const wrong = desk.file('wrong', 'no header\n')
  t.match(await refused('create', 'https://1.1.1.1/', '--header', wrong), /line 1 is not Name: value/)
  const reserved = desk.file('reserved', 'Webhook-Id: 1\n')
  t.match(await refused('create', 'https://1.1.1.1/', '--header', reserved), /not yours to set/)
  t.match(await refused('create', 'https://1.1.1.1/', '--workspace', 'nope'), /workspace list/)
  const { id } = await desk.json(['webhook', 'create', 'https://1.1.1.1/'])
  t.match(await refused('rotate', id, '--grace', '8d'), /--grace: 8d/)
  t.match(await refused('update', id, '--enable', '--disable'), /either/)
  t.match(await refused('update', id, '--from-now'), /--enable/)
  t.match(await refused('replay', id), /needs an event, --since or --failed/)
  t.match(await refused('replay', id, '--since', 'yesterday'), /--since: yesterday/)
  t.match(await refused('replay', id, 'evt_x'), /event/i)
})
