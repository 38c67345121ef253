/**
 * NAME      setup-files - files that say how a machine sends its mail, made into a setup
 *   main.cf of a Postfix, settings of small clients, variables of relay images, tables of a Postal: none of them is a list of
 *   addresses, and none of them touches the store. They become a folder that `postern apply` reads.
 *   Without a folder only the text is shown, and no secret is written anywhere.
 */
import { dirname, join } from 'node:path'
import { isPrivateRange, parseRange } from '../../base/network.js'
import { loadDkimKey } from '../../mail/dkim.js'
import { writeExport } from '../../setup/export.js'
import { normalDomain } from '../../tenant/domain/domain.js'
import { badInput, type ExitCode, Refusal, usage } from '../exit.js'
import { STDIN, type Terminal } from '../terminal.js'
import { Carried } from './carried.js'
import { carryImage, carryMsmtp, carryNullmailer, carrySsmtp, isOfImage } from './clients.js'
import { type ImportFile, NotUtf8, textOf } from './file.js'
import { mxLookup, Parameters, PostfixMove, Tables } from './postfix.js'

const MOST_ROWS = 10_000
/** What Postal puts before the identifier of a domain, unless its postal.yml says another word. */
const IDENTIFIER = 'postal'

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '', '\\': '\\' }

type Row = ReadonlyMap<string, string>

/** Rows by the names of their columns; NULL is no value. */
const rowsIn = (text: string, name: string): readonly Row[] => {
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '')
  const columns = head.split('\t')
  if (lines.length > MOST_ROWS) throw badInput(`${name}: has more than ${MOST_ROWS} rows`)
  return lines.map(
    (line) =>
      new Map(
        line.split('\t').flatMap((cell, i) => {
          const column = columns[i]
          if (column === undefined || cell === 'NULL' || cell === '\\N') return []
          return [[column, cell.replace(/\\([ntr0\\])/g, (_, char: string) => ESCAPES[char] ?? '')]]
        }),
      ),
  )
}

const isPostalDomains = (head: string): boolean =>
  head.includes('\t') && /(^|\t)dkim_private_key(\t|$)/.test(head) && /(^|\t)name(\t|$)/.test(head)

const isPostalCredentials = (head: string): boolean =>
  head.includes('\t') && ['key', 'type', 'name'].every((one) => head.split('\t').includes(one))

const whyNoKey = (pem: string): string | null => {
  try {
    loadDkimKey(pem)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

const carryPostalDomains = (text: string, name: string, carried: Carried): void => {
  for (const row of rowsIn(text, name)) {
    const domain = normalDomain(row.get('name') ?? '')
    const identifier = row.get('dkim_identifier_string')
    const pem = row.get('dkim_private_key')
    if (domain === null) carried.note(`${(row.get('name') ?? '').slice(0, 80)} is no domain`, true)
    else if (carried.hasDomain(domain)) carried.note(`${domain} stands there again: its first key is taken`)
    else if (pem === undefined || identifier === undefined)
      carried.note(`${domain} has no DKIM key there: postern domain add ${domain} makes one`, true)
    else {
      const why = whyNoKey(pem)
      if (why === null) carried.domain(domain, `${IDENTIFIER}-${identifier}`.toLowerCase(), pem)
      else carried.note(`${domain}: its DKIM key is not taken: ${why}`, true)
    }
  }
}

const carryPostalCredentials = (text: string, name: string, carried: Carried): void => {
  let keys = 0
  for (const row of rowsIn(text, name)) {
    const [type, label = '', key = ''] = [row.get('type'), row.get('name'), row.get('key')]
    const range = parseRange(key)
    if (row.get('hold') === '1') carried.note(`${label} is held there and is not taken`)
    else if (type === 'SMTP-IP' && range !== null && isPrivateRange(range)) carried.networks.push(key)
    else if (type === 'SMTP-IP')
      carried.note(`${label}: ${key} is not taken: only private ranges send without a login here`, true)
    else if (type === 'API') keys++
    else if (type !== 'SMTP' || key === '') carried.note(`${label} is no credential for SMTP`, true)
    else {
      const username = carried.credential(label, key)
      carried.note(`${label}: its client logs in as ${username} now, with the password that it has`)
    }
  }
  if (keys > 0)
    carried.note(
      `${keys} keys of its HTTP API are not taken, since ours have another form: postern key create`,
      true,
    )
}

/** What a file of settings may be, as `--from` names it. */
export const SETUP_SOURCES = {
  postfix: 'Postfix',
  msmtp: 'msmtp',
  ssmtp: 'ssmtp',
  nullmailer: 'nullmailer',
  env: 'variables of a relay image',
  'postal/domains': 'Postal, domains',
  'postal/credentials': 'Postal, credentials',
} as const

export type ProgramSource = keyof typeof SETUP_SOURCES

export const isSetupSource = (name: string): name is ProgramSource => Object.hasOwn(SETUP_SOURCES, name)

const ofMainCf =
  /^(relayhost|smtpd?_[a-z_]+|my(hostname|origin|networks|destination)|transport_maps|compatibility_level|inet_(interfaces|protocols)|sender_dependent_[a-z_]+|default_transport)\s*=/m

const sourceIn = (text: string, name: string): ProgramSource | null => {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*(#|$)/.test(line))
  const [head = ''] = lines
  if (isPostalDomains(head)) return 'postal/domains'
  if (isPostalCredentials(head)) return 'postal/credentials'
  const variables = lines.flatMap((line) => /^(?:export\s+)?([A-Z][A-Za-z0-9_]*)=/.exec(line)?.[1] ?? [])
  if (variables.some(isOfImage)) return 'env'
  if (/^mailhub\s*=/im.test(text)) return 'ssmtp'
  if (/^[a-z0-9_]+\s*=/.test(head) && ofMainCf.test(text)) return 'postfix'
  if (/^(defaults|account\s+\S.*|host\s+\S+)$/.test(head.trim()) && /^\s*host\s+\S/m.test(text))
    return 'msmtp'
  return name === 'remotes' && /^\S+\s+smtp(\s|$)/.test(head) ? 'nullmailer' : null
}

/** Null: it is a list, as far as its beginning says. */
export const setupSourceOf = async (file: ImportFile): Promise<ProgramSource | null> => {
  try {
    for await (const text of file.text())
      if (text.trim() !== '') return sourceIn(text.slice(0, 65_536), file.name)
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error
  }
  return null
}

interface Wish {
  readonly paths: readonly string[]
  readonly workspace: string
  readonly out: string | undefined
  readonly resolver: string | undefined
  readonly dryRun: boolean
}

const carryOne = async (
  file: ImportFile,
  source: ProgramSource,
  path: string,
  carried: Carried,
  resolver: string | undefined,
): Promise<readonly string[]> => {
  const text = await textOf(file)
  const tables = new Tables(path === STDIN ? null : dirname(path), carried)
  const mx = mxLookup(resolver ?? null)
  if (source === 'postfix') {
    await new PostfixMove(Parameters.read(text, file.name), tables, mx, carried).carry()
    return tables.read
  }
  if (source === 'env') await carryImage(text, file.name, tables, mx, carried)
  const carry = {
    ...{ msmtp: carryMsmtp, ssmtp: carrySsmtp, nullmailer: carryNullmailer },
    ...{ 'postal/domains': carryPostalDomains, 'postal/credentials': carryPostalCredentials },
  }
  if (source !== 'env') carry[source](text, file.name, carried)
  return []
}

/** Ranges that may send without a password are never taken without a person who says so. */
const askNetworks = async (terminal: Terminal, carried: Carried): Promise<void> => {
  const { networks } = carried
  if (networks.length === 0) return
  const what = `let ${networks.join(', ')} send without a password, by credentials of the workspace ${carried.workspace}`
  try {
    await terminal.confirm(what, false)
    carried.open(networks)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const fields = networks.map((cidr) => `${carried.workspace}/NAME: { cidr: ${cidr} }`).join(', ')
    carried.note(
      `${networks.join(', ')} sent without a password there and may not here: nobody was asked, or said no. In credentials: ${fields}, on a listener with ip_credentials: true`,
    )
  }
}

const told = (carried: Carried): string =>
  Object.entries(carried.counts)
    .flatMap(([what, n]) => (n > 0 ? [`${n} ${n === 1 ? what.replace(/s$/, '') : what}`] : []))
    .join(', ') || 'nothing'

/** The folder, with everything in it or not at all. */
const write = (folder: string, carried: Carried, text: string): void => {
  const files = new Map(carried.files)
  if (carried.hasText) files.set(`${carried.name}.yaml`, text)
  writeExport(folder, { files })
}

export const importSetup = async (
  files: readonly ImportFile[],
  sources: readonly ProgramSource[],
  terminal: Terminal,
  wish: Wish,
): Promise<ExitCode> => {
  const [first] = sources
  const name = first?.replace(/\/.*/, '') ?? ''
  if (sources.some((one) => one.replace(/\/.*/, '') !== name))
    throw usage('give files of one program at a time')
  const carried = new Carried(name, wish.workspace)
  for (const [i, file] of files.entries()) {
    const source = sources[i] as ProgramSource
    terminal.say(`${file.name}: ${SETUP_SOURCES[source]}`)
    const read = await carryOne(file, source, wish.paths[i] ?? STDIN, carried, wish.resolver)
    for (const path of read) terminal.say(`${path}: read`)
  }
  await askNetworks(terminal, carried)
  for (const { text, isOpen } of carried.notes) terminal.say(`${isOpen ? '!' : '-'} ${text}`)
  const text = carried.text(
    `${files.map((file) => file.name).join(', ')} (${SETUP_SOURCES[first as ProgramSource]})`,
  )
  const folder = wish.dryRun ? undefined : wish.out
  if (folder !== undefined) write(folder, carried, text)
  const record = {
    ...{ object: 'setup_import', from: name, folder: folder ?? null, ...carried.counts },
    ...{ notes: carried.notes.map(({ text, isOpen }) => ({ text, open: isOpen })), setup: text },
  }
  const written = [...(carried.hasText ? [`${name}.yaml`] : []), ...carried.files.keys()]
  terminal.data(record, () =>
    folder === undefined ? text : written.map((one) => join(folder, one)).join('\n'),
  )
  terminal.say(
    folder === undefined
      ? `${told(carried)}; --out FOLDER writes them, and their secrets beside them`
      : `${told(carried)}`,
  )
  if (folder !== undefined && carried.hasText)
    terminal.say(`next: read it, then: postern apply ${folder} --dry-run`)
  return carried.isOpen ? 65 : 0
}
