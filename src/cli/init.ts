/**
 * NAME      init - the first configuration
 *   Asks on a terminal, or takes flags and defaults with --no-input, writes the file and routes the default workspace
 *   to the first upstream. Never replaces a configuration that exists. Ends by naming the next command.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { hostname as systemName } from 'node:os'
import { dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { DEFAULT_FILE, readConfig } from '../config/load.js'
import { createPool } from '../tenant/pool.js'
import { parseUpstream } from '../tenant/upstream.js'
import { updateWorkspace } from '../tenant/workspace.js'
import { command } from './command.js'
import { readPasswordFile, withContext } from './context.js'
import { Refusal } from './exit.js'

interface Answers {
  readonly hostname: string
  readonly bounceDomain: string
  readonly baseUrl: string
  readonly dataDir: string
  readonly upstream: string
  readonly urlFile: string | undefined
}

type Ask = (question: string, preset: string) => Promise<string>

const asker = (input: boolean): { ask: Ask; close(): void } => {
  if (!input || process.stdin.isTTY !== true)
    return { ask: async (_question, preset) => preset, close: () => {} }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const ask: Ask = async (question, preset) => {
    const answer = await lines.question(`${question}${preset === '' ? '' : ` [${preset}]`}: `)
    return answer.trim() || preset
  }
  return { ask, close: () => lines.close() }
}

const textOf = ({ hostname, bounceDomain, baseUrl, dataDir, urlFile }: Answers): string => {
  const word = (text: string): string =>
    /^[A-Za-z0-9/][A-Za-z0-9._:/-]*$/.test(text) ? text : JSON.stringify(text)
  return [
    '# Postern; every setting is explained by: postern config reference',
    `hostname: ${word(hostname)}`,
    `base_url: ${word(baseUrl)}`,
    `data_dir: ${word(dataDir)}`,
    'bounce:',
    `  domain: ${word(bounceDomain)}`,
    ...(urlFile === undefined ? [] : ['store:', '  driver: postgres', `  url_file: ${word(urlFile)}`]),
    '',
  ].join('\n')
}

const OPTIONS = {
  input: { type: 'boolean', default: true, describe: 'Ask; --no-input takes flags and defaults only' },
  hostname: { type: 'string', describe: 'Name of this machine towards other mail servers' },
  'bounce-domain': { type: 'string', describe: 'Domain whose MX points here, for reports' },
  'base-url': { type: 'string', describe: 'Where clients reach the API' },
  'data-dir': { type: 'string', describe: 'Folder of the database' },
  'url-file': {
    type: 'string',
    describe: 'File of the URL of a PostgreSQL database, which several daemons can share',
  },
  upstream: { type: 'string', describe: 'Mail server to relay through, as smtp://user@host:587?…' },
} as const

export const initCommand = command({
  usage: 'init',
  summary: 'Write the first configuration, and route it',
  options: OPTIONS,
  examples: [['$0 init --no-input --hostname mail.example.com --upstream smtp://mta1:25', 'from a script']],
  run: async (args, terminal) => {
    const file = resolve(args.config ?? process.env.POSTERN_CONFIG ?? DEFAULT_FILE)
    if (existsSync(file))
      throw new Refusal(73, `${file}: exists already; edit it, then: postern config check`)
    const { ask, close } = asker(args.input)
    const hostname =
      args.hostname ?? (await ask('Name of this machine towards other mail servers', systemName()))
    const answers: Answers = {
      hostname,
      bounceDomain:
        args.bounceDomain ?? (await ask('Domain for reports, its MX points here', `bounces.${hostname}`)),
      baseUrl: args.baseUrl ?? (await ask('Where clients reach the API', 'http://127.0.0.1:8080')),
      dataDir:
        args.dataDir ??
        (await ask('Folder of the database', file === DEFAULT_FILE ? '/var/lib/postern' : 'data')),
      upstream: args.upstream ?? (await ask('Mail server to relay through (smtp://…), or nothing', '')),
      // a file named on the command line is taken from where that was given
      urlFile: args.urlFile && resolve(args.urlFile),
    }
    close()
    const text = textOf(answers)
    const config = readConfig({ name: file, text }) // nothing is written that could not be read
    const members =
      answers.upstream === '' ? null : [await parseUpstream(answers.upstream, readPasswordFile, '--upstream')]
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { flag: 'wx', mode: 0o644 })
    let pool: string | null = null
    if (members !== null) {
      pool = await withContext({ config: file, json: false }, async ({ deps, account }) => {
        const row = await createPool(deps, account.id, { name: 'main', members })
        await updateWorkspace(deps, account.id, 'default', { pool: row.id })
        return row.name
      })
    }
    terminal.data({ file, data_dir: config.data_dir, pool }, () => file)
    const named = file === DEFAULT_FILE ? '' : ` --config ${file}`
    if (pool === null) terminal.say(`next: postern pool create main --upstream URL${named}`)
    terminal.say(`next: postern doctor${named} && postern serve${named}`)
    terminal.say(`then: the dashboard at ${config.base_url}; a way in: postern setup-link${named}`)
  },
})
