/**
 * NAME      admission - who is behind the proxy (PROXY protocol), and how many connections each client holds
 *     A TCP proxy puts a header before the first byte of a connection, also before a TLS handshake. It is read here to
 *     its last byte and not beyond: what follows is the client's. `LOCAL`, `UNKNOWN` and address families other than
 *     TCP over IP carry no client: the proxy itself is asking whether we live.
 *     The header proves nothing by itself; server.ts reads it from trusted addresses only.
 *   NOTES
 *     Fields of version 2 after the addresses (TLVs) are passed over, their checksum too: it guards against what TCP
 *     has guarded against.
 *   Counts by a key (an address, a credential) up to a limit. An owner, such as one connection, holds one key at a
 *   time, and giving back twice is harmless: a count that leaks would shut a client out for good.
 */
import { isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net'

interface ProxyHeader {
  readonly length: number
  /** The client's address in its usual spelling; null for the proxy itself. */
  readonly client: string | null
}

const V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V1 = Buffer.from('PROXY ', 'latin1')
/** The longest line of version 1, with its end. */
const LONGEST_V1 = 107
/** Version 2 may say 65,535; a certificate of the client, which some proxies add, fits in this. */
const LONGEST_V2 = 8_192
const HEAD_V2 = 16
const PORT = /^(?:0|[1-9]\d{0,4})$/

const isPort = (text: string | undefined): boolean => PORT.test(text ?? '') && Number(text) <= 65_535

const spelled = (address: string, family: 'ipv4' | 'ipv6'): string =>
  new SocketAddress({ address, family }).address

const readV1 = (bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' => {
  const end = bytes.subarray(0, LONGEST_V1).indexOf('\r\n')
  if (end === -1) return bytes.length < LONGEST_V1 ? 'incomplete' : 'invalid'
  const length = end + 2
  const [, family, from = '', to = '', fromPort, toPort, ...more] = bytes
    .toString('latin1', 0, end)
    .split(' ')
  if (family === 'UNKNOWN') return { length, client: null }
  if (more.length > 0 || !isPort(fromPort) || !isPort(toPort)) return 'invalid'
  if (family === 'TCP4' && isIPv4(from) && isIPv4(to)) return { length, client: spelled(from, 'ipv4') }
  // a zone means something on the proxy only
  if (family === 'TCP6' && isIPv6(from) && isIPv6(to) && !from.includes('%'))
    return { length, client: spelled(from, 'ipv6') }
  return 'invalid'
}

/** TCP over IPv4 and IPv6: octets of both addresses and ports, and those of one address. */
const FAMILIES: ReadonlyMap<number, readonly [all: number, one: number]> = new Map([
  [0x11, [12, 4]],
  [0x21, [36, 16]],
])

const addressIn = (octets: Buffer): string => {
  if (octets.length === 4) return octets.join('.')
  const groups = Array.from({ length: 8 }, (_, i) => octets.readUInt16BE(i * 2).toString(16))
  return spelled(groups.join(':'), 'ipv6')
}

const readV2 = (bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' => {
  if (bytes.length < HEAD_V2) return 'incomplete'
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const length = HEAD_V2 + bytes.readUInt16BE(14)
  if (command !== 0x20 && command !== 0x21) return 'invalid'
  if (family >> 4 > 3 || (family & 15) > 2 || length > LONGEST_V2) return 'invalid'
  const sizes = command === 0x20 ? undefined : FAMILIES.get(family)
  if (sizes !== undefined && length < HEAD_V2 + sizes[0]) return 'invalid'
  if (bytes.length < length) return 'incomplete'
  const client = sizes === undefined ? null : addressIn(bytes.subarray(HEAD_V2, HEAD_V2 + sizes[1]))
  return { length, client }
}

const begins = (bytes: Buffer, mark: Buffer): boolean => {
  const size = Math.min(bytes.length, mark.length)
  return bytes.subarray(0, size).equals(mark.subarray(0, size))
}

export const parseProxyHeader = (bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' => {
  if (begins(bytes, V2)) return readV2(bytes)
  return begins(bytes, V1) ? readV1(bytes) : 'invalid'
}

/** Reads the header off the socket and leaves the rest there; rejects with what is wrong, in words. */
export const takeProxyHeader = (socket: Socket, within: number): Promise<ProxyHeader> =>
  new Promise((resolve, reject) => {
    let seen: Buffer = Buffer.alloc(0)
    const settle = (act: () => void): void => {
      clearTimeout(timer)
      socket.off('readable', read)
      socket.off('end', gone)
      socket.off('close', gone)
      act()
    }
    const refuse = (words: string): void => settle(() => reject(new Error(words)))
    const gone = (): void => refuse('the connection ended before its PROXY header')
    const read = (): void => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        seen = Buffer.concat([seen, chunk])
        const header = parseProxyHeader(seen)
        if (header === 'incomplete') continue
        if (header === 'invalid') refuse('the connection did not begin with a PROXY header')
        else {
          if (seen.length > header.length) socket.unshift(seen.subarray(header.length))
          settle(() => resolve(header))
        }
        return
      }
    }
    const timer = setTimeout(() => refuse('no PROXY header came in time'), within).unref()
    socket.on('readable', read)
    socket.on('end', gone)
    socket.on('close', gone)
  })

export class Tally {
  private readonly counts = new Map<string, number>()
  private readonly held = new Map<object, string>()
  /** Keys that were refused since they were last without any. */
  private readonly refused = new Set<string>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** False when the key has as many as it may. What the owner held before is given back. */
  take(key: string, owner: object): boolean {
    this.release(owner)
    const count = this.counts.get(key) ?? 0
    if (count >= this.most) return false
    this.counts.set(key, count + 1)
    this.held.set(owner, key)
    return true
  }

  release(owner: object): void {
    const key = this.held.get(owner)
    if (key === undefined) return
    this.held.delete(owner)
    const count = this.counts.get(key) ?? 0
    if (count > 1) this.counts.set(key, count - 1)
    else {
      this.counts.delete(key)
      this.refused.delete(key)
    }
  }

  /** True the first time that this key is refused, so that a flood is one line in the log. */
  isNews(key: string): boolean {
    if (this.refused.has(key)) return false
    this.refused.add(key)
    return true
  }
}
