/**
 * NAME      send - one mail, through the API
 *   What curl would do, without the quoting. The key comes from a file, or from
 *   standard input; the text from a flag, a file, or standard input.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { GIVEN_EXTRAS, type GivenExtra, readExtra } from '../lifecycle/extras.js'
import { readTag } from '../mail/query.js'
import { apiBase, callApi } from './api.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { badInput, usage } from './exit.js'
import { STDIN, type Terminal } from './terminal.js'

/** The first line of a file, or of standard input; $POSTERN_KEY_FILE when none is named. */
export const readKey = async (
  readInput: Terminal['readInput'],
  file: string | undefined,
): Promise<string> => {
  const name = file ?? process.env.POSTERN_KEY_FILE
  if (name === undefined || name === '') {
    throw usage('a key is needed: --key-file FILE (or $POSTERN_KEY_FILE); postern key create makes one')
  }
  const [line = ''] = String(await readInput(name)).split(/\r?\n/)
  if (line.trim() === '') throw badInput(`${name}: holds no key`)
  return line.trim()
}

const tagOf = (text: string) => {
  const { name, value } = readTag(text)
  if (name === '' || value === null) throw badInput(`--tag: ${text} is not name:value`)
  return { name, value }
}

const attachmentOf = async (file: string) => ({
  filename: basename(file),
  content: (await readFile(file)).toString('base64'),
})

const GIVEN = Object.fromEntries(
  GIVEN_EXTRAS.map(({ option, kind, label }) => [
    option,
    { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), describe: label },
  ]),
)

/** What its option gives. */
const givenIn = (args: object, extra: GivenExtra): unknown => {
  const value: unknown = Reflect.get(args, extra.option)
  return typeof value === 'string' ? readExtra(extra, value) : value
}

const OPTIONS = {
  to: { type: 'string', array: true, demandOption: true, describe: 'Recipient; repeatable' },
  cc: { type: 'string', array: true, describe: 'Copy to; repeatable' },
  bcc: { type: 'string', array: true, describe: 'Blind copy to; repeatable' },
  from: { type: 'string', describe: 'Sender; else the default of the workspace' },
  'reply-to': { type: 'string', array: true, describe: 'Where answers go; repeatable' },
  subject: { type: 'string', describe: 'Subject' },
  text: { type: 'string', describe: 'Text of the mail' },
  'text-file': { type: 'string', describe: 'File with the text; - is standard input' },
  'html-file': { type: 'string', describe: 'File with the HTML; - is standard input' },
  'raw-file': {
    type: 'string',
    describe:
      'File with a finished message, in place of sender, subject, text and files; - is standard input',
  },
  attach: { type: 'string', array: true, describe: 'File to attach; repeatable' },
  tag: { type: 'string', array: true, describe: 'name:value; repeatable' },
  at: {
    type: 'string',
    describe: 'Send later: an ISO 8601 time with a zone, or "in 2 hours", "tomorrow at 9am" (UTC)',
  },
  'ignore-suppressions': { type: 'boolean', describe: 'Also to suppressed addresses, this once' },
  unsubscribe: {
    type: 'string',
    describe: 'The mailing list that a link in the header of the mail unsubscribes from',
  },
  ...GIVEN,
  'idempotency-key': { type: 'string', describe: 'Makes it safe to run the same command again' },
  workspace: { type: 'string', describe: 'Workspace id, for a platform key' },
  'key-file': { type: 'string', describe: 'File that holds the API key; - is standard input' },
  url: { type: 'string', describe: 'Where the API is; else as configured' },
} as const

export const sendCommand = command({
  usage: 'send',
  summary: 'Send one mail through the API',
  options: OPTIONS,
  examples: [
    ['$0 send --to you@example.com --subject Hello --text "It works" --key-file key', ''],
    [
      'date | $0 send --to you@example.com --subject Now --text-file - --key-file key',
      'the text from a pipe',
    ],
  ],
  run: async (args, terminal) => {
    const files = [args.textFile, args.htmlFile, args.rawFile, args.keyFile]
    if (files.filter((file) => file === STDIN).length > 1) {
      throw usage('only one of --text-file, --html-file, --raw-file and --key-file can be standard input')
    }
    if (args.text !== undefined && args.textFile !== undefined)
      throw usage('give --text or --text-file, not both')
    const base = apiBase(configOf(args), args.url)
    const key = await readKey(terminal.readInput, args.keyFile)
    const body = {
      to: args.to,
      cc: args.cc,
      bcc: args.bcc,
      from: args.from,
      reply_to: args.replyTo,
      subject: args.subject,
      text:
        args.text ??
        (args.textFile === undefined ? undefined : String(await terminal.readInput(args.textFile))),
      html: args.htmlFile === undefined ? undefined : String(await terminal.readInput(args.htmlFile)),
      raw:
        args.rawFile === undefined ? undefined : (await terminal.readInput(args.rawFile)).toString('base64'),
      tags: args.tag?.map(tagOf),
      attachments: args.attach === undefined ? undefined : await Promise.all(args.attach.map(attachmentOf)),
      scheduled_at: args.at,
      ignore_suppressions: args.ignoreSuppressions,
      unsubscribe: args.unsubscribe === undefined ? undefined : { list: args.unsubscribe },
      ...Object.fromEntries(GIVEN_EXTRAS.map((extra) => [extra.name, givenIn(args, extra)])),
    }
    const headers: Record<string, string> = {}
    if (args.idempotencyKey !== undefined) headers['idempotency-key'] = args.idempotencyKey
    if (args.workspace !== undefined) headers['x-workspace-id'] = args.workspace
    const record = (await callApi(base, { method: 'POST', path: '/v1/emails', key, headers, body })) as {
      id: string
    }
    terminal.data(record, () => record.id)
    terminal.say(`accepted; postern email show ${record.id}`)
  },
})
