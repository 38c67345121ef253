/** No text of a stranger steers a terminal, turns its direction or begins a line of its own, in no output. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import { run } from '../../src/cli/main.js'
import { fields, tableOf } from '../../src/cli/table.js'
import { openTerminal } from '../../src/cli/terminal.js'
import { openDesk } from './desk.js'

const drawn = tableOf<{ text: string }>([['x', 'text']])

const range = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)).join('')

/** Directions, separators, C1; C0 but for line feed and tab, which a line of ours may have. */
const WILD = `${range(0x202a, 0x202e)}${range(0x2066, 0x2069)}${range(0x2028, 0x2029)}${range(0x80, 0x9f)}`
const CONTROLS = range(0, 0x1f).replace('\t', '').replace('\n', '')
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

const streams = (isTTY: boolean) => {
  const heard = { stdout: '', stderr: '' }
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  stdout.on('data', (chunk) => {
    heard.stdout += chunk
  })
  stderr.on('data', (chunk) => {
    heard.stderr += chunk
  })
  stdin.end()
  return { heard, all: { stdin, stdout: Object.assign(stdout, { isTTY }), stderr } }
}

t.test('on a terminal: data, lines, remarks, tables and fields', async (t) => {
  const text = `a${WILD}${CONTROLS}z`
  for (const json of [true, false]) {
    const { heard, all } = streams(true)
    const terminal = openTerminal(json, all)
    terminal.data(
      { text },
      (paint) => `${text}\n${drawn(paint, [{ text }])}\n${fields(paint, [['x', text]])}`,
    )
    terminal.write(text)
    terminal.say(text)
    const said = (heard.stdout + heard.stderr).replace(/\u001b\[[\d;]*m/g, '')
    t.notMatch(said, RAW)
    t.match(said, /a\\u202a\\u202b/)
    if (json)
      t.strictSame(
        JSON.parse(heard.stdout.split('\n}\n')[0]?.concat('\n}') ?? ''),
        { text },
        'and nothing is lost',
      )
  }
})

t.test('into a pipe: tables are clean, JSON escapes, and raw data stays what it is', async (t) => {
  const text = `a${WILD}z`
  const piped = streams(false)
  const terminal = openTerminal(false, piped.all)
  terminal.data(null, (paint) => `${drawn(paint, [{ text }])}\n${fields(paint, [['x', text]])}`)
  t.notMatch(piped.heard.stdout, RAW)
  terminal.write(text)
  t.match(piped.heard.stdout, text)
  const json = streams(false)
  openTerminal(true, json.all).data({ text }, () => '')
  t.notMatch(json.heard.stdout, RAW)
  t.strictSame(JSON.parse(json.heard.stdout), { text })
})

t.test('errors that repeat what was said', async (t) => {
  const desk = openDesk(t)
  for (const args of [
    ['email', 'show', `nobody\u202e${WILD}`],
    [`no\u2066such${WILD}`],
    ['key', 'create', '--workspace', `x\u009b\u2028y`],
  ]) {
    const { heard, all } = streams(true)
    t.not(await run(['--config', desk.configFile, ...args], all), 0)
    t.notMatch(heard.stdout + heard.stderr, RAW)
  }
})
