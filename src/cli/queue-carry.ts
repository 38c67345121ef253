/**
 * NAME      queue-carry - the queue, moved to another machine
 *   `export` marks what waits as a lot, in small commits, and then writes that lot
 *   and nothing else to a file; from the mark on it is not sent from here. Mails of
 *   which something is under way or held stay, and are told. `import` looks through
 *   the whole file before it stores anything, and passes over ids that are here
 *   already, so a file may be imported twice. A lot ends in one of two ways:
 *   `forget` once the other machine has it, `take-back` when it was not imported
 *   anywhere. All of them may be cut off and run again.
 *   One JSON object a line: first {postern_queue: 1, lot, exported_at}, then a mail each (port/operations.ts; `raw` in
 *   base64), last {end: true, mails}. Mode 0600: it holds what people wrote. It has its name only when it is whole. Who
 *   imports it leaves FILE.imported beside it, so that nobody else does and the machine it came from does not take it
 *   back, where both see the same folder. Nothing in it is believed before it is looked at: its ids become names of
 *   files and keys of rows.
 */
import { createReadStream, existsSync, readFileSync, renameSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock, toRfc3339 } from '../base/clock.js'
import { Fault, orElse } from '../base/fault.js'
import { syncFolder, writeWhole } from '../base/folder.js'
import { isId, isRecipientId, newId } from '../base/id.js'
import { wellFormed } from '../mail/encoding.js'
import { STATUSES } from '../mail/status.js'
import {
  type CarriedMail,
  type CarryTarget,
  EXPORTED,
  type LotRow,
  type LotState,
  type QueueScope,
} from '../store/port/operations.js'
import { queueMatches } from '../tenant/orders.js'
import type { OptionArgs } from './command.js'
import { type CliContext, storeCommand } from './context.js'
import { Refusal } from './exit.js'
import { listing, whole } from './list.js'
import { namesOf, queueDeps, SCOPE, scopeFor, scopeText } from './queue-scope.js'
import { AGO } from './table.js'
import { type Terminal, tellProgress, whileAt } from './terminal.js'

const FORMAT = 1

interface QueueFileWriter {
  add(mail: CarriedMail): Promise<void>
  /** Gives it its name. */
  finish(): Promise<void>
  /** Leaves nothing behind, unless it is finished. */
  discard(): Promise<void>
}

/** Made under another name, so that a folder that takes no files is told before anything is marked. */
const createQueueFile = async (file: string, lot: string): Promise<QueueFileWriter> => {
  const draft = `${file}.${lot}.part`
  const out = await open(draft, 'wx', 0o600)
  let mails = 0
  const line = (value: object) => out.write(`${JSON.stringify(value)}\n`)
  await line({ postern_queue: FORMAT, lot, exported_at: toRfc3339(systemClock.now()) })
  return {
    async add(mail) {
      await line({ ...mail, raw: mail.raw === null ? null : Buffer.from(mail.raw).toString('base64') })
      mails++
    },
    async finish() {
      await line({ end: true, mails })
      await out.sync()
      await out.close()
      await rename(draft, file)
      syncFolder(dirname(file))
    },
    async discard() {
      await out.close().catch(() => {})
      await rm(draft, { force: true })
    },
  }
}

const badLine = (file: string, line: number, what: string): Refusal =>
  new Refusal(65, `${file}:${line}: ${what}`)

type Value = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whoever wrote it may have kept text that a store keeps no more. */
const parsed = (text: string): unknown =>
  orElse(() => JSON.parse(text, (_, value) => (typeof value === 'string' ? wellFormed(value) : value)), null)

/** The last moment of the year 9999; every other number of a row is far smaller. */
const LAST = 253_402_300_799_999

const isNumber = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LAST

const isRow = (value: unknown): value is Value =>
  isObject(value) &&
  Object.values(value).every((one) => one === null || typeof one === 'string' || isNumber(one))

const everyOne = (value: unknown, is: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(is)
const isText = (value: unknown): boolean => typeof value === 'string'

/** What every reader of a mail takes for granted of the lists in its row. */
const areLists = (value: unknown): boolean =>
  isObject(value) &&
  [value.to, value.cc, value.bcc, value.replyTo].every((list) => everyOne(list, isText)) &&
  everyOne(value.tags, (tag) => isObject(tag) && isText(tag.name) && isText(tag.value)) &&
  everyOne(value.attachments, isObject)

const isStatus = (value: unknown): boolean => (STATUSES as readonly unknown[]).includes(value)
const WAITING: readonly unknown[] = ['scheduled', 'queued', 'deferred']
const has = (row: Value, type: 'string' | 'number', ...names: readonly string[]): boolean =>
  names.every((name) => typeof row[name] === type)

/** What is wrong with a line that should be a mail, or null. */
const faultIn = ({ id, workspace, pool, email, recipients, events, content, raw }: Value): string | null => {
  if (typeof id !== 'string' || typeof workspace !== 'string' || typeof pool !== 'string')
    return 'is no mail: id, workspace and pool are missing'
  if (!isId('em', id)) return 'its id is no id of a mail (em_ and 26 characters)'
  if (raw !== null && typeof raw !== 'string') return 'raw is no text'
  if (content !== null && typeof content !== 'string') return 'content is no text'
  if (!isRow(email) || email.id !== id || !isStatus(email.status)) return 'email does not fit its id'
  if (
    !has(email, 'string', 'message_id', 'sender', 'subject', 'lists') ||
    !has(email, 'number', 'created_at')
  )
    return 'email is not complete'
  if (!areLists(parsed(String(email.lists)))) return 'email.lists does not hold the lists of a mail'
  if ((email.scheduled_at ?? null) !== null && !has(email, 'number', 'scheduled_at'))
    return 'email.scheduled_at is no time'
  if (!Array.isArray(recipients) || recipients.length === 0) return 'has no recipients'
  for (const one of recipients as readonly unknown[]) {
    if (
      !isRow(one) ||
      one.email_id !== id ||
      !isStatus(one.status) ||
      !has(one, 'string', 'address') ||
      !has(one, 'number', 'attempts', 'queued_at', 'updated_at')
    )
      return 'a recipient does not fit its mail'
    if (typeof one.id !== 'string' || !isRecipientId(one.id))
      return 'the id of a recipient is none (16 characters)'
    if ((one.held ?? null) !== null && (one.held !== EXPORTED || !WAITING.includes(one.status)))
      return 'a recipient is held and not exported'
  }
  const own = new Set((recipients as readonly Value[]).map((one) => one.id))
  if (!Array.isArray(events)) return 'has no events'
  for (const one of events as readonly unknown[]) {
    if (!isRow(one) || one.email_id !== id || !has(one, 'string', 'type'))
      return 'an event does not fit its mail'
    if (typeof one.id !== 'string' || !isId('evt', one.id))
      return 'the id of an event is none (evt_ and 26 characters)'
    if ((one.recipient_id ?? null) !== null && !own.has(one.recipient_id))
      return 'an event is about a recipient of another mail'
  }
  return null
}

/** The lot in the first line of a file. */
const lotIn = (head: Value | null, file: string): string => {
  if (head?.postern_queue !== FORMAT) throw badLine(file, 1, 'is no export of a queue, or of a newer Postern')
  if (typeof head.lot !== 'string' || !isId('lot', head.lot)) throw badLine(file, 1, 'lot is no id of a lot')
  return head.lot
}

interface Line {
  readonly line: number
  readonly lot: string | null
  /** Null in the first line. */
  readonly mail: CarriedMail | null
}

/** The lot, then every mail of the file, with the number of its line. Throws unless the file is whole. */
const readQueueFile = async function* (file: string): AsyncGenerator<Line> {
  let line = 0
  let mails = 0
  let ended = false
  let lot: string | null = null
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++
    if (text === '') continue
    const value = parsed(text)
    if (!isObject(value)) throw badLine(file, line, 'is no JSON object')
    if (line === 1) {
      lot = lotIn(value, file)
      yield { line, lot, mail: null }
    } else if (value.end === true) {
      ended = value.mails === mails
    } else {
      const fault = faultIn(value)
      if (fault !== null) throw badLine(file, line, fault)
      mails++
      const raw = value.raw === null ? null : Buffer.from(String(value.raw), 'base64')
      yield { line, lot, mail: { ...(value as unknown as CarriedMail), raw } }
    }
  }
  if (!ended) throw badLine(file, line, 'the file ends early; export again')
}

/** Who imported a file, as the note beside it says. */
interface ImportNote {
  readonly account: string
  readonly host: string
  readonly at: string
}

const importNoteOf = (file: string): string => `${file}.imported`

const readImportNote = (file: string): ImportNote | null => {
  const note = importNoteOf(file)
  if (!existsSync(note)) return null
  const value = parsed(readFileSync(note, 'utf8'))
  const { account, host, at } = isObject(value) ? value : {}
  return { account: String(account), host: String(host ?? 'another machine'), at: String(at ?? 'some time') }
}

/** False where the folder takes no files. */
const writeImportNote = (file: string, account: string): boolean => {
  const note: ImportNote = { account, host: hostname(), at: toRfc3339(systemClock.now()) }
  try {
    writeWhole(importNoteOf(file), `${JSON.stringify(note)}\n`)
    syncFolder(dirname(file))
    return true
  } catch {
    return false
  }
}

const { workspace, pool, email, all } = SCOPE
const PARTS = { workspace, pool, email, all }

const scopeOf = (context: CliContext, verb: string, args: OptionArgs<typeof PARTS>): Promise<QueueScope> =>
  scopeFor(context, verb, { ...args, domain: undefined, upstream: undefined })

/** Ids of all mails of a lot. */
const mailsOf = async function* ({ store }: CliContext, lot: string): AsyncGenerator<string> {
  const seen = new Set<string>()
  for (let after: string | null = ''; after !== null; ) {
    const { ids, next }: { ids: readonly string[]; next: string | null } = await store.exported(lot, after)
    for (const id of ids) {
      if (!seen.has(id)) yield id
      seen.add(id)
    }
    after = next
  }
}

const writeLot = async (context: CliContext, lot: LotRow, scope: QueueScope, out: QueueFileWriter) => {
  const { store } = context
  await store.addLot(lot)
  const recipients = await store.markLot(lot.id, scope, `exported to ${lot.file}`, systemClock.now())
  let mails = 0
  for await (const id of mailsOf(context, lot.id)) {
    const mail = await store.carried(id)
    if (mail === null) continue
    await out.add(mail)
    mails++
  }
  // first the state: whoever takes the lot back from now on knows that there is a file
  if (!(await store.closeLot(lot.id))) throw new Fault('resource.conflict', { reason: 'lot_ended' })
  await out.finish()
  return { mails, recipients }
}

const sayNext = (terminal: Terminal, file: string, lot: string): void => {
  terminal.say(`next, on the other machine: postern queue import ${file}`)
  terminal.say(`then, on this one: postern queue forget ${lot}`)
  terminal.say(`if it is not imported anywhere: postern queue take-back ${lot}`)
}

export const exportQueue = storeCommand({
  usage: 'export <file>',
  summary: 'Write what waits to a file, to be sent by another machine and no more by this one',
  positionals: { file: { type: 'string', demandOption: true, describe: 'The file to make' } },
  options: PARTS,
  destroys: true,
  examples: [['$0 queue export --all queue.jsonl --yes', 'take the queue along']],
  run: async (context, args, terminal) => {
    const { store, account } = context
    const file = resolve(args.file)
    if (existsSync(file)) throw new Refusal(73, `${file}: exists already`)
    const scope = await scopeOf(context, 'export', args)
    const count = await queueMatches(queueDeps(context), scope)
    const where = scopeText(scope, await namesOf(context))
    terminal.say(`${where}: ${count.waiting} waiting, ${count.held} held, ${count.underWay} under way`)
    for (const { id, state } of await store.lots(account.id))
      if (state === 'marking') terminal.say(`an export was cut off: postern queue take-back ${id}`)
    if (args.dryRun) {
      terminal.data({ lot: null, file, mails: 0, waiting: count.waiting, dry_run: true }, () => {
        return `would export ${count.waiting} recipients of ${where}`
      })
      return
    }
    await terminal.confirm(`export ${where}; this machine will not send it`, args.yes)
    const now = systemClock.now()
    const id = newId('lot', now)
    const lot: LotRow = { id, accountId: account.id, file, state: 'marking', createdAt: now }
    terminal.say(`lot ${lot.id}`)
    const out = await createQueueFile(file, lot.id)
    const writing = writeLot(context, lot, scope, out).catch(async (error: unknown) => {
      await out.discard()
      terminal.say(`not exported; what is marked already: postern queue take-back ${lot.id}`)
      throw error
    })
    const { mails } = await whileAt(terminal, 'writing', writing)
    const { waiting, held, underWay: under_way } = await queueMatches(queueDeps(context), scope)
    const record = { lot: lot.id, file, mails, waiting, under_way, held, dry_run: false }
    terminal.data(record, () => `${file}  ${mails} mails`)
    const stayed = waiting + under_way + held
    if (stayed > 0)
      terminal.say(
        `${stayed} recipients stayed here: mail that is held, or under way; ` +
          'postern queue release --help, then export to another file',
      )
    if (mails > 0) sayNext(terminal, args.file, lot.id)
  },
})

const LOT = { type: 'string', demandOption: true, describe: 'As postern queue lots shows it' } as const

const lotNamed = async ({ store, account }: CliContext, ref: string): Promise<LotRow> => {
  const found = isId('lot', ref) ? await store.lot(account.id, ref) : null
  if (found === null) throw new Refusal(65, `there is no lot ${ref}; postern queue lots shows what there is`)
  return found
}

const STATE_WORDS: Readonly<Record<LotState, string>> = {
  marking: 'was cut off before its file was whole',
  exported: 'was exported',
  taken_back: 'was taken back: its mail is sent from here',
  forgotten: 'was forgotten: another machine has its mail',
  imported: 'came here from another machine',
}

const refuseState = ({ id }: LotRow, state: LotState): Refusal => {
  const instead = state === 'marking' ? `; postern queue take-back ${id}` : ''
  return new Refusal(65, `lot ${id} ${STATE_WORDS[state]}${instead}`)
}

const countMails = async (context: CliContext, lot: string): Promise<number> => {
  let mails = 0
  for await (const _ of mailsOf(context, lot)) mails++
  return mails
}

const refuseImported = ({ id, file }: LotRow): void => {
  const note = readImportNote(file)
  if (note === null) return
  throw new Refusal(
    65,
    `lot ${id} was imported by ${note.host} at ${note.at} (${importNoteOf(file)}); ` +
      `postern queue forget ${id}, or remove that note if nothing was stored there`,
  )
}

/** From here on nobody can import it by its name. */
const setFileAside = ({ file }: LotRow): string | null => {
  if (!existsSync(file)) return null
  renameSync(file, `${file}.taken-back`)
  return `${file}.taken-back`
}

export const takeBack = storeCommand({
  usage: 'take-back <lot>',
  summary: 'Send an exported lot from here after all; only when its file was not imported',
  positionals: { lot: LOT },
  destroys: true,
  examples: [['$0 queue take-back lot_01… --yes', '']],
  run: async (context, args, terminal) => {
    const lot = await lotNamed(context, args.lot)
    if (lot.state === 'forgotten' || lot.state === 'imported') throw refuseState(lot, lot.state)
    refuseImported(lot)
    const mails = await countMails(context, lot.id)
    const record = { lot: lot.id, mails, changed: 0, dry_run: args.dryRun === true }
    if (args.dryRun) return terminal.data(record, () => `would take back ${mails} mails`)
    await terminal.confirm(`take back ${mails} mails of ${lot.id}, written to ${lot.file}`, args.yes)
    const aside = setFileAside(lot)
    refuseImported(lot)
    const changed = await context.store.endLot(lot.id, 'taken_back', systemClock.now())
    if (typeof changed === 'string') throw refuseState(lot, changed)
    terminal.data({ ...record, changed }, () => `${mails} mails are due here again`)
    if (aside !== null) terminal.say(`${aside} is of no more use: remove it, it holds what people wrote`)
  },
})

export const forget = storeCommand({
  usage: 'forget <lot>',
  summary: 'Give up an exported lot that another machine has imported; it ends here as canceled',
  positionals: { lot: LOT },
  destroys: true,
  examples: [['$0 queue forget lot_01… --yes', '']],
  run: async (context, args, terminal) => {
    const lot = await lotNamed(context, args.lot)
    if (lot.state !== 'exported' && lot.state !== 'forgotten') throw refuseState(lot, lot.state)
    const mails = await countMails(context, lot.id)
    const record = { lot: lot.id, mails, changed: 0, dry_run: args.dryRun === true }
    if (args.dryRun) return terminal.data(record, () => `would forget ${mails} mails`)
    await terminal.confirm(`forget ${mails} mails of ${lot.id}: this machine never sends them`, args.yes)
    const changed = await context.store.endLot(lot.id, 'forgotten', systemClock.now())
    if (typeof changed === 'string') throw refuseState(lot, changed)
    terminal.data({ ...record, changed }, () => `${mails} mails are another machine's now`)
    if (existsSync(lot.file)) terminal.say(`${lot.file} is of no more use here: remove it`)
  },
})

export const lots = listing({
  path: 'queue lots',
  summary: 'What was exported and imported, lot by lot',
  examples: [['$0 queue lots', '']],
  what: 'lots',
  next: 'postern queue export --help',
  most: null,
  rows: async ({ store, account }) => whole(await store.lots(account.id)),
  record: ({ id, state, recipients, file, createdAt }: LotRow & { readonly recipients: number }) => ({
    ...{ id, object: 'lot', state, recipients, file },
    created_at: toRfc3339(createdAt),
  }),
  columns: [
    ['lot', 'id'],
    ['state', ({ state }) => state.replace('_', ' ')],
    ['recipients', 'recipients'],
    ['since', 'createdAt', AGO],
    ['file', 'file'],
  ],
})

type Place = Omit<CarryTarget, 'lot'>

/** Where mails of a workspace and a pool go here; told once for each pair that is missing. */
const createPlaces = (
  { store, account }: CliContext,
  to: { workspace: string | undefined; pool: string | undefined },
) => {
  const known = new Map<string, Place>()
  return async (file: string, line: number, mail: CarriedMail): Promise<Place> => {
    const slug = to.workspace ?? mail.workspace
    const name = to.pool ?? mail.pool
    const key = `${slug} ${name}`
    const found = known.get(key)
    if (found !== undefined) return found
    const workspace = await store.workspace(account.id, slug)
    if (workspace === null)
      throw badLine(
        file,
        line,
        `there is no workspace ${slug} here; make it, or name another with --workspace`,
      )
    const pool = await store.pool(account.id, name)
    if (pool === null)
      throw badLine(file, line, `there is no egress pool ${name} here; make it, or name another with --pool`)
    const place = { workspaceId: workspace.id, poolId: pool.id }
    known.set(key, place)
    return place
  }
}

/** A file is imported by one, and not where it came from. */
const refuseLot = async ({ store, account }: CliContext, file: string, lot: string | null): Promise<void> => {
  const own = lot === null ? null : await store.lot(account.id, lot)
  if (own !== null && own.state !== 'imported') throw refuseState(own, own.state)
  const note = readImportNote(file)
  if (note === null || note.account === account.id) return
  throw new Refusal(
    65,
    `${file} was imported by ${note.host} at ${note.at}; ` +
      `remove ${importNoteOf(file)} if nothing was stored there`,
  )
}

/** What does not fit the tables is the file's fault, and told by its line. */
const carried = async <T>(file: string, line: number, storing: Promise<T>): Promise<T> =>
  storing.catch((error: unknown) => {
    if (!(error instanceof Error)) throw error
    // SQLite's words, and the classes of SQLSTATE for values and for what a table demands of them
    const isOfRow = /constraint failed|no id of a mail/.test(error.message)
    if (!isOfRow && !/^2[23]/.test(String((error as NodeJS.ErrnoException).code))) throw error
    throw badLine(file, line, `does not fit: ${error.message}`)
  })

const storeAll = async (
  context: CliContext,
  file: string,
  place: ReturnType<typeof createPlaces>,
  progress: (done: number) => void,
): Promise<number> => {
  let [imported, read] = [0, 0]
  for await (const { line, lot, mail } of readQueueFile(file)) {
    if (mail === null) continue
    const to = { ...(await place(file, line, mail)), lot }
    if ((await carried(file, line, context.store.carryIn(mail, to, systemClock.now()))) === 'accepted')
      imported++
    read++
    if (read % 100 === 0) progress(read)
  }
  return imported
}

export const importQueue = storeCommand({
  usage: 'import <file>',
  summary: 'Take over what another machine exported; mails that are here already are passed over',
  positionals: { file: { type: 'string', demandOption: true, describe: 'Made by postern queue export' } },
  options: {
    workspace: { type: 'string', describe: 'Into this workspace, whatever the file says' },
    pool: { type: 'string', describe: 'Into this egress pool, whatever the file says' },
  },
  destroys: true,
  examples: [['$0 queue import queue.jsonl --yes', '']],
  run: async (context, args, terminal) => {
    const { store, account } = context
    const file = resolve(args.file)
    const place = createPlaces(context, args)
    let lot: string | null = null
    let mails = 0
    let here = 0
    for await (const { line, lot: named, mail } of readQueueFile(file)) {
      lot = named
      if (mail === null) {
        await refuseLot(context, file, lot)
        continue
      }
      await place(file, line, mail)
      here += (await store.knownEmails([mail.id])).length
      mails++
    }
    terminal.say(`${mails} mails, ${here} of them here already`)
    const record = { lot, file: args.file, mails, imported: 0, known: here }
    if (args.dryRun) return terminal.data(record, () => `would import ${mails - here} mails`)
    await terminal.confirm(`import ${mails} mails, to be sent from here`, args.yes)
    if (!writeImportNote(file, account.id))
      terminal.say(`${importNoteOf(file)} could not be written: see that nobody else imports this file`)
    await refuseLot(context, file, lot)
    const now = systemClock.now()
    if (lot !== null)
      await store.addLot({ id: lot, accountId: account.id, file, state: 'imported', createdAt: now })
    const imported = await storeAll(context, file, place, tellProgress(terminal, mails))
    terminal.data({ ...record, imported, known: mails - imported }, () => `${imported} mails imported`)
    if (lot !== null) terminal.say(`next, on the machine that exported it: postern queue forget ${lot}`)
  },
})
