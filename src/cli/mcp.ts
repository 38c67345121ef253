/**
 * NAME      mcp - the API as tools of an agent
 *   A server of the Model Context Protocol on standard input and output, which programs with a language model start by
 *   themselves. It reads unless it was started with --write, with the key that it was given and nothing else. Standard
 *   output is protocol, standard error talk.
 */
import type { AskedDaemon } from '../mcp/call.js'
import { instructions, methodsOf } from '../mcp/methods.js'
import { Conversation } from '../mcp/protocol.js'
import { apiBase, bodyOf, openCall } from './api.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { endingOf, usage } from './exit.js'
import { readKey } from './send.js'
import { STDIN } from './terminal.js'
import { versionText } from './version.js'

/** A connection each: one that was kept may be closed at the other end by then. */
const FIXED = { accept: 'application/json', connection: 'close' }

/** The key is read anew each time, so that it can be changed. */
const daemonAt = (base: string, key: () => Promise<string>): AskedDaemon => ({
  base,
  async ask(method, { path, headers, body }, signal) {
    const call = { method, path, signal, key: await key(), headers: { ...FIXED, ...headers } }
    const text = body === undefined ? null : JSON.stringify(body)
    const answer = await openCall(new URL(`${base}${path}`), call, text)
    return {
      ...(await bodyOf(base, answer)),
      retryAfter: answer.headers['retry-after'],
      isRepeat: answer.headers['idempotent-replayed'] === 'true',
    }
  },
  explain(error) {
    const { exit, message } = endingOf(error)
    const isOfSystem = typeof (error as NodeJS.ErrnoException).code === 'string'
    return exit === 70 && !isOfSystem ? null : { title: message, isAway: exit === 69 }
  },
})

export const mcpCommand = command({
  usage: 'mcp',
  summary: 'The API as tools of an agent: a server of the Model Context Protocol on standard input',
  options: {
    write: { type: 'boolean', describe: 'Also tools that send and change; without it, all only read' },
    'key-file': { type: 'string', describe: 'File that holds the API key; else $POSTERN_KEY_FILE' },
    url: { type: 'string', describe: 'Where the API is; else as configured' },
  },
  examples: [
    ['$0 mcp --key-file agent.key', 'as an agent starts it; the key was made for it alone'],
    [
      '$0 mcp --key-file agent.key --url https://mail.acme.example --write',
      'a daemon elsewhere; it may send',
    ],
  ],
  run: async (args, terminal) => {
    if (args.keyFile === STDIN) throw usage('--key-file: standard input is where the agent speaks')
    const base = apiBase(configOf(args), args.url)
    const key = () => readKey(terminal.readInput, args.keyFile)
    // what is wrong with it is said at once
    await key()
    const writes = args.write === true
    const serving = { daemon: daemonAt(base, key), writes, say: (text: string) => terminal.say(text) }
    await new Conversation({
      info: { name: 'postern', title: 'Postern', version: versionText() },
      instructions: instructions(writes),
      handlers: methodsOf(serving),
      send: (text) => terminal.piece(`${text}\n`),
      complain: (error) => terminal.say(endingOf(error).message),
    }).run(terminal.stdin)
  },
})
