/**
 * A column of `emails` is a row of EXTRAS and a step for each database (src/README.md). Here they are added to a copy of this
 * Postern, and nothing else: it begins on a folder of today's, moves into PostgreSQL, and every door gives and tells the new member.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { readCsv } from '../../src/record/csv.js'
import { SCHEMA } from '../../src/store/postgres/schema/steps.js'
import { buildWith } from '../parts/another-build.js'
import { Postern, ROOT, runCli } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'

const EXTRAS = {
  trial_text: {
    label: 'Text on trial',
    says: 'What the customer calls it; absent where nothing was said',
    example: 'C-42',
    isColumn: true,
    given: 20,
  },
  trial_number: { kind: 'number', label: 'Priority', says: 'Of many', example: 3, isColumn: true, given: 9 },
  trial_flag: { kind: 'flag', label: 'Urgent', says: 'Soon', example: true, isColumn: true, given: 1 },
  // in the packed column
  trial_packed: { kind: 'number', label: 'Batch', says: 'Of a day', example: 7, given: 99 },
}
const column = (words: string) => `ALTER TABLE emails ADD COLUMN ${words};`
const SQLITE = ['trial_text TEXT', 'trial_number INTEGER', 'trial_flag INTEGER'].map(column)
const POSTGRES = ['trial_text text', 'trial_number bigint', 'trial_flag smallint'].map(column).join('')

/** What a client says, and what is told of it. */
interface Given {
  readonly trial_text?: string | null
  readonly trial_number?: number
  readonly trial_flag?: boolean
  readonly trial_packed?: number
}
const NAMES = Object.keys(EXTRAS) as (keyof Given)[]
const FULL: Given = { trial_text: 'C-1', trial_number: 0, trial_flag: false, trial_packed: 99 }
const MAIL = { from: 'a@gw.test', to: 'b@x.test', subject: 'Hi', text: 'Hi' }

const bySmtp = async (postern: Postern, pass: string, given: object): Promise<string> => {
  const transport = createTransport({
    ...{ host: '127.0.0.1', port: postern.ports.submission[1] ?? 0, secure: true },
    ...{ auth: { user: 'apikey', pass }, tls: { rejectUnauthorized: false } },
  })
  const headers = Object.entries(given).map(([name, value]) => ({
    ...{ key: `X-Postern-${name.replaceAll('_', '-')}`, value: String(value) },
  }))
  const sent = transport.sendMail({ ...MAIL, headers }).then(
    ({ response }) => response,
    ({ response }) => response,
  )
  const response = String(await sent.finally(() => transport.close()))
  return /queued as (em_[0-9a-z]{26})/.exec(response)?.[1] ?? response
}

/** What one mail is told to have: by the record, the list and a file of lines, then by a table and the command line. */
const toldOf = async (postern: Postern, key: string, id: string) => {
  const get = async (path: string) => (await postern.api('GET', path, key)).text
  const [head = [], ...rows] = readCsv(await get('/v1/emails?format=csv'))
  const row = rows.find(([first]) => first === id)
  const lines = (await get('/v1/emails?format=ndjson')).trim().split('\n')
  const args = ['email', 'show', id, '--config', postern.configFile]
  const shown = (await runCli(args, '', ROOT, postern.bin)).stdout
  const records = [
    JSON.parse(await get(`/v1/emails/${id}`)),
    JSON.parse(await get('/v1/emails?limit=100')).data.find((one: { id: string }) => one.id === id),
    lines.map((text) => JSON.parse(text)).find((one) => one.id === id),
  ]
  return {
    records: records.map((record) => NAMES.map((name) => record[name])),
    row: NAMES.map((name) => row?.[head.indexOf(name)]),
    shown: NAMES.map(
      (name) => new RegExp(`^${EXTRAS[name].label.toLowerCase()} (.*)$`, 'm').exec(shown)?.[1],
    ),
  }
}

const told = (given: Given) => {
  const values = NAMES.map((name) => given[name] ?? undefined)
  const words = (value: unknown) => (value === true ? 'yes' : value === false ? 'no' : String(value))
  return {
    records: [values, values, values],
    row: values.map((value) => (value === undefined ? '' : String(value))),
    shown: values.map((value) => (value === undefined ? undefined : words(value))),
  }
}

t.test('a row and two steps', { skip: noPostgres() }, async (t) => {
  t.setTimeout(240_000)
  const steps = { sqlite: SQLITE, postgres: [{ text: POSTGRES, compatibleFrom: SCHEMA }] }
  const bin = join(buildWith(t, '9.9.9', { ...steps, extras: EXTRAS }), 'bin', 'postern')
  const folder = mkdtempSync(join(tmpdir(), 'postern-column-'))
  const here = new Postern({ store: { driver: 'sqlite' } })
  t.teardown(async () => {
    await here.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  await here.start()
  const key = await here.key('--rate-limit', '100000')
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, key, { mode: 0o600 })
  const send = async (postern: Postern, more: object) =>
    (await postern.api('POST', '/v1/emails', key, { ...MAIL, ...more })).body
  const old = (await send(here, {})).id
  t.match(await send(here, FULL), { errors: [{ field: 'body.trial_text' }] })
  await here.stop()
  here.bin = bin
  await here.start()

  const byCli = async (postern: Postern, given: readonly string[]): Promise<string> => {
    const args = ['send', '--to', 'b@x.test', '--from', 'a@gw.test', ...given]
    const where = ['--key-file', keyFile, '--url', postern.url, '--config', postern.configFile]
    const { code, stdout, stderr } = await runCli([...args, ...where, '--json'], '', ROOT, postern.bin)
    return code === 0 ? JSON.parse(stdout).id : stderr
  }
  const sendAll = async (postern: Postern): Promise<ReadonlyMap<string, Given>> => {
    const smtp = { trial_text: 'Ré 2', trial_number: 9, trial_flag: true }
    return new Map<string, Given>([
      [(await send(postern, FULL)).id, FULL],
      [(await send(postern, { trial_text: '' })).id, {}],
      [
        (await send(postern, { trial_text: null, cc: 'c@x.test', trial_flag: true })).id,
        { trial_flag: true },
      ],
      [await bySmtp(postern, key, smtp), smtp],
      [
        await byCli(postern, ['--trial-text', 'C-3', '--trial-packed', '7', '--trial-flag']),
        { trial_text: 'C-3', trial_flag: true, trial_packed: 7 },
      ],
    ])
  }
  const first = new Map<string, Given>([[old, {}], ...(await sendAll(here))])
  for (const [id, given] of first) t.same(await toldOf(here, key, id), told(given), id)

  const long = 'x'.repeat(21)
  const wrong = async (body: object) =>
    (await send(here, body)).errors?.map(
      ({ field, kind }: { field: string; kind: string }) => `${field} ${kind}`,
    )
  t.same(await wrong({ trial_text: long, trial_number: 10 }), [
    'body.trial_text length',
    'body.trial_number range',
  ])
  t.same(await wrong({ trial_text: 'a\nb' }), ['body.trial_text format'])
  t.same(await wrong({ trial_flag: 'soon' }), ['body.trial_flag type'])
  t.same(await wrong({ headers: { 'X-Postern-Trial-Text': 'C-1' } }), [
    'body.headers.X-Postern-Trial-Text forbidden',
  ])
  t.match(await bySmtp(here, key, { trial_text: long }), /^554 .*at most 20 characters/)
  t.match(await bySmtp(here, key, { trial_number: 'high' }), /^554 .*a whole number from 0 to 9/)
  t.match(await bySmtp(here, key, { trial_flag: 'soon' }), /^554 .*must be true or false/)
  t.match(await byCli(here, ['--trial-number', 'high']), /trial_number/)

  await here.stop()
  const server = await postgres()
  const url = server.database()
  const database = url.split('/').at(-1) ?? ''
  const urlFile = join(folder, 'database.url')
  writeFileSync(urlFile, url, { mode: 0o600 })
  const moved = await runCli(['store', 'move', '--to', urlFile, '--config', here.configFile], '', ROOT, bin)
  t.equal(moved.code, 0, moved.stderr)
  const there = new Postern({
    store: { driver: 'postgres', url_file: urlFile },
    pepper_file: join(here.dir, 'data', 'pepper'),
  })
  t.teardown(() => there.remove())
  there.bin = bin
  await there.start()
  const second = await sendAll(there)
  for (const [id, given] of [...first, ...second]) t.same(await toldOf(there, key, id), told(given), id)
  const kept = server.sql(
    database,
    "SELECT count(trial_text), count(trial_number), count(trial_flag) FROM emails WHERE lists NOT LIKE '%trial_flag%'",
  )
  t.equal(kept.trim(), '6|4|8', 'it stands in its column, and there alone')
})
