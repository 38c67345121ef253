/**
 * NAME      network - addresses of peers, and ranges of them
 *   What is loopback, what is private, and what lies in a CIDR range: the questions on which plain-text listeners and
 *   passwordless clients hang.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** `::ffff:192.0.2.1` is how a dual-stack socket spells an IPv4 client; a zone id is no part of the address. */
export const plainAddress = (ip: string): string => {
  const bare = ip.replace(/%.*$/, '')
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(bare) ? bare.slice(7) : bare
}

interface Range {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** Reads `10.0.0.0/8` or a single address; null when it is neither. */
export const parseRange = (text: string): Range | null => {
  const [address = '', bits, more] = text.trim().split('/')
  const version = isIP(address)
  if (version === 0 || more !== undefined) return null
  const max = version === 4 ? 32 : 128
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return null
  const prefix = bits === undefined ? max : Number(bits)
  return prefix <= max ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : null
}

const listOf = (...ranges: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of ranges) {
    const range = parseRange(text)
    if (range !== null) list.addSubnet(range.address, range.prefix, range.family)
  }
  return list
}

const PRIVATE: readonly Range[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
].flatMap((text) => parseRange(text) ?? [])

const LOOPBACK = listOf('127.0.0.0/8', '::1/128')

/** Tells the addresses that lie in one of these ranges; made once, asked often. */
export const rangesOf = (ranges: readonly string[]): ((ip: string) => boolean) => {
  const list = listOf(...ranges)
  return (ip) => {
    const plain = plainAddress(ip)
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
  }
}

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address, since one host owns as much. */
export const clientOf = (ip: string): string => {
  const plain = plainAddress(ip)
  if (!isIPv6(plain)) return plain
  const [head = '', tail = ''] = plain.split('::')
  const left = head.split(':')
  const zeros = plain.includes('::') ? 8 - left.length - tail.split(':').filter(Boolean).length : 0
  return [...left.filter(Boolean), ...Array<string>(Math.max(0, zeros)).fill('0'), ...tail.split(':')]
    .slice(0, 4)
    .join(':')
}

/** True when every address of the range is loopback or private. */
export const isPrivateRange = (range: Range): boolean =>
  PRIVATE.some(
    (wide) =>
      wide.family === range.family &&
      wide.prefix <= range.prefix &&
      listOf(`${wide.address}/${wide.prefix}`).check(range.address, range.family),
  )

/** `0.0.0.0` or `::`. */
export const isUnspecified = (address: string): boolean => /^[0:.]+$/.test(address)

const OWN_MS = 5_000
let own = { until: 0, list: new BlockList() }

/** Those of these addresses that an interface of this machine has; what is told is at most 5 seconds old. */
export const ownAddresses = (addresses: readonly string[]): readonly string[] => {
  const now = performance.now()
  if (own.until <= now) {
    const list = listOf('127.0.0.0/8')
    for (const one of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
      list.addAddress(one.address.replace(/%.*$/, ''), one.family === 'IPv4' ? 'ipv4' : 'ipv6')
    own = { until: now + OWN_MS, list }
  }
  return addresses.filter((one) => own.list.check(one, isIPv4(one) ? 'ipv4' : 'ipv6'))
}

/** True for `localhost` and loopback addresses. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, isIPv4(host) ? 'ipv4' : 'ipv6'))
