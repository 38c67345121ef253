/**
 * Plays a dialogue file against a door. Lines of such a file:
 *   # words          a comment
 *   @ NAME           which door: a listener's name in doors.ts, `bounce`, or `product` (product.ts)
 *   C: TEXT          the client says a line (CRLF is added)
 *   C! TEXT          the client sends exactly this, no CRLF added
 *   S: TEXT          the server says exactly this line
 *   S~ PATTERN       the server says a line that matches from end to end
 *   S= 250           the server says a whole reply with this code, however long
 *   TLS              the client starts TLS now
 *   CLOSED           the server closes the connection
 *   TAKEN n          n mails (or reports) were kept so far
 *   REVOKE id        that login is revoked
 *   FULL, ROOM       from now on nothing can be stored; it can again
 * In what the client sends, \r \n \0 \xHH are octets, {x100 TEXT} is TEXT a hundred times,
 * and {b64 TEXT} is base64. $WORD stands for what the door says of it ($PASSWORD is the right
 * password), or for what a group (?<WORD>...) of an earlier pattern matched.
 */
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../parts/eventually.js'
import { type ListenerName, openBounceDoor, openDoor, PASSWORD } from '../smtp/doors.js'
import { openProduct } from './product.js'

const octets = (text: string): string =>
  text.replace(/\\(?:r|n|0|x([0-9a-fA-F]{2}))/g, (all, hex: string | undefined) =>
    hex !== undefined
      ? String.fromCharCode(Number.parseInt(hex, 16))
      : all === '\\r'
        ? '\r'
        : all === '\\n'
          ? '\n'
          : '\0',
  )

const MACRO = /\{(?:x(\d+)|b64) ([^{}]*)\}/

/** What a C line sends, as bytes in a latin1 string; macros may hold macros. */
const expand = (text: string): string => {
  let sent = octets(Buffer.from(text, 'utf8').toString('latin1'))
  for (let found = MACRO.exec(sent); found !== null; found = MACRO.exec(sent)) {
    const [all, times, inner = ''] = found
    sent = sent.replace(all, () =>
      times === undefined ? Buffer.from(inner, 'latin1').toString('base64') : inner.repeat(Number(times)),
    )
  }
  return sent
}

/** The client's end: lines that came, and waiting for more. */
class Client {
  readonly lines: string[] = []
  closed = false
  private partial = ''
  private socket: Socket

  constructor(socket: Socket) {
    this.socket = this.listen(socket)
  }

  private listen(socket: Socket): Socket {
    socket.setEncoding('latin1')
    socket.setNoDelay(true)
    socket.on('data', (chunk: string) => {
      const parts = (this.partial + chunk).split('\r\n')
      this.partial = parts.pop() ?? ''
      this.lines.push(...parts)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
    })
    return socket
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  async line(): Promise<string> {
    await eventually('the door says something', () => this.lines.length > 0 || this.closed, { every: 1 })
    return this.lines.shift() ?? '(closed)'
  }

  async untilClosed(): Promise<void> {
    await eventually('the door hangs up', () => this.closed, { every: 1 })
  }

  async startTls(): Promise<void> {
    this.socket.removeAllListeners()
    const secure = connectTls({ socket: this.socket, rejectUnauthorized: false })
    await once(secure, 'secureConnect')
    this.socket = this.listen(secure)
  }

  destroy(): void {
    this.socket.destroy()
  }
}

export interface Played {
  /** Every line that the server said. */
  readonly said: readonly string[]
  /** One sentence for each expectation that failed. */
  readonly faults: readonly string[]
}

const openNamed = async (name: string) => {
  if (name === 'product') return openProduct()
  if (name === 'bounce') {
    const { door, reports, port } = await openBounceDoor()
    const nothing = (): void => {}
    return {
      port,
      words: {},
      count: () => reports.length,
      revoke: nothing,
      fill: nothing,
      close: () => door.stop(),
    }
  }
  const { door, taken, port } = await openDoor(name as ListenerName)
  return {
    port,
    words: { PASSWORD },
    count: () => taken.mails.length,
    revoke: (id: string) => taken.revoked.add(id),
    fill: (full: boolean) => {
      taken.full = full
    },
    close: () => door.stop(),
  }
}

export const play = async (script: string): Promise<Played> => {
  const said: string[] = []
  const faults: string[] = []
  const steps = script
    .split('\n')
    .map((text, i) => ({ text, at: i + 1 }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'))
  const name = steps.shift()?.text.slice(2) ?? ''
  const door = await openNamed(name)
  const words = new Map<string, string>(Object.entries(door.words))
  const filled = (text: string): string =>
    text.replace(/\$([A-Z]+)/g, (all, word: string) => words.get(word) ?? all)
  const client = new Client(connectTcp(door.port, '127.0.0.1'))
  if (name === 'implicit') await client.startTls()
  const hear = async (): Promise<string> => {
    const line = await client.line()
    said.push(line)
    return line
  }
  const check = (at: number, holds: boolean, got: string): void => {
    if (!holds) faults.push(`line ${at}: got ${JSON.stringify(got)}`)
  }
  for (const { text, at } of steps) {
    const rest = filled(text.slice(3))
    if (text.startsWith('C: ')) client.send(`${expand(rest)}\r\n`)
    else if (text.startsWith('C! ')) client.send(expand(rest))
    else if (text.startsWith('S: ')) {
      const line = await hear()
      check(at, line === rest, line)
    } else if (text.startsWith('S~ ')) {
      const line = await hear()
      const found = new RegExp(`^(?:${rest})$`).exec(line)
      check(at, found !== null, line)
      for (const [word, value] of Object.entries(found?.groups ?? {})) words.set(word, value)
    } else if (text.startsWith('S= ')) {
      let line = await hear()
      while (line[3] === '-') line = await hear()
      check(at, line.startsWith(rest), line)
    } else if (text === 'TLS') await client.startTls()
    else if (text === 'CLOSED') {
      await client.untilClosed()
      check(at, client.lines.length === 0, client.lines.join(' | '))
    } else if (text.startsWith('TAKEN ')) {
      const count = await door.count()
      check(at, count === Number(text.slice(6)), String(count))
    } else if (text.startsWith('REVOKE ')) await door.revoke(text.slice(7))
    else if (text === 'FULL' || text === 'ROOM') door.fill(text === 'FULL')
    else check(at, false, `an unknown step: ${text}`)
    if (faults.length > 0) break
  }
  client.destroy()
  await door.close()
  return { said, faults }
}
