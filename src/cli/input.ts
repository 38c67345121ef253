/**
 * NAME      input - files that a command reads
 * DESCRIPTION
 *   `-` is standard input. It is read as a stream, since /dev/stdin can not be
 *   opened when it is a socket, which is what many parents hand down.
 */
import { readFile } from 'node:fs/promises'

export const STDIN = '-'

export const readStdin = async (): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const readInput = (file: string): Promise<Buffer> => (file === STDIN ? readStdin() : readFile(file))

export const readInputText = async (file: string): Promise<string> => (await readInput(file)).toString('utf8')
