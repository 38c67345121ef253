/** A name server that knows the TXT records, IPv4 addresses and MX hosts it was told, and nothing else. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const NAME_AT = 12
const A = 1
const MX = 15
const TXT = 16

const nameIn = (query: Buffer): { readonly name: string; readonly end: number } => {
  const labels: string[] = []
  let at = NAME_AT
  while (query[at] !== 0) {
    const length = query[at] ?? 0
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 }
}

const strings = (value: string): Buffer =>
  Buffer.concat(
    (value.match(/.{1,200}/gs) ?? []).flatMap((part) => [Buffer.from([part.length]), Buffer.from(part)]),
  )

const nameOctets = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

export class DnsServer {
  readonly txt = new Map<string, string>()
  /** Asked at each query, so that an answer can differ from the one before. */
  readonly a = new Map<string, () => string>()
  /** Preference and host, one for each record. */
  readonly mx = new Map<string, readonly (readonly [number, string])[]>()
  /** Answers SERVFAIL to everything. */
  failing = false
  /** Answers nothing at all. */
  silent = false
  port = 0
  readonly #socket = createSocket('udp4')

  async start(): Promise<this> {
    this.#socket.on('message', (query, from) => {
      if (!this.silent) this.#socket.send(this.#answer(query), from.port, from.address)
    })
    this.#socket.bind(0, '127.0.0.1')
    await once(this.#socket, 'listening')
    this.port = this.#socket.address().port
    return this
  }

  stop(): void {
    this.#socket.close()
  }

  #answer(query: Buffer): Buffer {
    const { name, end } = nameIn(query)
    const type = query.readUInt16BE(end - 4)
    const found = this.#found(type, name)
    const head = Buffer.from(query.subarray(0, NAME_AT))
    const code = this.failing ? 2 : found.length === 0 ? 3 : 0
    head.writeUInt16BE(0x8180 | code, 2)
    head.writeUInt16BE(this.failing ? 0 : found.length, 6)
    head.writeUInt32BE(0, 8)
    const question = query.subarray(NAME_AT, end)
    if (code !== 0) return Buffer.concat([head, question])
    const records = found.map((data) =>
      Buffer.concat([
        Buffer.from([0xc0, NAME_AT, 0, type, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 255]),
        data,
      ]),
    )
    return Buffer.concat([head, question, ...records])
  }

  /** What stands in each record. */
  #found(type: number, name: string): readonly Buffer[] {
    const address = type === A ? this.a.get(name)?.() : undefined
    if (address !== undefined) return [Buffer.from(address.split('.').map(Number))]
    const text = type === TXT ? this.txt.get(name) : undefined
    if (text !== undefined) return [strings(text)]
    return (type === MX ? (this.mx.get(name) ?? []) : []).map(([preference, host]) =>
      Buffer.concat([Buffer.from([preference >> 8, preference & 255]), nameOctets(host)]),
    )
  }
}
