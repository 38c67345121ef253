/**
 * NAME      ports - can the listeners listen, and does the daemon answer?
 */
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import type { Config, ListenAddress } from '../../config/config.js'
import { type Check, type Facts, type Finding, fail, ok } from './finding.js'

interface Listener extends ListenAddress {
  readonly name: string
}

export const listeners = (config: Config): readonly Listener[] =>
  [
    { name: 'http', ...config.http },
    { name: 'management', ...config.management },
    ...config.submission.map((one, i) => ({ name: `submission.${i}`, ...one })),
    { name: 'bounce', ...config.bounce },
  ].map(({ name, host, port }) => ({ name, host, port }))

/** The code of the error, or null when it works. */
export const tryListen = ({ host, port }: ListenAddress): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })

const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

const tryConnect = ({ host, port }: ListenAddress): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: 3_000 })
    const end = (code: string | null): void => {
      socket.destroy()
      resolve(code)
    }
    socket.once('connect', () => end(null))
    socket.once('timeout', () => end('ETIMEDOUT'))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
  })

const blocked = ({ name, host, port }: Listener, code: string): Finding => {
  const where = `${name} ${host}:${port}`
  if (code === 'EADDRINUSE')
    return fail('ports', `${where} is taken by another program`, `ss -ltnp 'sport = :${port}'`, 69)
  if (code === 'EACCES') {
    const remedy = 'use the socket units, or sysctl net.ipv4.ip_unprivileged_port_start=25'
    return fail('ports', `${where} is closed to this user`, remedy, 77)
  }
  if (code === 'EADDRNOTAVAIL')
    return fail('ports', `${where} is not an address of this machine`, `set ${name}.host`, 78)
  return fail('ports', `${where}: ${code}`, `set ${name}.host and ${name}.port`, 78)
}

const checkListening = async (all: readonly Listener[]): Promise<readonly Finding[]> => {
  const found: Finding[] = []
  for (const one of all) {
    const code = await tryConnect(one)
    if (code === null) continue
    const detail = `the daemon runs, but ${one.name} ${one.host}:${one.port} does not answer (${code})`
    found.push(fail('ports', detail, 'systemctl restart postern', 69))
  }
  return found
}

export const checkPorts: Check = async ({ config, running }) => {
  const fixed = listeners(config).filter(({ port }) => port !== 0)
  const taken = fixed.filter((one, i) =>
    fixed.some((other, j) => j < i && other.port === one.port && other.host === one.host),
  )
  const twice = taken.map(({ name, host, port }) =>
    fail('ports', `${name} ${host}:${port} is configured twice`, `set ${name}.port`, 78),
  )
  if (running) {
    const silent = await checkListening(fixed)
    return silent.length > 0 ? silent : [ok('ports', `all ${fixed.length} listeners answer`)]
  }
  const found: Finding[] = [...twice]
  for (const one of fixed.filter((listener) => !taken.includes(listener))) {
    const code = await tryListen(one)
    if (code !== null) found.push(blocked(one, code))
  }
  return found.length > 0 ? found : [ok('ports', `all ${fixed.length} listeners are free to use`)]
}

export const askManagement = (
  { host, port }: ListenAddress,
  path: string,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request({ host: reachable(host), port, path, timeout: 5_000 }, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve({ status: answer.statusCode ?? 0, text })
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', reject)
    asked.end()
  })

/** What the daemon itself says of its health. */
export const checkDaemon: Check = async ({ config, running }: Facts) => {
  if (!running) return [ok('daemon', 'is not running')]
  if (config.management.port === 0) return [ok('daemon', 'is running')]
  try {
    const { status, text } = await askManagement(config.management, '/readyz')
    if (status === 200) return [ok('daemon', 'is running and ready')]
    return [fail('daemon', `is not ready: ${text.slice(0, 200)}`, 'journalctl -u postern -n 50', 75)]
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return [fail('daemon', `is running, but does not answer: ${said}`, 'systemctl restart postern', 69)]
  }
}
