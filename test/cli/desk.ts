/**
 * The command line in two ways: `postern` is the built program as a child
 * process; `here` is the same without starting Node again, with streams of its own.
 * And a temporary installation without a daemon to use it on.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CliResult, here } from '../parts/here.js'
import { BIN, cleanEnv, ROOT } from '../parts/postern.js'
import { settingsOf } from '../parts/store.js'

export { here }

/** How to start it: tap hands its own loader to every Node it sees, which would cost half a second each time. */
export const command = (args: readonly string[]): readonly [string, readonly string[]] => [
  '/usr/bin/env',
  ['-u', 'NODE_OPTIONS', process.execPath, BIN, ...args],
]

export const postern = (args: readonly string[], input = '', cwd = ROOT, env = {}): Promise<CliResult> =>
  new Promise((resolve) => {
    const [file, words] = command(args)
    const child = execFile(file, words, { cwd, env: cleanEnv(env) }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr })
    })
    child.stdin?.on('error', () => {}) // it may end without reading
    child.stdin?.end(input)
  })

export interface Desk {
  readonly dir: string
  readonly configFile: string
  /** Runs a command with this installation's --config. */
  run(args: readonly string[], input?: string): Promise<CliResult>
  /** The one document that a command prints with --json. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is printed
  json(args: readonly string[], input?: string): Promise<any>
  /** Writes a file into the folder and answers its path. */
  file(name: string, text: string | Uint8Array, mode?: number): string
}

/** Of a daemon beside others: it listens on ports of its own, or not at all. */
export const QUIET = `hostname: gw.postern.test
data_dir: data
http: { port: 0 }
management: { port: 0 }
submission: []
bounce: { port: 0, domain: bounces.postern.test }
`

/** `t.teardown` removes the folder again. */
export const openDesk = (
  t: { teardown(after: () => void): void },
  settings = 'hostname: gw.postern.test\ndata_dir: data\n',
): Desk => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-cli-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const file: Desk['file'] = (name, text, mode = 0o600) => {
    writeFileSync(join(dir, name), text, { mode })
    return join(dir, name)
  }
  const { store } = /^(?:store:|\{)/m.test(settings) ? {} : settingsOf(join(dir, 'data'))
  const configFile = file('postern.yaml', store ? `${settings}store: ${JSON.stringify(store)}\n` : settings)
  const cli: Desk['run'] = (args, input = '') => here(['--config', configFile, ...args], input)
  return {
    dir,
    configFile,
    file,
    run: cli,
    json: async (args, input) => {
      const { code, stdout, stderr } = await cli([...args, '--json'], input)
      if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}
