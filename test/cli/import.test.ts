/** Lists of other services come in with why and since when; hostile files do no harm. */
import { execFileSync } from 'node:child_process'
import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { appendFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ImportFile } from '../../src/cli/import/file.js'
import { type Desk, openDesk } from './desk.js'

t.setTimeout(300_000)

const rowsOf = async (desk: Desk, ...more: readonly string[]) =>
  new Map(
    (await desk.json(['suppression', 'list', '--all', ...more])).map(({ id: _, object: __, ...row }: Row) => [
      row.email,
      row,
    ]),
  )

interface Row {
  readonly id: string
  readonly object: string
  readonly email: string
}

t.test('SendGrid: each list by its name, blocks are passed over', async (t) => {
  const desk = openDesk(t)
  const bounces = desk.file(
    'suppression_bounces.csv',
    'status,reason,email,created\n5.1.1,"550 5.1.1 no such user, sorry",Bo@Example.com,1700000000\n5.7.1,policy,sp@example.com,1700000001\n',
  )
  const files = [
    bounces,
    desk.file(
      'suppression_blocks.csv',
      'status,reason,email,created\n5.7.1,listed,block@example.com,1700000000\n',
    ),
    desk.file('suppression_spam_reports.csv', 'ip,email,created\n192.0.2.1,sp@example.com,1600000000\n'),
    desk.file('suppression_invalid_emails.csv', 'reason,email,created\nno MX,inv@example.com,1700000000\n'),
    desk.file('suppression_unsubscribes.csv', 'email,created\nun@example.com,1700000000\n'),
  ]
  const dry = await desk.run(['import', ...files, '--dry-run'])
  t.match(dry, { code: 0, stdout: /^4 of 6 would be added, 1 listed already, 1 not taken\n$/ })
  t.match(dry.stderr, /suppression_bounces.csv: SendGrid, bounces; CSV, UTF-8; 2 rows\n {2}2 bounce\n/)
  t.match(dry.stderr, /1 passed over: a block, which SendGrid does not suppress/)
  t.equal((await desk.json(['suppression', 'list'])).length, 0, 'a dry run stores nothing')

  const done = await desk.json(['import', ...files])
  t.match(done, { read: 6, added: 4, strengthened: 1, listed: 0, passed: 1, bad: 0, skipped: [] })
  t.match(done.files[0], {
    from: 'sendgrid',
    list: 'bounces',
    sha256: createHash('sha256')
      .update(execFileSync('cat', [bounces]))
      .digest('hex'),
    by: { bounce: 2 },
  })
  t.strictSame(
    await rowsOf(desk),
    new Map(
      [
        ['un@example.com', 'unsubscribe', undefined, '2023-11-14T22:13:20.000Z'],
        ['inv@example.com', 'bounce', 'no MX', '2023-11-14T22:13:20.000Z'],
        ['sp@example.com', 'complaint', undefined, '2020-09-13T12:26:40.000Z'],
        ['bo@example.com', 'bounce', '5.1.1 550 5.1.1 no such user, sorry', '2023-11-14T22:13:20.000Z'],
      ].map(([email, origin, reason, created_at]) => [
        email,
        { email, origin, source_id: 'import:sendgrid', ...(reason && { reason }), created_at },
      ]),
    ),
    'why, since when, whose words; a complaint is more than a bounce, and the older date stays',
  )
  t.match(await desk.json(['import', ...files]), { added: 0, strengthened: 0, listed: 5 }, 'twice is once')
  const entries = await desk.json(['audit', 'list', '--action', 'suppression.imported'])
  t.equal(entries.length, 4, 'one entry a file that changed something')
  t.match(entries.at(-1).detail, { changed: 2, source: 'import:sendgrid', sha256: done.files[0].sha256 })
})

t.test('SendGrid: a file that does not say which list it is', async (t) => {
  const desk = openDesk(t)
  const text =
    'status,reason,email,created\n5.1.1,x,a@x.test,1700000000\n4.2.1,x,b@x.test,1700000000\n5.7.26,x,c@x.test,1\n'
  const file = desk.file('export.csv', text)
  t.match(await desk.json(['import', file, '--dry-run']), { added: 1, passed: 2 })
  t.match(await desk.json(['import', file, '--from', 'sendgrid/blocks', '--dry-run']), {
    added: 0,
    passed: 3,
  })
  t.match(await desk.json(['import', file, '--from', 'sendgrid/bounces', '--dry-run']), { added: 3 })
  for (const from of ['sendmail', 'sendgrid/x', 'sendgrid/blocks/x'])
    t.match(await desk.run(['import', file, '--from', from]), { code: 64, stderr: /^postern: --from: / })
  t.match(await desk.run(['import', file, '--from', 'postmark']), {
    ...{ code: 65, stderr: /is not what postmark exports; it has status, reason, email, created/ },
  })
})

t.test('only adds: what a person took off later stays off, what is newer there comes', async (t) => {
  const desk = openDesk(t)
  const list = (created: number) =>
    desk.file('unsubscribes.csv', `email,created\nana@x.test,${created}\nbob@x.test,1600000000\n`)
  await desk.json(['import', list(1600000000)])
  await desk.json(['suppression', 'remove', 'ana@x.test', '--yes'])
  const again = await desk.run(['import', list(1600000000)])
  t.match(again, { code: 0, stdout: /^0 of 2 added, 1 listed already, 1 not taken/ })
  t.match(again.stderr, /1 passed over: taken off the list here since then/)
  await desk.json(['suppression', 'add', 'tom@x.test', '--mode', 'test'])
  await desk.json(['suppression', 'remove', 'tom@x.test', '--mode', 'test', '--yes'])
  const tom = desk.file('tom.csv', 'email,created\ntom@x.test,1600000000\n')
  t.match(await desk.json(['import', tom, '--mode', 'test']), { added: 0, passed: 1 })
  t.match(await desk.json(['import', tom]), { added: 1 }, 'another list is another')
  t.match(await desk.json(['import', tom, '--account']), { added: 1 })
})

t.test('columns, separators, encodings, line ends', async (t) => {
  const desk = openDesk(t)
  const read = async (name: string, octets: string | Uint8Array, ...more: readonly string[]) => {
    const email = `${name.replace(/\W/g, '')}@x.test`
    const text = typeof octets === 'string' ? octets.replace('NN', email) : octets
    const { code, stderr } = await desk.run(['import', desk.file(name, text), ...more])
    t.equal(code, 0, `${name}: ${stderr}`)
    return { ...(await desk.json(['suppression', 'show', email])), said: stderr }
  }
  const when = { created_at: '2016-01-21T19:08:17.000Z' }
  t.match(await read('a', 'x;NN;complaint;2016-01-21 19:08:17\r\n', '--columns', 'email=2,why=3,since=4'), {
    ...when,
    origin: 'complaint',
  })
  t.match(await read('b', 'email\twhy\tcreated_at\nNN\tspam\tThu, 21 Jan 2016 19:08:17 UTC\n'), {
    ...when,
    origin: 'complaint',
  })
  t.match(
    await read('c', '\ufeffemail;created_at;reason\r\n"NN";2016-01-21T20:08:17+01:00;"a ""b"";\r\nc"\r\n'),
    {
      ...{ ...when, reason: 'a "b";\n c'.replace('\n ', ' \n'), origin: 'import', source_id: 'import:csv' },
    },
  )
  const latin = Buffer.from(
    'email,reason,created_at\nd@x.test,Empf\u00e4nger abgelehnt,1453403297\n',
    'latin1',
  )
  t.match(await read('d', latin), { ...when, reason: 'Empfänger abgelehnt', said: /CSV, Latin-1; 1 rows/ })
  const wide = Buffer.from('\ufeffemail\treason\ne@x.test\tdéjà\n', 'utf16le')
  t.match(await read('e', wide), { reason: 'déjà', said: /UTF-16/ })
  t.match(await read('f.csv.gz', gzipSync('email\nfcsvgz@x.test\n')), { said: /UTF-8, gzip; 1 rows/ })
  t.match(await read('g', '"NN","=HYPERLINK(""x"")"\n'), { reason: '=HYPERLINK("x")' })
  const future = await read('h', `email,created_at\nNN,${Math.floor(Date.now() / 1000) + 9e6}\n`)
  t.match(future.said, /1 with a time before 2000 or in the future: the time of this import instead/)
  t.match((await read('i', 'email,created_at\nNN,yesterday\n')).said, /1 with a time that is not understood/)
  t.match((await read('j', 'email,created_at\nNN,1999-12-31\n')).said, /before 2000/)
  for (const columns of ['reason=1', 'email', 'email=0', 'email=1,x=2'])
    t.match(await desk.run(['import', '-', '--columns', columns]), { code: 64, stderr: /--columns/ })
  const long = await read('k', `email,reason\nNN,${'ä'.repeat(600)}\n`)
  t.equal(Buffer.byteLength(long.reason), 1024, 'words are cut at 1 kB, at a whole character')
})

t.test('hostile files', async (t) => {
  const desk = openDesk(t)
  const refused = async (file: string, code: number, why: RegExp, ...more: readonly string[]) => {
    const said = await desk.run(['import', file, ...more])
    t.match(said, { code, stderr: why }, file)
    t.notMatch(said.stderr, /\n {4}at /)
  }
  await refused(desk.dir, 74, /is a folder/)
  await refused(join(desk.dir, 'nowhere.csv'), 74, /nowhere.csv: no such file/)
  execFileSync('mkfifo', [join(desk.dir, 'fifo')])
  await refused(join(desk.dir, 'fifo'), 65, /is no regular file; a pipe is read with -/)
  await refused('/dev/zero', 65, /is no regular file/)
  await refused(desk.file('bomb.gz', gzipSync(Buffer.alloc(30_000_000, 'a,b\n'))), 65, /more than 200 times/)
  const gz = gzipSync(Array.from({ length: 999 }, (_, i) => `a${i * 7919}@x.test\n`).join(''))
  await refused(desk.file('cut.gz', gz.subarray(0, gz.length - 99)), 65, /its gzip is damaged or cut off/)
  await refused(desk.file('book.xlsx', Buffer.from('PK\x03\x04rest')), 65, /zip archive or a workbook/)
  await refused(desk.file('nul', 'a@x.test\0\n'), 65, /is no text, it holds NUL/)
  const large = desk.file('large.csv', 'email\na@x.test\n')
  // no octet of it is on the disk
  truncateSync(large, 2 * 1024 ** 3 + 1)
  await refused(large, 65, /large\.csv: is more than 2 GiB; split it/)
  truncateSync(large, 2 * 1024 ** 3)
  await refused(large, 65, /is no text, it holds NUL/)
  await refused(desk.file('half.json', '[{"email":"a@x.test","created":1},{"em'), 65, /ends in the middle/)
  await refused(desk.file('what.csv', 'colour,size\nred,1\n'), 65, /lines are not understood/)
  t.equal((await desk.json(['suppression', 'list'])).length, 0, 'none of them stored anything')

  const bad = desk.file('bad.csv', `email\n${'nobody\n'.repeat(100_000)}`)
  const many = await desk.run(['import', bad, '--json'])
  t.match(many, { code: 65, stderr: /100000 of 100000 lines are not understood, so nothing was done/ })
  t.equal(many.stderr.match(/^line \d+: /gm)?.length, 10, 'ten are named')

  const odd = [
    `a@x.test,${'x'.repeat(9000)}`,
    `b@x.test,"${'y'.repeat(70_000)}"`,
    `"c@x.test,${'z'.repeat(70_000)}`,
    'd@x.test,fine',
    `${'w'.repeat(300_000)}`,
    'e@x.test,\u001b[31mred\u0007',
    '"f@x.test',
    'g@x.test,last',
  ]
  const said = await desk.run(['import', '-', '--force', '--json'], `email,reason\n${odd.join('\n')}\n`)
  const { skipped, added, read } = JSON.parse(said.stdout)
  t.same(
    skipped.map(({ line }: { line: number }) => line),
    [2, 3, 4, 6, 8],
  )
  t.same([read, added], [8, 3])
})

t.test('a file that changes is another file', async (t) => {
  const desk = openDesk(t)
  const path = desk.file('grows.csv', 'email\na@x.test\n')
  const file = await ImportFile.open(path)
  t.teardown(() => file.close())
  const read = async (): Promise<string> => {
    let text = ''
    for await (const piece of file.text()) text += piece
    return text
  }
  t.equal(await read(), 'email\na@x.test\n')
  const { sha256 } = file
  await read()
  t.equal(file.sha256, sha256)
  appendFileSync(path, 'late@x.test\n')
  t.match(await read(), /late@x.test/)
  t.not(file.sha256, sha256)
})

/** Of each service: a file as it exports it, of our own making, and what becomes of its addresses. */
const SERVICES: readonly (readonly [
  name: string,
  text: string,
  from: string,
  why: Readonly<Record<string, string>>,
  notTaken: number,
])[] = [
  [
    'bounces.json',
    '[{"created":1700000000,"email":"a@x.test","reason":"550 gone","status":"5.1.1"},\n{"created":1700000000,"email":"b@x.test","reason":"","status":""}]',
    'sendgrid',
    { 'a@x.test': 'bounce', 'b@x.test': 'bounce' },
    0,
  ],
  [
    'groups.json',
    '[{"email":"a@x.test","group_id":7,"group_name":"news","created_at":1700000000}]',
    'sendgrid',
    {},
    1,
  ],
  [
    'suppressed.json',
    '{"SuppressedDestinationSummaries":[{"EmailAddress":"a@x.test","Reason":"BOUNCE","LastUpdateTime":"2023-11-14T22:13:20.000000+00:00"},\n{"EmailAddress":"b@x.test","Reason":"COMPLAINT","LastUpdateTime":1700000000.077}],"NextToken":"x"}\n{"SuppressedDestinationSummaries":[]}',
    'ses',
    { 'a@x.test': 'bounce', 'b@x.test': 'complaint' },
    0,
  ],
  [
    'job.ndjson',
    '{"emailAddress":"a@x.test","reason":"BOUNCE"}\n{"emailAddress":"b@x.test","reason":"COMPLAINT"}\n',
    'ses',
    { 'a@x.test': 'bounce', 'b@x.test': 'complaint' },
    0,
  ],
  [
    'job.csv',
    'a@x.test,BOUNCE\nb@x.test,COMPLAINT\n',
    'ses',
    { 'a@x.test': 'bounce', 'b@x.test': 'complaint' },
    0,
  ],
  [
    'mailgun.csv',
    'address,code,error,created_at\na@x.test,550,"No such user","Tue, 14 Nov 2023 22:13:20 UTC"\n',
    'mailgun',
    { 'a@x.test': 'bounce' },
    0,
  ],
  [
    'complaints.csv',
    'address,created_at\na@x.test,"Tue, 14 Nov 2023 22:13:20 +0000"\n',
    'mailgun',
    { 'a@x.test': 'complaint' },
    0,
  ],
  [
    'unsubscribes.csv',
    'address,tags,created_at\na@x.test,*,"Tue, 14 Nov 2023 22:13:20 GMT"\nb@x.test,news,"Tue, 14 Nov 2023 22:13:20 GMT"\nc@x.test,"[""news"",""*""]","Tue, 14 Nov 2023 22:13:20 GMT"\n',
    'mailgun',
    { 'a@x.test': 'unsubscribe', 'c@x.test': 'unsubscribe' },
    1,
  ],
  [
    'mailgun.json',
    '{"items":[{"address":"a@x.test","tags":["*"],"created_at":"Tue, 14 Nov 2023 22:13:20 UTC"}],"paging":{"next":"https://x"}}',
    'mailgun',
    { 'a@x.test': 'unsubscribe' },
    0,
  ],
  [
    'dump.json',
    '{"Suppressions":[{"EmailAddress":"a@x.test","SuppressionReason":"HardBounce","Origin":"Recipient","CreatedAt":"2023-11-14T22:13:20+00:00"},{"EmailAddress":"b@x.test","SuppressionReason":"SpamComplaint","Origin":"Recipient","CreatedAt":"2023-11-14T22:13:20Z"},{"EmailAddress":"c@x.test","SuppressionReason":"ManualSuppression","Origin":"Recipient","CreatedAt":"2023-11-14T22:13:20Z"},{"EmailAddress":"d@x.test","SuppressionReason":"ManualSuppression","Origin":"Customer","CreatedAt":"2023-11-14T17:13:20-05:00"}]}',
    'postmark',
    { 'a@x.test': 'bounce', 'b@x.test': 'complaint', 'c@x.test': 'unsubscribe', 'd@x.test': 'manual' },
    0,
  ],
  [
    'blockedContacts.json',
    '{"count":2,"contacts":[{"email":"a@x.test","senderEmail":"s@y.test","reason":{"code":"hardBounce","message":"gone"},"blockedAt":"2023-11-14T22:13:20.000+00:00"},{"email":"b@x.test","senderEmail":"","reason":{"code":"contactFlaggedAsSpam","message":"spam"},"blockedAt":"2023-11-14T22:13:20Z"}]}',
    'brevo',
    { 'a@x.test': 'bounce', 'b@x.test': 'complaint' },
    0,
  ],
  [
    'mandrill.csv',
    'email,reason,detail,created_at,expires_at,last_event_at,expires_at,subaccount\na@x.test,hard-bounce,gone,2023-11-14 22:13:20,,2023-11-14 22:13:20,,\nb@x.test,soft-bounce,full,2023-11-14 22:13:20,2023-11-15 22:13:20,2023-11-14 22:13:20,,\nc@x.test,spam,,2023-11-14 22:13:20,,,,shop\nd@x.test,unsub,,2023-11-14 22:13:20,,,,\n',
    'mandrill',
    { 'a@x.test': 'bounce', 'c@x.test': 'complaint', 'd@x.test': 'unsubscribe' },
    1,
  ],
  [
    'sparkpost.csv',
    'recipient,type,source,description,created,updated\na@x.test,transactional,Bounce Rule,550 gone,2023-11-14T22:13:20Z,\nb@x.test,non_transactional,List Unsubscribe,,2023-11-14T22:13:20Z,\nc@x.test,transactional,Spam Complaint,,2023-11-14T22:13:20Z,\n',
    'sparkpost',
    { 'a@x.test': 'bounce', 'c@x.test': 'complaint' },
    1,
  ],
  [
    'resend.json',
    '{"object":"list","has_more":false,"data":[{"id":"1","email":"a@x.test","origin":"complaint","source_id":"e1","created_at":"2023-11-14 22:13:20"}]}',
    'resend',
    { 'a@x.test': 'complaint' },
    0,
  ],
  [
    'postal.tsv',
    'id\ttype\taddress\treason\ttimestamp\tkeep_until\n1\trecipient\ta@x.test\thard bounce\t1700000000.000000\tNULL\n2\trecipient\tb@x.test\ttoo many soft fails\t1700000000.000000\t1702592000.000000\n',
    'postal',
    { 'a@x.test': 'bounce' },
    1,
  ],
]

t.test('lists of each service', async (t) => {
  const desk = openDesk(t)
  for (const [n, [name, text, from, why, notTaken]] of SERVICES.entries()) {
    const of = ['--workspace', `s${n}`]
    await desk.json(['workspace', 'create', `s${n}`])
    const done = await desk.json(['import', desk.file(name, text), ...of])
    t.match(done, { passed: notTaken, bad: 0, files: [{ from }] }, name)
    const rows = await desk.json(['suppression', 'list', ...of])
    t.same(
      Object.fromEntries(
        rows.map(({ email, origin }: Row & { origin: string }) => [email, origin]).reverse(),
      ),
      why,
      name,
    )
    for (const { created_at, source_id } of rows) {
      t.equal(source_id, `import:${from}`)
      if (!name.startsWith('job')) t.match(created_at, /^2023-11-14T22:13:20/, name)
    }
  }
})

t.test('JSON: pages one after another, objects that are too long or broken', async (t) => {
  const desk = openDesk(t)
  const one = (n: number, more = ''): string => `{"email":"a${n}@x.test","created":1700000000${more}}`
  const text = [
    `[${one(1)},${one(2, `,"reason":"${'x'.repeat(70_000)}"`)},`,
    `${one(3, ',"reason":"a \\"quoted\\" ]} {[ \\\\"')}, {"email":}, ${one(4)}]`,
    `[]`,
    `[${one(5, ',"reason":{"deep":[{"er":1}]}')}]`,
  ].join('\n')
  const { stdout, code } = await desk.run(
    ['import', '-', '--json', '--force', '--from', 'sendgrid/bounces'],
    text,
  )
  t.equal(code, 65)
  t.match(JSON.parse(stdout), { read: 6, added: 4, bad: 2, skipped: [{ line: 1 }, { line: 2 }] })
  t.equal((await desk.json(['suppression', 'show', 'a3@x.test'])).reason, 'a "quoted" ]} {[ \\')
  for (const word of ['constructor', '__proto__', 'toString'])
    t.match(
      await desk.run(['import', '-'], `{"email":"p@x.test","origin":"${word}","created_at":"2020-01-01"}`),
      { code: 65, stderr: /is no reason that is known here/ },
      word,
    )
})

t.test('a DKIM key is brought along', async (t) => {
  const desk = openDesk(t)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }) as string
  const file = desk.file('s1.pem', pem)
  const wrong = async (words: readonly string[], code: number, why: RegExp): Promise<void> => {
    const { code: is, stdout, stderr } = await desk.run(['domain', 'add', 'shop.example', ...words])
    t.match({ is, stderr }, { is: code, stderr: why })
    t.notMatch(stdout + stderr, pem.split('\n')[1] ?? '?', 'the key is not said')
  }
  await wrong(['--dkim-key-file', file], 64, /^postern: --selector: is missing/)
  await wrong(['--selector', 's1'], 64, /--dkim-key-file, which is missing/)
  await wrong(['--dkim-key-file', file, '--selector', 'a b'], 64, /a b is no selector/)
  await wrong(['--dkim-key-file', 'nowhere.pem', '--selector', 's1'], 74, /nowhere.pem: no such file/)
  const half = desk.file('half.pem', pem.slice(0, 200))
  await wrong(['--dkim-key-file', half, '--selector', 's1'], 65, /half.pem: .*no private key in PEM/)
  const { privateKey: curve } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ec = desk.file('ec.pem', curve.export({ type: 'pkcs8', format: 'pem' }))
  await wrong(['--dkim-key-file', ec, '--selector', 's1'], 65, /ec.pem: a DKIM key is RSA or Ed25519/)
  const added = await desk.run(['domain', 'add', 'shop.example', '--dkim-key-file', file, '--selector', 'S1'])
  const p = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
  t.match(added, { code: 0, stdout: /s1\._domainkey\.shop\.example/ })
  t.ok(added.stdout.replace(/"\s+"/g, '').includes(`p=${p}`), 'its record is the one that is published')
  const listed = await desk.run(['domain', 'list'])
  t.match(listed.stdout, /shop\.example +no +s1 /)
})
