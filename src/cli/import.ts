/**
 * NAME      import - what another service or server knows, taken along from its files
 *   Two things come by files. What says how a machine sends its mail becomes a folder for `postern apply` (import/setup-files.ts).
 *   Lists of suppressed addresses come in the forms in which services export them. Why an address is on the list and since
 *   when stays with it. Everything is read and counted before anything is stored, and a file of which too much is not
 *   understood changes nothing. An import only adds, so that to give the same file again is harmless, and goes on
 *   where the last one was broken off. No live account is asked, and no secret is an argument.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SuppressionRow } from '../store/port/tenants.js'
import { type ListPlace, takenOff } from '../tenant/suppression.js'
import { command, type Globals, type OptionArgs } from './command.js'
import { asOneOrder, type CliContext, withContext } from './context.js'
import { badInput, type ExitCode, usage } from './exit.js'
import type { Reading, WantedList } from './import/entries.js'
import { type ImportFile, openFile } from './import/file.js'
import { LIST_NAMES, PROVIDER_NAMES } from './import/providers.js'
import {
  importSetup,
  isSetupSource,
  type ProgramSource,
  SETUP_SOURCES,
  setupSourceOf,
} from './import/setup-files.js'
import { type Counts, Rows, readRows, SeenEmails } from './import/suppressions.js'
import { managementOf } from './listening.js'
import { PLACE, placeOf } from './suppression-place.js'
import { type Terminal, tellProgress, whileAt, withInterrupt } from './terminal.js'

const OPTIONS = {
  ...PLACE,
  from: {
    type: 'string',
    describe: 'Whose it is, where that is not seen: sendgrid, sendgrid/bounces, postfix, msmtp, env',
    requiresArg: true,
  },
  columns: {
    type: 'string',
    describe: 'Which column is what, from 1: email=1,reason=3,since=4; also why and expires',
    requiresArg: true,
  },
  'dry-run': { type: 'boolean', describe: 'Only say what would be added' },
  out: {
    type: 'string',
    describe: 'A folder that is made for what becomes a setup, with its secrets, for postern apply',
    requiresArg: true,
  },
  resolver: {
    type: 'string',
    describe: 'Ask this name server for MX, such as 127.0.0.1:53',
    requiresArg: true,
  },
  force: { type: 'boolean', describe: 'Go on although more than 5 % of a file is not understood' },
} as const

type Args = Globals & OptionArgs<typeof OPTIONS>

const COLUMN_NAMES = ['email', 'reason', 'since', 'why', 'expires']

const columnsOf = (text: string): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const one of text.split(',')) {
    const [, name = '', n = '0'] = /^\s*([a-z]+)=(\d{1,3})\s*$/.exec(one) ?? []
    if (!COLUMN_NAMES.includes(name) || Number(n) < 1)
      throw usage(
        `--columns: ${one} is not one of ${COLUMN_NAMES.join(', ')} with its number, such as email=1`,
      )
    found.set(name, Number(n) - 1)
  }
  if (!found.has('email')) throw usage('--columns: email=N is missing')
  return found
}

const wantedOf = ({ from, columns }: Args): WantedList => {
  const [name = null, list = null, ...more] = from?.split('/') ?? []
  if (name !== null && !PROVIDER_NAMES.includes(name))
    throw usage(`--from: ${name} is none of ${[...PROVIDER_NAMES, ...Object.keys(SETUP_SOURCES)].join(', ')}`)
  if (more.length > 0 || (list !== null && !(LIST_NAMES as readonly string[]).includes(list)))
    throw usage(`--from: ${from} names none of the lists ${LIST_NAMES.join(', ')}`)
  return { from: name, list, columns: columns === undefined ? null : columnsOf(columns) }
}

interface Counted {
  readonly file: ImportFile
  readonly reading: Reading
  readonly counts: Counts
  readonly sha256: string
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([what, n]) => `${n} ${what}`).join(', ')

/** What stands in a file, for a person who decides. */
const tellCounts = (terminal: Terminal, { file, reading, counts }: Counted): void => {
  const { provider, list, format } = reading
  const title = [provider?.title ?? 'nothing', list].filter(Boolean).join(', ')
  const packed = file.isGzip ? ', gzip' : ''
  terminal.say(`${file.name}: ${title}; ${format}, ${file.encoding}${packed}; ${counts.read} rows`)
  if (counts.by.size > 0) terminal.say(`  ${listed(counts.by)}`)
  for (const [why, n] of counts.passed) terminal.say(`  ${n} passed over: ${why}`)
  for (const [note, n] of counts.notes) terminal.say(`  ${n} with ${note}: the time of this import instead`)
  for (const { line, email, message } of counts.skipped)
    terminal.say(`line ${line}: ${email === '' ? '' : `${email}: `}${message}`)
  if (counts.bad > counts.skipped.length) terminal.say(`${counts.bad} lines in all are not understood`)
}

/** What too many bad lines mean is not known: another file, another provider, the wrong columns. */
const refuseBad = ({ file, counts }: Counted): void => {
  if (counts.bad * 20 <= counts.read) return
  throw badInput(
    `${file.name}: ${counts.bad} of ${counts.read} lines are not understood, so nothing was done; name the columns (--columns) or the provider (--from), or add --force`,
  )
}

class Import {
  readonly #context: CliContext
  readonly #place: ListPlace
  readonly #takenOff: ReadonlyMap<string, number>
  readonly #wanted: WantedList
  readonly #isBeside: boolean
  readonly #now = Date.now()
  /** One entry of the audit for each file. */
  #orders: CliContext['store']
  readonly sum = { read: 0, added: 0, changed: 0 }

  /** `isBeside`: a daemon runs on this store, whose mail comes first. */
  constructor(
    context: CliContext,
    place: ListPlace,
    off: ReadonlyMap<string, number>,
    wanted: WantedList,
    isBeside: boolean,
  ) {
    this.#context = context
    this.#isBeside = isBeside
    this.#place = place
    this.#takenOff = off
    this.#wanted = wanted
    this.#orders = context.store
  }

  #rows = (isWanted: boolean) => (): Rows => new Rows(this.#place, this.#takenOff, this.#now, isWanted)

  async count(file: ImportFile): Promise<Counted> {
    const { reading, rows } = await readRows(file, this.#wanted, this.#rows(false), async () => true)
    return { file, reading, counts: rows.counts, sha256: file.sha256 }
  }

  /** How many of these are not on their list; `seen` are those that an earlier row would put there. */
  async #wouldAdd(some: readonly SuppressionRow[], seen: SeenEmails): Promise<number> {
    const { store } = this.#context
    const held = await Promise.all(some.map(({ list, email }) => store.suppression(list, email)))
    return some.filter(({ email }, i) => {
      const there = held[i] ?? null
      const isFree = there === null || (there.expiresAt !== null && there.expiresAt <= this.#now)
      return isFree && seen.add(email)
    }).length
  }

  /** One piece, or of a dry run how many of it would be added. */
  async #take(some: readonly SuppressionRow[], sha256: string, seen: SeenEmails | null): Promise<void> {
    if (some.length === 0) return
    if (seen !== null) this.sum.added += await this.#wouldAdd(some, seen)
    else {
      const { added, changed } = await this.#orders.importSuppressions(some, sha256)
      this.sum.added += added
      this.sum.changed += changed - added
    }
  }

  /**
   * What was read last is stored while more is read. `seen` is of a dry run. False: it was interrupted.
   */
  async store({ file, sha256 }: Counted, seen: SeenEmails | null, go: (read: number) => boolean) {
    this.#orders = asOneOrder(this.#context).store
    const before = this.sum.read
    let held: SuppressionRow[] = []
    let pending: Promise<unknown> = Promise.resolve()
    let isStopped = false
    const begin = async (read: number): Promise<void> => {
      const error = await pending
      if (error !== undefined) throw error
      const rows = inOrder(held)
      held = []
      const from = this.sum.read
      const storing = async (): Promise<void> => {
        const piece = this.#isBeside ? BESIDE : PIECE
        for (let at = 0; at < rows.length && !isStopped; at += piece) {
          const began = performance.now()
          await this.#take(rows.slice(at, at + piece), sha256, seen)
          // the daemon waits for the lock of SQLite by trying again: it gets none that is taken again at once
          if (this.#isBeside) await sleep(performance.now() - began)
          const part = Math.min(1, (at + piece) / rows.length)
          this.sum.read = from + Math.floor((before + read - from) * part)
          isStopped = !go(this.sum.read)
        }
        if (!isStopped) this.sum.read = before + read
      }
      pending = storing().catch((error: unknown) => error)
    }
    const { isWhole, rows } = await readRows(
      file,
      this.#wanted,
      this.#rows(true),
      async (some, { counts }) => {
        held.push(...some)
        if (held.length >= CHUNK) await begin(counts.read)
        return !isStopped
      },
    ).finally(() => pending)
    if (isWhole) await begin(rows.counts.read)
    const error = await pending
    if (error !== undefined) throw error
    if (isWhole && !isStopped && file.sha256 !== sha256)
      throw badInput(`${file.name}: changed while it was read; what was read is stored: give it again`)
    return isWhole && !isStopped
  }
}

/**
 * By address, so that each commit writes to few places of the index of addresses, which else costs more than all the rest;
 * their ids stay in the order in which they were made, for the same reason.
 */
const inOrder = (rows: readonly SuppressionRow[]): readonly SuppressionRow[] => {
  const ids = rows.map(({ id }) => id)
  return [...rows]
    .sort((a, b) => (a.email < b.email ? -1 : a.email > b.email ? 1 : 0))
    .map((row, i) => ({ ...row, id: ids[i] as string }))
}

/** So many rows are put in order at a time, and twice as many are in memory. */
const CHUNK = 20_000
/** So many are one commit; beside a daemon fewer, so that its mail waits for short ones. */
const PIECE = 1000
const BESIDE = 250

const sumOf = (counted: readonly Counted[], of: (counts: Counts) => number): number =>
  counted.reduce((n, { counts }) => n + of(counts), 0)

const recordOf = (counted: readonly Counted[], done: Import['sum'], listed: number) => ({
  ...{ read: done.read, added: done.added, strengthened: done.changed, listed },
  passed: sumOf(counted, ({ allPassed }) => allPassed),
  bad: sumOf(counted, ({ bad }) => bad),
  skipped: counted.flatMap(({ counts }) => counts.skipped).slice(0, 10),
  files: counted.map(({ file, reading, counts, sha256 }) => ({
    ...{ file: file.name, from: reading.provider?.name ?? null, list: reading.list || null, sha256 },
    ...{ read: counts.read, by: Object.fromEntries(counts.by) },
    passed: Object.fromEntries(counts.passed),
  })),
})

const finish = (terminal: Terminal, counted: readonly Counted[], work: Import, isDry: boolean): ExitCode => {
  const { read, added, changed } = work.sum
  const all = sumOf(counted, (counts) => counts.read)
  const whole = read === all
  const out = sumOf(counted, ({ bad, allPassed }) => bad + allPassed)
  const on = whole ? read - out - added - changed : Math.max(0, read - added - changed)
  const words = [
    `${added} of ${read} ${isDry ? 'would be added' : 'added'}`,
    ...(on > 0 ? [`${on} listed already`] : []),
    ...(changed > 0 ? [`${changed} listed, and now with a stronger reason or an older date`] : []),
    ...(whole && out > 0 ? [`${out} not taken`] : []),
  ]
  terminal.data(recordOf(counted, work.sum, on), () => words.join(', '))
  if (whole) return sumOf(counted, ({ bad }) => bad) > 0 ? 65 : 0
  terminal.say(`interrupted after ${read} of ${all} lines: give the same file again for the rest`)
  return 75
}

const run = async (files: readonly ImportFile[], args: Args, terminal: Terminal, wanted: WantedList) =>
  withContext(args, async (context) => {
    const place = await placeOf(context, args)
    const isBeside = (await managementOf(context.config)) !== null
    const work = new Import(context, place, await takenOff(context.store, place), wanted, isBeside)
    const counted: Counted[] = []
    for (const file of files) {
      const one = await whileAt(terminal, `reading ${file.name}`, work.count(file))
      tellCounts(terminal, one)
      counted.push(one)
    }
    if (!args.force) counted.forEach(refuseBad)
    const progress = tellProgress(
      terminal,
      sumOf(counted, ({ read }) => read),
    )
    const isDry = args.dryRun === true
    const seen = isDry ? new SeenEmails() : null
    await withInterrupt(async (signal) => {
      const go = (read: number): boolean => {
        progress(read)
        return !signal.aborted
      }
      for (const one of counted) if (!(await work.store(one, seen, go))) break
    })
    return finish(terminal, counted, work, isDry)
  })

/** What becomes a setup; null where these are lists. */
const sourcesOf = async (
  files: readonly ImportFile[],
  args: Args,
): Promise<readonly ProgramSource[] | null> => {
  const { from } = args
  if (args.columns !== undefined || (from !== undefined && !isSetupSource(from))) return null
  const found =
    from !== undefined && isSetupSource(from)
      ? files.map(() => from)
      : await Promise.all(files.map(setupSourceOf))
  const sources = found.filter((one) => one !== null)
  if (sources.length > 0 && sources.length < files.length)
    throw usage(
      'some of these files are lists of addresses, others say how mail is sent: import them one after the other',
    )
  return sources.length > 0 ? sources : null
}

export const importCommand = command({
  usage: 'import <files..>',
  summary: 'Take along what another service or mail server has: suppressed addresses, or how it sends',
  positionals: {
    files: {
      ...{ type: 'string', array: true, demandOption: true },
      describe: 'Exports as CSV or JSON, also by gzip; main.cf, .msmtprc, env files; - is standard input',
    },
  },
  options: OPTIONS,
  examples: [
    ['$0 import bounces.csv spam_reports.csv --dry-run', 'see first what is in them'],
    ['$0 import dump.json --workspace shop', 'the workspace that sends that mail'],
    ['$0 import list.txt --columns email=2,since=1', 'a list of nobody in particular'],
    ['$0 import /etc/postfix/main.cf --out moved', 'files for postern apply, secrets beside them'],
  ],
  run: async (args, terminal) => {
    const wanted = args.from !== undefined && isSetupSource(args.from) ? null : wantedOf(args)
    const files: ImportFile[] = []
    try {
      for (const path of args.files) files.push(await openFile(path, terminal.stdin))
      const sources = await sourcesOf(files, args)
      if (sources !== null || wanted === null) {
        const wish = { ...args, paths: args.files, dryRun: args.dryRun === true }
        return await importSetup(files, sources ?? [], terminal, wish)
      }
      if (args.out !== undefined) throw usage('--out: lists of addresses go to the store, not to a folder')
      return await run(files, args, terminal, wanted)
    } finally {
      for (const file of files) await file.close()
    }
  },
})
