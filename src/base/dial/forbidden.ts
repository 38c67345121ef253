/**
 * NAME      forbidden - addresses that a URL from outside must not lead us to
 * DESCRIPTION
 *   Whoever may name a URL that we call (webhooks) must not reach this machine or
 *   its network through us. An address is judged as what it stands for: the IPv4
 *   address inside a mapped, NAT64, 6to4 or otherwise translated IPv6 address is
 *   judged itself. `allow` opens ranges that are closed by default; nothing opens
 *   our own listeners.
 */
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainAddress, rangesOf } from '../network.js'

const REFUSED_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/128',
  '::1/128',
  '64:ff9b:1::/48', // NAT64 of a network's own: leads to its inside
  '100::/64',
  '2001::/32', // Teredo: an IPv4 address in disguise
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const

const isRefused = rangesOf(REFUSED_RANGES)
const isOfThisHost = rangesOf(['0.0.0.0/8', '127.0.0.0/8', '::/127'])

/** The eight groups of an IPv6 address, as numbers. */
const groupsOf = (address: string): readonly number[] => {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex = (high = '0', low = '0'): string => (Number(high) * 256 + Number(low)).toString(16)
  const text =
    dotted === null ? address : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`
  const [head = '', tail] = text.split('::')
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const left = read(head)
  const right = tail === undefined ? [] : read(tail)
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<number>(Math.max(0, zeros)).fill(0), ...right]
}

const ipv4 = (high = 0, low = 0): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

/** Prefixes of IPv6 that carry an IPv4 address, and the group where it starts. */
const CARRIERS: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], at: 6 }, // ::ffff:0:0/96, mapped
  { prefix: [0, 0, 0, 0, 0xffff, 0], at: 6 }, // ::ffff:0:0:0/96, translated
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 }, // 64:ff9b::/96, NAT64
  { prefix: [0x2002], at: 1 }, // 2002::/16, 6to4
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 }, // ::/96, compatible, long out of use
]

/** The IPv4 address that an IPv6 address carries, else the address itself; without a zone. */
export const unmapped = (address: string): string => {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  const groups = groupsOf(plain)
  const carrier = CARRIERS.find(({ prefix }) => prefix.every((group, i) => groups[i] === group))
  return carrier === undefined ? plain : ipv4(groups[carrier.at], groups[carrier.at + 1])
}

export interface DialRules {
  /** Ranges that may be called though they are refused by default; plain http is for them alone. */
  readonly allow: readonly string[]
  /** Where we listen ourselves; asked at each connection. */
  readonly ownPorts: () => readonly number[]
  /** The setting that `allow` comes from, for who is refused. */
  readonly setting?: string
  /** Ranges of another setting, which do not count here, though somebody may believe so. */
  readonly elsewhere?: { readonly setting: string; readonly allow: readonly string[] }
}

export type Judge = (address: string, port: number, isTls: boolean) => string | null

const isOurs = (address: string): boolean =>
  isOfThisHost(address) ||
  Object.values(networkInterfaces()).some((list) =>
    list?.some((one) => unmapped(one.address).toLowerCase() === address.toLowerCase()),
  )

/** Tells why an address must not be called, in the words that follow its name and "is" or "leads to"; null when it may be. */
export const createJudge = ({
  allow,
  ownPorts,
  setting = 'webhook.allow_networks',
  elsewhere,
}: DialRules): Judge => {
  const isAllowed = rangesOf(allow)
  const isAllowedElsewhere = rangesOf(elsewhere?.allow ?? [])
  const remedyFor = (address: string): string =>
    elsewhere !== undefined && isAllowedElsewhere(address)
      ? `${setting} allows ranges; those of ${elsewhere.setting} do not count here`
      : `${setting} allows ranges`
  return (address, port, isTls) => {
    const real = unmapped(address)
    if (ownPorts().includes(port) && isOurs(real)) return 'this very server, which is not called'
    if (isAllowed(real)) return null
    if (isRefused(real) || isRefused(address))
      return `a private or reserved address, which is not called (${remedyFor(real)})`
    return isTls ? null : 'an address that is called by https only'
  }
}
