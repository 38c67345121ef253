/** Programs run to their end, or until they say something. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { cleanEnv, ROOT } from './postern.js'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const run = (program: string, args: readonly string[], cwd = ROOT, env = {}): Promise<Ran> =>
  new Promise((resolve) =>
    execFile(program, args, { cwd, env: cleanEnv(env), maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    ),
  )

export const must = async (program: string, args: readonly string[], cwd = ROOT, env = {}): Promise<Ran> => {
  const ran = await run(program, args, cwd, env)
  if (ran.code !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${ran.code}\n${ran.stdout}\n${ran.stderr}`)
  return ran
}

/** Every listener on a free port. */
export const FREE = {
  POSTERN_HTTP__PORT: '0',
  POSTERN_MANAGEMENT__PORT: '0',
  POSTERN_BOUNCE__PORT: '0',
  POSTERN_SUBMISSION__0__PORT: '0',
  POSTERN_SUBMISSION__1__PORT: '0',
}

/** Runs a command until it prints a line like this, and until what is awaited after that; then stops it with SIGTERM. */
export const untilSaid = async (
  command: readonly string[],
  cwd: string,
  pattern: RegExp,
  env = {},
  then: () => Promise<unknown> = async () => {},
): Promise<Ran> => {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: cleanEnv({ ...FREE, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output += `${line}\n`
      if (pattern.test(line)) void then().finally(() => child.kill())
    })
  }
  const [code] = await once(child, 'close')
  return { code: code as number, stdout: output, stderr: '' }
}
