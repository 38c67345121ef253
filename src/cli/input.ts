/**
 * NAME      input - what a command is given to read
 * DESCRIPTION
 *   `-` is standard input. It is read as a stream, since /dev/stdin can not be
 *   opened when it is a socket, which is what many parents hand down.
 */

export const STDIN = '-'

/** All of it. */
export const readStream = async (stream: NodeJS.ReadableStream): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
