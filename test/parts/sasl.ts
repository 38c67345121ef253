/**
 * Just enough of Dovecot's authentication protocol to let a Postfix check logins
 * (SASL PLAIN), without a Dovecot.
 */
import { createServer, type Server } from 'node:net'

export interface Sasl {
  close(): void
}

const verdict = (line: string, user: string, password: string): string | null => {
  const [verb, id, , ...words] = line.split('\t')
  if (verb !== 'AUTH') return null
  const given = words.find((word) => word.startsWith('resp='))?.slice(5) ?? ''
  const [, name, secret] = Buffer.from(given, 'base64').toString().split('\0')
  return name === user && secret === password ? `OK\t${id}\tuser=${user}\n` : `FAIL\t${id}\tuser=${name}\n`
}

/** Listens on a path, for everybody on this machine. */
export const sasl = async (path: string, user: string, password: string): Promise<Sasl> => {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(
      'VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t00112233445566778899aabbccddeeff\nDONE\n',
    )
    let rest = ''
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const answer = verdict(line, user, password)
        if (answer !== null) socket.write(answer)
      }
    })
  })
  const before = process.umask(0)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  process.umask(before)
  return { close: () => void server.close() }
}
