/** The command line without a Node of its own: the same code, its streams caught. A new process takes ten times as long. */
import { PassThrough, Readable } from 'node:stream'

export interface CliResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const collected = () => {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  return { stream, text: () => text }
}

delete process.env.COLUMNS // a page of that width would be drawn

export const here = async (args: readonly string[], input = ''): Promise<CliResult> => {
  const { run } = await import('../../src/cli/main.js')
  const [stdout, stderr] = [collected(), collected()]
  const streams = { stdin: Readable.from([Buffer.from(input)]), stdout: stdout.stream, stderr: stderr.stream }
  const code = await run(args, streams)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}
