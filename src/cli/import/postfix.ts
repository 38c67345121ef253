/**
 * NAME      postfix - what a Postfix that hands mail on comes to be here
 *   main.cf, or what `postconf -n` prints, is read as postconf(5) says: lines that go on, `$name`, `${name?text}` and their
 *   like. All lengths are bounded, since a file of strangers may name itself. Of tables the text is read that postmap(1)
 *   would read, inline: and static:. A table is looked for beside main.cf first, since the files may have been copied from
 *   another machine, and then under its own name. Other kinds are programs and databases, and are named as not read.
 *   relayhost becomes the pool of the workspace; transport maps become routes of recipients' domains; a relay by sender
 *   becomes a workspace of its own, since here the key or login of a program says which way its mail goes. Logins,
 *   TLS and its policy by next hop, fallbacks and client certificates come along.
 *   A name without brackets is looked up in DNS now, as Postfix does for each mail: its MX hosts become the upstreams, in
 *   their order. A Postfix that delivers to the MX of each recipient itself has no next hop: it can be one.
 *   What is never taken in silence is in NOT_TAKEN.
 */
import { Resolver } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { basename, join, resolve } from 'node:path'
import { isPrivateRange, parseRange } from '../../base/network.js'
import type { UpstreamTls } from '../../store/port/tenants.js'
import { MOST_DOMAIN_ROUTES, routeDomain } from '../../tenant/workspace.js'
import { badInput } from '../exit.js'
import { type Carried, type Hop, isOfSystem } from './carried.js'
import { ImportFile, textOf } from './file.js'

const LONGEST_VALUE = 65_536
const DEEPEST = 20
const MOST_LINES = 100_000

/** Lines as Postfix joins them, without comments. */
export const logicalLines = (text: string, name: string): readonly string[] => {
  const lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue
    if (/^\s/.test(line) && lines.length > 0) lines.push(`${lines.pop()} ${line.trim()}`)
    else lines.push(line.trim())
    if (lines.length > MOST_LINES) throw badInput(`${name}: has more than ${MOST_LINES} lines`)
    if ((lines.at(-1)?.length ?? 0) > LONGEST_VALUE) throw badInput(`${name}: a line is longer than 64 KiB`)
  }
  return lines
}

/** The text up to the brace that ends what begins at `at`; -1 for its end where there is none. */
const braced = (text: string, at: number): number => {
  let open = 0
  for (let i = at; i < text.length; i++) {
    if (text[i] === '{') open++
    else if (text[i] === '}' && --open === 0) return i
  }
  return -1
}

const unbraced = (text: string): string => {
  const trimmed = text.trim()
  return trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1).trim() : text
}

/** `{x}:{y}` of `${name?{x}:{y}}`. */
const branches = (text: string): readonly [string, string] => {
  const end = text.startsWith('{') ? braced(text, 0) : -1
  if (end < 0) return [text, '']
  const rest = text.slice(end + 1)
  return [text.slice(1, end), rest.startsWith(':') ? unbraced(rest.slice(1)) : '']
}

export class Parameters {
  readonly #values = new Map<string, string>()
  /** What could not be expanded. */
  readonly unknown = new Set<string>()

  static read(text: string, name: string): Parameters {
    const found = new Parameters()
    for (const line of logicalLines(text, name)) {
      const [, parameter, value] = /^([A-Za-z0-9_.-]+)\s*=\s*(.*)$/s.exec(line) ?? []
      if (parameter !== undefined) found.set(parameter, value ?? '')
    }
    return found
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** '' where it is not set. */
  get(name: string): string {
    return this.#expand(this.#values.get(name) ?? '', 0).trim()
  }

  isYes(name: string): boolean {
    return this.get(name).toLowerCase() === 'yes'
  }

  #valueOf(name: string, depth: number): string | null {
    const value = this.#values.get(name)
    if (value !== undefined) return this.#expand(value, depth + 1)
    if (name === 'mydomain' && this.#values.has('myhostname'))
      return this.#expand('$myhostname', depth + 1).replace(/^[^.]*\./, '')
    if (name === 'myorigin') return this.#valueOf('myhostname', depth + 1)
    return null
  }

  #known(name: string, depth: number): string {
    const value = this.#valueOf(name, depth)
    if (value === null) this.unknown.add(name)
    return value ?? ''
  }

  #expand(text: string, depth: number): string {
    if (!text.includes('$')) return text
    if (depth > DEEPEST) throw badInput('main.cf: its parameters name each other without an end')
    let done = ''
    for (let at = 0; at < text.length; ) {
      const [all, piece] = this.#piece(text, at, depth)
      done += piece
      at += all
      if (done.length > LONGEST_VALUE) throw badInput('main.cf: a parameter expands to more than 64 KiB')
    }
    return done
  }

  /** How long the piece at `at` is, and what it comes to be. */
  #piece(text: string, at: number, depth: number): readonly [number, string] {
    if (text[at] !== '$') {
      const next = text.indexOf('$', at)
      const end = next < 0 ? text.length : next
      return [end - at, text.slice(at, end)]
    }
    if (text[at + 1] === '$') return [2, '$']
    const [, bare] = /^([A-Za-z0-9_]+)/.exec(text.slice(at + 1, at + 200)) ?? []
    if (bare !== undefined) return [bare.length + 1, this.#known(bare, depth)]
    const end =
      text[at + 1] === '{' ? braced(text, at + 1) : text[at + 1] === '(' ? text.indexOf(')', at) : -1
    if (end < 0) return [1, '$']
    return [end + 1 - at, this.#inBraces(text.slice(at + 2, end), depth)]
  }

  #inBraces(inner: string, depth: number): string {
    const [, name, sign, rest = ''] = /^\s*([A-Za-z0-9_]+)\s*(?:([?:])(.*))?$/s.exec(inner) ?? []
    if (name === undefined) {
      this.unknown.add(`{${inner.slice(0, 60)}}`)
      return ''
    }
    if (sign === undefined) return this.#known(name, depth)
    const value = this.#valueOf(name, depth) ?? ''
    if (sign === ':') return value === '' ? this.#expand(unbraced(rest), depth + 1) : ''
    const [yes, no] = branches(rest.trim())
    return this.#expand(value === '' ? no : yes, depth + 1)
  }
}

interface Table {
  readonly entries: ReadonlyMap<string, string>
  /** What every key has that is not among them. */
  readonly everything: string | null
  /** All that it names could be read. */
  readonly isWhole: boolean
}

const AS_TEXT = ['hash', 'btree', 'lmdb', 'cdb', 'dbm', 'sdbm', 'texthash']

/** Words parted by commas or white space, of which none is within braces. */
export const listWords = (text: string): readonly string[] => {
  const words: string[] = []
  let [word, open] = ['', 0]
  for (const char of `${text} `) {
    if (open === 0 && /[\s,]/.test(char)) {
      if (word !== '') words.push(word)
      word = ''
      continue
    }
    if (char === '{') open++
    if (char === '}') open--
    word += char
  }
  return word === '' ? words : [...words, word.trim()]
}

/** A line of a table: the key ends at white space, or at the quote that ends it. */
const entryOf = (line: string): readonly [string, string] => {
  const [, quoted, bare = '', value = ''] = /^(?:"([^"]*)"|(\S+))\s*(.*)$/s.exec(line) ?? []
  return [(quoted ?? bare).toLowerCase(), value.trim()]
}

const inlineEntries = (text: string): readonly (readonly [string, string])[] =>
  listWords(text).flatMap((word) => {
    const [, key, value] = /^([^=]+?)\s*=\s*(.*)$/s.exec(unbraced(word)) ?? []
    return key === undefined ? [] : [[key.toLowerCase(), unbraced(value ?? '').trim()] as const]
  })

export class Tables {
  readonly #folder: string | null
  readonly #carried: Carried
  readonly read: string[] = []

  /** `folder` is that of main.cf; null where it came by standard input. */
  constructor(folder: string | null, carried: Carried) {
    this.#folder = folder
    this.#carried = carried
  }

  async of(parameter: string, value: string): Promise<Table> {
    const entries = new Map<string, string>()
    let [everything, isWhole]: [string | null, boolean] = [null, true]
    for (const word of listWords(value)) {
      const [, type = '', name = ''] = /^([a-z]+):(.*)$/s.exec(word) ?? []
      const found = await this.#entriesOf(parameter, type, name, word)
      if (found === null) isWhole = false
      // the first table that has a key counts
      else if (typeof found === 'string') everything ??= found
      else for (const [key, one] of found) if (!entries.has(key)) entries.set(key, one)
    }
    return { entries, everything, isWhole }
  }

  async #entriesOf(parameter: string, type: string, name: string, word: string) {
    if (type === 'static') return unbraced(name)
    if (type === 'inline') return inlineEntries(name.trim().replace(/^\{|\}$/g, ''))
    if (AS_TEXT.includes(type)) return this.#textTable(parameter, name)
    this.#carried.note(
      `${parameter}: ${word.slice(0, 80)} is not read: tables of this kind are no text; write what it says by hand`,
      true,
    )
    return null
  }

  async #textTable(parameter: string, name: string) {
    const own = this.#folder === null ? null : resolve(this.#folder, basename(name))
    const path = own !== null && existsSync(own) ? own : resolve(this.#folder ?? '.', name)
    if (!existsSync(path)) {
      const place =
        this.#folder === null ? 'there' : `there or beside main.cf (${join(this.#folder, basename(name))})`
      const isCompiled = existsSync(`${path}.db`) ? '; only its compiled form is' : ''
      this.#carried.note(`${parameter}: ${name} is not ${place}${isCompiled}`, true)
      return null
    }
    const file = await ImportFile.open(path)
    try {
      const lines = logicalLines(await textOf(file), path)
      if (!this.read.includes(path)) this.read.push(path)
      return lines.map(entryOf)
    } finally {
      await file.close()
    }
  }
}

/** Hosts that take mail for a domain, the best first; none where DNS knows none. */
export type MxLookup = (domain: string) => Promise<readonly { exchange: string; priority: number }[]>

const MOST_LOOKUPS = 100
const MOST_HOSTS = 10
const MOST_SENDERS = 100

/** Of this name server, or the system's. */
export const mxLookup = (server: string | null): MxLookup => {
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  if (server !== null) resolver.setServers([server])
  let asked = 0
  return async (domain) => {
    if (++asked > MOST_LOOKUPS) return []
    try {
      const found = await resolver.resolveMx(domain)
      return found.filter(({ exchange }) => exchange !== '').sort((a, b) => a.priority - b.priority)
    } catch {
      // no MX: the name is the host
      return []
    }
  }
}

/** What else decides how mail leaves, and what to do about it. */
const NOT_TAKEN: Readonly<Record<string, string>> = {
  sender_dependent_default_transport_maps: 'make a workspace with a pool for these senders',
  smtp_generic_maps: 'addresses are not rewritten here: programs write the sender they mean',
  canonical_maps: 'addresses are not rewritten here: programs write the sender they mean',
  sender_canonical_maps: 'addresses are not rewritten here: programs write the sender they mean',
  virtual_alias_maps: 'recipients are not rewritten here',
  masquerade_domains: 'addresses are not rewritten here: programs write the sender they mean',
  header_checks: 'headers are not changed here',
  smtp_header_checks: 'headers are not changed here',
  always_bcc: 'no copies are made here; programs add the recipient',
  sender_bcc_maps: 'no copies are made here; programs add the recipient',
  recipient_bcc_maps: 'no copies are made here; programs add the recipient',
  content_filter: 'mail goes through no filter here; a filter can be the upstream',
  smtpd_milters:
    'milters do not run here; DKIM signs: postern domain add NAME --dkim-key-file FILE --selector S',
  non_smtpd_milters:
    'milters do not run here; DKIM signs: postern domain add NAME --dkim-key-file FILE --selector S',
  smtp_bind_address: 'mail leaves from the address that the system chooses',
  smtp_bind_address6: 'mail leaves from the address that the system chooses',
  smtp_destination_rate_delay: 'write rate=N (mails a second) into the URL of the upstream',
  default_destination_rate_delay: 'write rate=N (mails a second) into the URL of the upstream',
  smtp_destination_concurrency_limit: 'write max_connections=N into the URL of the upstream',
  smtpd_sasl_auth_enable: 'names and passwords of its clients: postern credential import FILE',
  smtp_tls_secure_cert_match: 'the name in the certificate is that of the host here',
}

interface Nexthop {
  /** As it is written, for tables. */
  readonly text: string
  readonly host: string
  readonly port: number
  /** In brackets, or an address: no MX is asked for. */
  readonly isHost: boolean
}

const PORTS: Readonly<Record<string, number>> = {
  ...{ smtp: 25, mail: 25, submission: 587, smtps: 465, submissions: 465, urd: 465 },
}

const portOf = (text: string): number => PORTS[text.toLowerCase()] ?? Number(text)

const nexthopsIn = (text: string, standard: number): readonly Nexthop[] =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => {
      const [, inside, bare = '', port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(word) ?? []
      const host = (inside ?? bare).replace(/^ipv6:/i, '').toLowerCase()
      return {
        ...{ text: word.toLowerCase(), host, port: port ? portOf(port) : standard },
        isHost: inside !== undefined || isIP(host) !== 0,
      }
    })

interface Security {
  readonly tls: UpstreamTls
  readonly fingerprint?: string
}

/** `name:secret`; null where it is no login. */
const loginIn = (text: string | undefined): Hop['login'] => {
  const [, user, password] = /^([^:]+):(.*)$/s.exec(text ?? '') ?? []
  return user === undefined ? null : { user, password: password ?? '' }
}

const isPrivateHost = (host: string): boolean => {
  const range = parseRange(host)
  return host === 'localhost' || (range !== null && isPrivateRange(range))
}

export class PostfixMove {
  readonly #cf: Parameters
  readonly #tables: Tables
  readonly #mx: MxLookup
  readonly #carried: Carried
  #login: Hop['login'] = null
  #passwords: Table = { entries: new Map(), everything: null, isWhole: true }
  #policies: Table = { entries: new Map(), everything: null, isWhole: true }

  constructor(cf: Parameters, tables: Tables, mx: MxLookup, carried: Carried) {
    this.#cf = cf
    this.#tables = tables
    this.#mx = mx
    this.#carried = carried
  }

  async carry(): Promise<void> {
    const cf = this.#cf
    if (cf.isYes('smtp_sasl_auth_enable')) this.#passwords = await this.#table('smtp_sasl_password_maps')
    this.#policies = await this.#table('smtp_tls_policy_maps')
    const transports = await this.#table('transport_maps')
    await this.#main(transports.entries.get('*'))
    await this.#senders()
    await this.#transports(transports)
    this.#limits()
    this.#networks()
    for (const [name, what] of Object.entries(NOT_TAKEN))
      if (!/^(|no|0s?)$/.test(cf.get(name))) this.#carried.note(`${name} is not taken: ${what}`)
    for (const name of cf.unknown)
      this.#carried.note(
        `$${name} is not known from this file: what holds it was read as if it were empty`,
        true,
      )
  }

  async #table(parameter: string): Promise<Table> {
    return this.#tables.of(parameter, this.#cf.get(parameter))
  }

  get #port(): number {
    return this.#cf.has('smtp_tcp_port') ? portOf(this.#cf.get('smtp_tcp_port')) : 25
  }

  /** For mail that no table sends elsewhere. */
  async #main(everyone: string | undefined): Promise<void> {
    const [, , other = ''] = /^([a-z0-9_-]*):(.*)$/s.exec(this.#cf.get('default_transport')) ?? []
    const [, , all = ''] = /^([a-z0-9_-]*):(.*)$/s.exec(everyone ?? '') ?? []
    const text = all || other || this.#cf.get('relayhost')
    if (text === '') {
      this.#carried.note(
        'relayhost is empty: this Postfix hands mail to the MX of each recipient. Postern hands on to a server that does so, which this Postfix can stay: add a pool such as { upstreams: [smtp://10.0.0.5:25] }',
        true,
      )
      this.#carried.main('default')
      return
    }
    const hops = [
      ...(await this.#hops(text, null, 0)),
      ...(await this.#hops(this.#cf.get('smtp_fallback_relay') || this.#cf.get('fallback_relay'), null, 500)),
    ]
    const pool = this.#carried.pool(hops[0]?.host ?? 'relay', hops)
    if (pool !== null) this.#carried.main(pool)
  }

  /** The upstreams of next hops, one after the other. */
  async #hops(text: string, sender: string | null, first: number): Promise<readonly Hop[]> {
    const found: Hop[] = []
    let priority = first
    for (const nexthop of nexthopsIn(text, this.#port)) {
      const level = this.#securityOf(nexthop)
      for (const rank of await this.#hosts(nexthop)) {
        for (const host of rank) found.push(this.#hop(nexthop, host, level, sender, priority))
        priority++
      }
    }
    return found
  }

  #hop(nexthop: Nexthop, host: string, security: Security, sender: string | null, priority: number): Hop {
    const cf = this.#cf
    const login = this.#loginOf(nexthop, host, sender)
    const [mechanism, ...others] = listWords(cf.get('smtp_sasl_mechanism_filter').toUpperCase())
    const isChecked = security.tls === 'verify' || security.tls === 'implicit'
    const word = (name: string, parameter: string) =>
      cf.get(parameter) === '' ? {} : { [name]: cf.get(parameter) }
    const certificate = cf.get('smtp_tls_cert_file')
    return {
      ...{ host, port: nexthop.port, login },
      tls: this.#protected(security.tls, host, login !== null),
      words: {
        ...(security.fingerprint !== undefined && { fingerprint: security.fingerprint }),
        ...(isChecked && !isOfSystem(cf.get('smtp_tls_CAfile')) && word('ca_file', 'smtp_tls_CAfile')),
        ...(certificate !== '' && {
          client_cert_file: certificate,
          client_key_file: cf.get('smtp_tls_key_file') || certificate,
        }),
        ...(login !== null &&
          others.length === 0 &&
          ['PLAIN', 'LOGIN', 'CRAM-MD5'].includes(mechanism ?? '') && {
            auth_mechanism: mechanism as string,
          }),
        ...(priority > 0 && { priority }),
      },
    }
  }

  /** A password goes through TLS only, but for private networks. */
  #protected(tls: UpstreamTls, host: string, hasLogin: boolean): UpstreamTls {
    if (!hasLogin || isPrivateHost(host) || (tls !== 'none' && tls !== 'opportunistic')) return tls
    this.#carried.note(
      `${host}: TLS is required here, since a password goes there; Postfix would send it in clear`,
    )
    return 'required'
  }

  /** Ranks of hosts, the best first. */
  async #hosts({ host, isHost, text }: Nexthop): Promise<readonly (readonly string[])[]> {
    if (isHost || this.#cf.get('smtp_dns_support_level') === 'disabled') return [[host]]
    const found = (await this.#mx(host)).slice(0, MOST_HOSTS)
    if (found.length === 0) return [[host]]
    this.#carried.note(
      `${text} has no brackets: the MX hosts that it has now are the upstreams (${found.map(({ exchange }) => exchange).join(', ')}); when they change, change the pool`,
    )
    const ranks = [...new Set(found.map(({ priority }) => priority))]
    return ranks.map((rank) =>
      found.filter(({ priority }) => priority === rank).map(({ exchange }) => exchange.toLowerCase()),
    )
  }

  /** By this everywhere, whatever tables say. */
  signIn(login: Hop['login']): void {
    this.#login = login
  }

  #loginOf({ text }: Nexthop, host: string, sender: string | null): Hop['login'] {
    if (this.#login !== null) return this.#login
    if (!this.#cf.isYes('smtp_sasl_auth_enable')) return null
    const { entries, everything, isWhole } = this.#passwords
    const bySender =
      sender === null ? undefined : (entries.get(sender) ?? entries.get(sender.replace(/^.*@/, '@')))
    const login = loginIn(bySender ?? entries.get(host) ?? entries.get(text) ?? everything ?? undefined)
    if (login !== null) return login
    if (isWhole) return null
    return { user: 'FILL-IN', password: null }
  }

  /** Of smtp_tls_policy_maps, or for everything. */
  #securityOf({ text, host, port, isHost }: Nexthop): Security {
    const cf = this.#cf
    const { entries } = this.#policies
    const parents = isHost ? [] : host.split('.').map((_, i, labels) => `.${labels.slice(i + 1).join('.')}`)
    const key = [text, ...(isHost ? [] : [host]), ...parents].find((one) => entries.has(one))
    const [level = '', ...more] = listWords(key === undefined ? this.#level : (entries.get(key) ?? ''))
    const security = this.#ofLevel(level, more, text)
    if (port !== 465 && !cf.isYes('smtp_tls_wrappermode')) return security
    if (security.tls !== 'verify' && security.fingerprint === undefined)
      this.#carried.note(
        `${text}: TLS from the first byte checks the certificate here; ca_file= or fingerprint= where it is no public one`,
      )
    return { ...security, tls: 'implicit' }
  }

  get #level(): string {
    const cf = this.#cf
    if (cf.get('smtp_tls_security_level') !== '') return cf.get('smtp_tls_security_level')
    if (cf.isYes('smtp_enforce_tls'))
      return cf.get('smtp_tls_enforce_peername') === 'no' ? 'encrypt' : 'verify'
    return cf.isYes('smtp_use_tls') ? 'may' : 'none'
  }

  #ofLevel(level: string, more: readonly string[], text: string): Security {
    if (level === 'none') return { tls: 'none' }
    if (level === 'may') return { tls: 'opportunistic' }
    if (level === 'encrypt') return { tls: 'required' }
    if (level === 'verify' || level === 'secure') {
      if (more.some((word) => word.startsWith('match=')))
        this.#carried.note(
          `${text}: match= is not taken: the name in the certificate must be that of the host`,
        )
      return { tls: 'verify' }
    }
    if (level === 'fingerprint') return this.#pinned(more, text)
    if (level === 'dane' || level === 'dane-only' || level === 'half-dane')
      this.#carried.note(
        `${text}: DANE is not known here; TLS is ${level === 'dane' ? 'taken when it is offered' : 'required'}`,
      )
    else this.#carried.note(`${text}: ${level} is no TLS level that is known here; TLS is required`, true)
    return { tls: level === 'dane' ? 'opportunistic' : 'required' }
  }

  #pinned(more: readonly string[], text: string): Security {
    const given = [
      ...more.filter((word) => word.startsWith('match=')),
      this.#cf.get('smtp_tls_fingerprint_cert_match'),
    ]
    const prints = given
      .flatMap((word) => word.replace(/^match=/, '').split(/[|\s,]+/))
      .map((one) => one.replace(/:/g, ''))
    const [print, ...others] = prints.filter((one) => /^[0-9a-f]{64}$/i.test(one))
    if (print === undefined) {
      this.#carried.note(
        `${text}: its fingerprint is no SHA-256 of a certificate: add fingerprint= to the upstream`,
        true,
      )
      return { tls: 'verify' }
    }
    if (others.length > 0)
      this.#carried.note(`${text}: the first of its ${others.length + 1} fingerprints is taken`)
    return { tls: 'required', fingerprint: print.toLowerCase() }
  }

  /** Relays and logins by sender. */
  async #senders(): Promise<void> {
    const { entries } = await this.#table('sender_dependent_relayhost_maps')
    const isByLogin = this.#cf.isYes('smtp_sender_dependent_authentication')
    const logins = isByLogin ? [...this.#passwords.entries.keys()].filter((key) => key.includes('@')) : []
    const all = new Set([...entries.keys(), ...logins])
    const senders = [...all].filter((key) => key.includes('@') && entries.get(key)?.toUpperCase() !== 'DUNNO')
    if (senders.length > MOST_SENDERS)
      this.#carried.note(
        `${senders.length} senders have a relay of their own; the first ${MOST_SENDERS} are taken`,
        true,
      )
    const workspaces = new Map<string, string>()
    for (const sender of senders.slice(0, MOST_SENDERS)) {
      const hops = await this.#hops(
        entries.get(sender) ?? entries.get(sender.replace(/^.*@/, '@')) ?? this.#cf.get('relayhost'),
        isByLogin ? sender : null,
        0,
      )
      const pool = this.#carried.pool(`${hops[0]?.host ?? 'relay'}-${sender.replace(/^@/, '')}`, hops)
      if (pool === null) continue
      const known = workspaces.get(pool)
      const isAddress = !sender.startsWith('@')
      const slug =
        known ??
        this.#carried.sender(sender.replace(/^@/, ''), { pool, ...(isAddress && { default_from: sender }) })
      workspaces.set(pool, slug)
      this.#carried.note(
        `mail from ${sender} goes by the workspace ${slug}: give its program a key or login of that`,
      )
    }
  }

  async #transports({ entries }: Table): Promise<void> {
    for (const [key, value] of entries) {
      if (key === '*') continue
      const [, transport = '', nexthop = ''] = /^([a-z0-9_-]*):(.*)$/is.exec(value) ?? [undefined, value]
      if (transport === '' && nexthop === '' && !entries.has('*')) continue
      await this.#transport(key, transport.toLowerCase(), nexthop)
    }
    for (const name of ['relay_transport', 'fallback_transport'])
      if (/:./.test(this.#cf.get(name)))
        this.#carried.note(`${name} is not taken: add a route for these domains`, true)
  }

  async #transport(key: string, transport: string, nexthop: string): Promise<void> {
    const domain = key.includes('@') ? null : routeDomain(key)
    const wrong = (why: string): void => this.#carried.note(`transport of ${key} is not taken: ${why}`, true)
    if (domain === null) return wrong('routes are by domain')
    if (/^(error|discard|retry|defer|hold|local|virtual|lmtp|pipe|maildrop|cyrus|uucp)$/.test(transport))
      return wrong(`${transport}: is no server that takes mail by SMTP`)
    if (this.#carried.routes >= MOST_DOMAIN_ROUTES)
      return wrong(`at most ${MOST_DOMAIN_ROUTES} domains have a way of their own`)
    if (!/^(|smtp|relay)$/.test(transport))
      this.#carried.note(`transport of ${key}: what master.cf says of ${transport} is not read`, true)
    const own =
      transport === '' && nexthop === '' ? this.#cf.get('relayhost') : nexthop || domain.replace(/^\./, '')
    const hops = await this.#hops(own, null, 0)
    const pool = this.#carried.pool(hops[0]?.host ?? domain, hops)
    if (pool !== null) this.#carried.route(domain, pool)
  }

  #limits(): void {
    const limit = this.#cf.get('message_size_limit')
    if (/^[1-9]\d*$/.test(limit))
      this.#carried.note(
        `message_size_limit: in postern.yaml write limits: { message_size: ${limit} }, which counts the MIME text`,
      )
    const name = this.#cf.get('myhostname')
    if (name !== '')
      this.#carried.note(`myhostname: in postern.yaml write hostname: ${name}, where Postern takes its place`)
  }

  #networks(): void {
    for (const word of listWords(this.#cf.get('mynetworks'))) {
      const text = word
        .replace(/[[\]]/g, '')
        .replace(/^::ffff:([\d.]+)\/(\d+)$/i, (_, ip, bits) => `${ip}/${bits - 96}`)
      const range = parseRange(text)
      if (range === null) this.#carried.note(`mynetworks: ${word} is not taken: it is no range`, true)
      else if (!isPrivateRange(range))
        this.#carried.note(
          `mynetworks: ${word} is not taken: only private ranges send without a login here`,
          true,
        )
      else if (!this.#carried.networks.includes(text)) this.#carried.networks.push(text)
    }
  }
}
