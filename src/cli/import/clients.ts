/**
 * NAME      clients - the smart host of a small mail client, or of a relay image
 *   ~/.msmtprc with its accounts, ssmtp.conf, nullmailer's remotes, and the variables of images that relay. Each account
 *   becomes one upstream; those beside the first have a workspace of their own. No command that stands in a file is ever
 *   run: where one prints the password, the text says FILL-IN.
 */
import type { UpstreamTls } from '../../store/port/tenants.js'
import { type Carried, type Hop, isOfSystem } from './carried.js'
import { listWords, logicalLines, type MxLookup, Parameters, PostfixMove, type Tables } from './postfix.js'

const unquoted = (text: string): string => /^(["'])(.*)\1$/s.exec(text.trim())?.[2] ?? text.trim()

const isOn = (text: string | undefined): boolean => /^(on|yes|true|1)$/i.test(text ?? '')

/** TLS as a client has it that checks certificates or does not. */
const tlsOf = (isFirst: boolean, isStartTls: boolean, isChecked: boolean): UpstreamTls =>
  isFirst ? 'implicit' : !isStartTls ? 'none' : isChecked ? 'verify' : 'required'

/** A password that goes beyond this machine is protected. */
const withLogin = (carried: Carried, hop: Hop): Hop => {
  if (hop.login === null || hop.tls !== 'none' || /^(localhost|127\.|::1$)/.test(hop.host)) return hop
  carried.note(`${hop.host}: TLS is required here, since a password goes there`)
  return { ...hop, tls: 'required' }
}

type Words = Map<string, string>

/** Accounts by their names, in the order of the file; with what `defaults` said before them. */
const accountsIn = (lines: readonly string[], carried: Carried): ReadonlyMap<string, Words> => {
  const accounts = new Map<string, Words>()
  let defaults: Words = new Map()
  let current = defaults
  for (const line of lines) {
    const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(line) ?? []
    if (word === 'defaults') {
      defaults = new Map()
      current = defaults
    } else if (word === 'account') {
      const [name = '', bases = ''] = rest.split(':').map((part) => part.trim())
      current = new Map(defaults)
      for (const base of bases.split(',').map((one) => one.trim()))
        for (const [key, value] of accounts.get(base) ?? []) current.set(key, value)
      accounts.set(unquoted(name), current)
    } else if (word === 'eval') carried.note('eval: a command is never run; write its line by hand', true)
    else current.set(word, unquoted(rest))
  }
  return accounts.size > 0 ? accounts : new Map([['default', defaults]])
}

/** What an account may say that changes nothing here. */
const MSMTP_NOTES: Readonly<Record<string, string>> = {
  proxy_host: 'no proxy is used for upstreams',
  source_ip: 'mail leaves from the address that the system chooses',
  domain: 'the name in EHLO is hostname of postern.yaml',
  socket: 'a socket is no upstream',
}

const msmtpLogin = (name: string, words: Words, carried: Carried): Hop['login'] => {
  const [auth = 'off', user] = [words.get('auth'), words.get('user')]
  if (/^(off|no|external)$/.test(auth) || user === undefined) return null
  const password = words.get('password')
  if (password === undefined && words.has('passwordeval'))
    carried.note(
      `account ${name}: passwordeval is a command and is never run; run it yourself into a file`,
      true,
    )
  return { user, password: password ?? null }
}

const msmtpHop = (name: string, words: Words, carried: Carried): Hop | null => {
  const host = words.get('host')
  if (host === undefined || host === '') return null
  const isTls = isOn(words.get('tls'))
  const isFirst = isTls && words.get('tls_starttls') === 'off'
  const print = words.get('tls_fingerprint')?.replace(/:/g, '').toLowerCase()
  const isPinned = print !== undefined && /^[0-9a-f]{64}$/.test(print)
  if (print !== undefined && !isPinned)
    carried.note(`account ${name}: tls_fingerprint is no SHA-256: add fingerprint= to the upstream`, true)
  const isChecked = words.get('tls_certcheck') !== 'off' && !isPinned
  if (isFirst && !isChecked && !isPinned)
    carried.note(`account ${name}: TLS from the first byte checks the certificate here`, true)
  const authorities = words.get('tls_trust_file') ?? 'system'
  for (const [word, what] of Object.entries(MSMTP_NOTES))
    if (words.has(word)) carried.note(`account ${name}: ${word} is not taken: ${what}`)
  const tls = tlsOf(isFirst, isTls, isChecked)
  const mechanism = words.get('auth')?.toUpperCase() ?? ''
  const certificate = words.get('tls_cert_file')
  return withLogin(carried, {
    ...{ host: host.toLowerCase(), port: Number(words.get('port') ?? (isFirst ? 465 : 25)), tls },
    login: msmtpLogin(name, words, carried),
    words: {
      ...(isPinned && { fingerprint: print }),
      ...(isChecked && isTls && !isOfSystem(authorities) && { ca_file: authorities }),
      ...(certificate !== undefined && {
        client_cert_file: certificate,
        client_key_file: words.get('tls_key_file') ?? certificate,
      }),
      ...(['PLAIN', 'LOGIN', 'CRAM-MD5'].includes(mechanism) && { auth_mechanism: mechanism }),
    },
  })
}

export const carryMsmtp = (text: string, name: string, carried: Carried): void => {
  const accounts = accountsIn(logicalLines(text, name), carried)
  const first = accounts.has('default') ? 'default' : [...accounts.keys()][0]
  const pools = new Set<string>()
  const sorted = [...accounts].sort(([a], [b]) => Number(b === first) - Number(a === first))
  for (const [account, words] of sorted) {
    const hop = msmtpHop(account, words, carried)
    const pool = hop === null ? null : carried.pool(hop.host, [hop])
    if (hop === null) carried.note(`account ${account} is not taken: it has no host`, account === first)
    if (pool === null) continue
    if (account === first) carried.main(pool)
    else if (!pools.has(pool)) {
      const from = words.get('from')
      const isAddress = from !== undefined && /^[^@\s%*]+@[^@\s%*]+$/.test(from)
      const slug = carried.sender(account, { pool, ...(isAddress && { default_from: from }) })
      carried.note(`account ${account} is the workspace ${slug}: give its programs a key or login of that`)
    }
    pools.add(pool)
  }
}

const settingsIn = (text: string, name: string): Words =>
  new Map(
    logicalLines(text, name).flatMap((line) => {
      const [, word, value] = /^(?:export\s+)?([A-Za-z0-9_]+)\s*=\s*(.*)$/s.exec(line) ?? []
      return word === undefined ? [] : [[word, unquoted(value ?? '')] as const]
    }),
  )

export const carrySsmtp = (text: string, name: string, carried: Carried): void => {
  const words = new Map([...settingsIn(text, name)].map(([word, value]) => [word.toLowerCase(), value]))
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(words.get('mailhub') ?? '') ?? []
  if (host === '') carried.note('mailhub is missing: there is no server to hand mail on to', true)
  const isStart = isOn(words.get('usestarttls'))
  const isFirst = isOn(words.get('usetls')) && !isStart
  const user = words.get('authuser')
  const password = words.get('authpass')
  const authorities = words.get('tls_ca_file') ?? 'system'
  const hop = withLogin(carried, {
    ...{ host: host.toLowerCase(), port: Number(port ?? (isFirst ? 465 : 25)) },
    tls: tlsOf(isFirst, isStart, false),
    login: user === undefined ? null : { user, password: password ?? null },
    words: { ...(isFirst && !isOfSystem(authorities) && { ca_file: authorities }) },
  })
  if (words.has('rewritedomain'))
    carried.note(
      'rewriteDomain is not taken: addresses are not rewritten here: programs write the sender they mean',
    )
  const pool = host === '' ? null : carried.pool(hop.host, [hop])
  if (pool !== null) carried.main(pool)
}

export const carryNullmailer = (text: string, name: string, carried: Carried): void => {
  const hops = logicalLines(text, name).flatMap((line, i) => {
    const [host = '', protocol = 'smtp', ...rest] = line.split(/\s+/)
    if (protocol !== 'smtp') carried.note(`${host}: ${protocol} is no SMTP`, true)
    const words = new Map(
      rest.map((word) => [word.replace(/^--|=.*$/gs, ''), unquoted(word.replace(/^[^=]*=?/, ''))]),
    )
    const isFirst = words.has('ssl') || (words.has('tls') && !words.has('starttls'))
    const user = words.get('user')
    const authorities = words.get('x509cafile') ?? 'system'
    const isChecked = !words.has('insecure')
    const hop: Hop = {
      ...{ host: host.toLowerCase(), port: Number(words.get('port') ?? (isFirst ? 465 : 25)) },
      tls: tlsOf(isFirst, words.has('starttls'), isChecked),
      login: user === undefined ? null : { user, password: words.get('pass') ?? null },
      words: {
        ...(isChecked &&
          (isFirst || words.has('starttls')) &&
          !isOfSystem(authorities) && { ca_file: authorities }),
        ...(i > 0 && { priority: i }),
      },
    }
    return protocol === 'smtp' ? [withLogin(carried, hop)] : []
  })
  const pool = carried.pool(hops[0]?.host ?? 'relay', hops)
  if (pool !== null) carried.main(pool)
}

/** Names that relay images have for one thing; the first that is set counts. */
const IMAGES: readonly {
  readonly host: string
  readonly port?: string
  readonly user: string
  readonly password: string
}[] = [
  { host: 'RELAYHOST', user: 'RELAYHOST_USERNAME', password: 'RELAYHOST_PASSWORD' },
  { host: 'RELAY_HOST', port: 'RELAY_PORT', user: 'RELAY_USERNAME', password: 'RELAY_PASSWORD' },
  {
    host: 'SMARTHOST_ADDRESS',
    port: 'SMARTHOST_PORT',
    user: 'SMARTHOST_USER',
    password: 'SMARTHOST_PASSWORD',
  },
  {
    host: 'SMARTHOST_HOST',
    port: 'SMARTHOST_PORT',
    user: 'SMARTHOST_USERNAME',
    password: 'SMARTHOST_PASSWORD',
  },
  { host: 'EXIM4_SMARTHOST', user: 'EXIM4_SMARTHOST_USER', password: 'EXIM4_SMARTHOST_PASSWORD' },
  { host: 'SMTP_SERVER', port: 'SMTP_PORT', user: 'SMTP_USERNAME', password: 'SMTP_PASSWORD' },
]

/** Services that an image knows by the user alone. */
const serviceHost = (words: Words): readonly [host: string, names: string] | null => {
  if (words.has('GMAIL_USER')) return ['[smtp.gmail.com]:587', 'GMAIL']
  if (!words.has('SES_USER')) return null
  const region = words.get('SES_REGION') ?? 'us-east-1'
  return [`[email-smtp.${region}.amazonaws.com]:${words.get('SES_PORT') ?? 587}`, 'SES']
}

export const isOfImage = (name: string): boolean =>
  /^(POSTFIX_relayhost|GMAIL_USER|SES_USER)$/.test(name) || IMAGES.some(({ host }) => host === name)

const NETWORKS = ['POSTFIX_mynetworks', 'MYNETWORKS', 'RELAY_NETS', 'RELAY_NETWORKS', 'SMTP_NETWORKS']

/** Their values may be what a shell would run; nothing is. */
const isShell = (text: string | undefined): boolean => /`|\$[({A-Za-z_]/.test(text ?? '')

const relayOf = (words: Words) => {
  const service = serviceHost(words)
  if (service !== null)
    return { host: service[0], user: `${service[1]}_USER`, password: `${service[1]}_PASSWORD` }
  const image = IMAGES.find(({ host }) => words.has(host))
  if (image === undefined) return { host: words.get('POSTFIX_relayhost') ?? '', user: '', password: '' }
  const [, host = '', port] = /^(.*?)(?:::(\d+))?$/s.exec(words.get(image.host) ?? '') ?? []
  const given = port ?? (image.port === undefined ? undefined : words.get(image.port))
  // only Postfix asks for MX
  const isPostfix = image.host === 'RELAYHOST'
  return {
    ...{ user: image.user, password: image.password },
    host:
      isPostfix || host.startsWith('[') || host === ''
        ? host
        : `[${host}]${given === undefined ? '' : `:${given}`}`,
  }
}

/** As the Postfix of such an image would have it: what its variables say is what main.cf would say. */
export const carryImage = async (
  text: string,
  name: string,
  tables: Tables,
  mx: MxLookup,
  carried: Carried,
) => {
  const words = settingsIn(text, name)
  const cf = new Parameters()
  const { host, user, password } = relayOf(words)
  const login = words.get(user)
  cf.set(
    'smtp_tls_security_level',
    words.get('RELAYHOST_TLS_LEVEL') ?? (login === undefined ? 'may' : 'encrypt'),
  )
  for (const [word, value] of words) if (word.startsWith('POSTFIX_')) cf.set(word.slice(8), value)
  cf.set('relayhost', host)
  const networks = NETWORKS.flatMap((word) =>
    listWords((words.get(word) ?? '').replace(/^:|:(?=\d+\.)/g, ' ')),
  )
  cf.set('mynetworks', networks.join(' '))
  for (const [word, value] of words)
    if (isShell(value)) carried.note(`${word}: holds what a shell would run or fill in; nothing is run`, true)
  for (const word of words.keys())
    if (/^XOAUTH2_/.test(word))
      carried.note(
        `${word} is not taken: postern upstream add takes --client-id, --client-secret-file, --refresh-token-file`,
        true,
      )
  const move = new PostfixMove(cf, tables, mx, carried)
  if (login !== undefined) {
    const secret = words.get(password)
    const file = words.get(`${password}_FILE`)
    move.signIn({
      user: login,
      password: isShell(secret) ? null : (secret ?? null),
      ...(secret === undefined && file !== undefined && { passwordFile: file }),
    })
  }
  await move.carry()
}
