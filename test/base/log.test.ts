/** Log lines: one JSON object each, whatever strangers write; pretty ones stay on their line, too. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { createLog } from '../../src/base/log.js'

const HOSTILE = [
  'a\nb\r\nc',
  '\u001b[31mred\u001b[0m',
  '\u009b31mred',
  'x\u2028y\u2029z\u0085',
  '\u202egnp.exe\u2066\u200f\ufeff',
  'half \ud800 a pair \udc00',
  'nul \u0000 del \u007f tab \t',
  '{"level":"info","msg":"settled"}\n{"level":"fatal"}',
  '12:00:00.000 INFO  settled  email=em_1',
  'key=value  other=1',
  '"quoted\\"',
  'é😀',
  '-',
]
const WILD =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/u

const lines: string[] = []
const out = { write: (line: string) => void lines.push(line) }
const written = (): string => lines.splice(0).join('')

t.test('JSON: one line, one object, and the text comes back as it was', async (t) => {
  const log = createLog('debug', out)
  for (const text of HOSTILE) {
    log.info({ subject: text, [text]: 1, list: [text], deep: { of: text } }, 'fact')
    const line = written()
    t.equal(line.indexOf('\n'), line.length - 1)
    t.notMatch(line, WILD)
    const read = JSON.parse(line)
    t.same([read.subject, read.list[0], read.deep.of, read[text]], [text, text, text, 1])
    log.info(text)
    t.equal(JSON.parse(written()).msg, text)
  }
})

t.test(
  'an error in a line is told without addresses and secrets, and never instead of its name',
  async (t) => {
    const error = new Error('no room for bob@example.com with svc_live_0123456789abcdef0123456789abcdef')
    for (const format of ['json', 'pretty'] as const) {
      const log = createLog('debug', out, { format, coloured: false })
      for (const fields of [
        { event: 'bounce_not_kept', err: error },
        { event: 'bounce_not_kept', error },
      ]) {
        log.error(fields)
        const line = written()
        t.notMatch(line, /bob@|0123456789abcdef/)
        t.match(line, /no room for/)
        if (format === 'json') t.match(JSON.parse(line), { event: 'bounce_not_kept', msg: undefined })
        else t.match(line, / ERROR bounce_not_kept {2}/)
      }
    }
  },
)

t.test('pretty: one line, nothing wild, and a value can not pass for a field', async (t) => {
  for (const coloured of [false, true]) {
    const log = createLog('debug', out, { format: 'pretty', coloured })
    for (const text of HOSTILE) {
      for (const write of [() => log.info({ subject: text, [text]: 1 }, 'fact'), () => log.info(text)]) {
        write()
        const line = written()
        t.equal(line.indexOf('\n'), line.length - 1, JSON.stringify(line))
        t.notMatch(line, WILD)
        t.match(line, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}/)
      }
    }
    log.warn({ email: 'em_1', from: 'queued', note: 'a=b  c', n: 1, none: null }, 'settled')
    const line = written().slice(13)
    const level = coloured ? '\u001b[33mWARN \u001b[39m' : 'WARN '
    t.equal(line, `${level} settled  email=em_1  from=queued  note="a=b  c"  n=1  none=null\n`)
  }
})

t.test('secrets by their name are cut, and errors tell no more than they must', async (t) => {
  const log = createLog('debug', out)
  log.info({ password: 'canary1', row: { token: 'canary2', hash: 'canary3' } }, 'x')
  const error = Object.assign(
    new Error('smtp://gw:canary4@mta1 refused canary5@example.com svc_live_canary60000000'),
    {
      config: { pass: 'canary7' },
      code: 'EX',
    },
  )
  log.error({ err: error }, 'x')
  log.error({ error: error.message }, 'x')
  log.error({ err: new Error('Authorization: Bearer canary8888') }, 'x')
  const text = written()
  t.notMatch(text, /canary/)
  t.match(JSON.parse(text.split('\n')[1] ?? '').err, {
    error: /^Error: .*refused/,
    code: 'EX',
    stack: /^at /,
  })
})

t.test('no error is null, not an error of its own', async (t) => {
  const log = createLog('debug', out)
  log.info({ error: null, err: null }, 'attempted')
  t.match(JSON.parse(written()), { error: null, err: null })
  createLog('debug', out, { format: 'pretty', coloured: false }).info({ error: null }, 'attempted')
  t.match(written(), /error=null\n$/)
})

t.test('a process that is killed loses lines of one turn, and none before an error', async (t) => {
  const url = new URL('../../src/base/log.js', import.meta.url).href
  const linesOf = (last: string, format = 'json') => {
    const code = `import { createLog } from '${url}'
      const log = createLog('info', null, { format: '${format}', coloured: false })
      log.info('first'); log.error('second'); log.info('third'); log.fatal('fourth'); log.info('fifth')
      ${last}`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
    return stdout.match(/first|second|third|fourth|fifth/g)
  }
  const killed = "process.kill(process.pid, 'SIGKILL')"
  t.same(linesOf(killed), ['first', 'second', 'third', 'fourth'])
  t.same(linesOf(killed, 'pretty'), ['first', 'second', 'third', 'fourth'])
  t.same(linesOf(`setImmediate(() => ${killed})`), ['first', 'second', 'third', 'fourth', 'fifth'])
  t.same(linesOf('process.exit(70)'), ['first', 'second', 'third', 'fourth', 'fifth'])
  t.same(linesOf("throw new Error('x')"), ['first', 'second', 'third', 'fourth', 'fifth'])
})
