/**
 * NAME      queue-file - the file in which a queue moves
 * DESCRIPTION
 *   One JSON object a line: first {postern_queue: 1, lot, exported_at}, then a
 *   mail each (port/operations.ts; `raw` in base64), last {end: true, mails}. Mode 0600:
 *   it holds what people wrote. It has its name only when it is whole. Who imports
 *   it leaves FILE.imported beside it, so that nobody else does and the machine it
 *   came from does not take it back, where both see the same folder.
 * NOTES
 *   Nothing in it is believed before it is looked at: its ids become names of
 *   files and keys of rows.
 */
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock, toRfc3339 } from '../base/clock.js'
import { syncFolder, writeWhole } from '../base/folder.js'
import { isId, isRecipientId } from '../base/id.js'
import { wellFormed } from '../mail/encoding.js'
import { STATUSES } from '../mail/status.js'
import { type CarriedMail, EXPORTED } from '../store/port/operations.js'
import { Refusal } from './exit.js'

const FORMAT = 1

export interface QueueFileWriter {
  add(mail: CarriedMail): Promise<void>
  /** Gives it its name. */
  finish(): Promise<void>
  /** Leaves nothing behind, unless it is finished. */
  discard(): Promise<void>
}

/** Made under another name, so that a folder that takes no files is told before anything is marked. */
export const createQueueFile = async (file: string, lot: string): Promise<QueueFileWriter> => {
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

export const badLine = (file: string, line: number, what: string): Refusal =>
  new Refusal(65, `${file}:${line}: ${what}`)

type Value = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whoever wrote it may have kept text that a store keeps no more. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text, (_, value) => (typeof value === 'string' ? wellFormed(value) : value))
  } catch {
    return null
  }
}

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

/** The lot in the first line of a file; null in files of Postern 0.1. */
const lotIn = (head: Value | null, file: string): string | null => {
  if (head?.postern_queue !== FORMAT) throw badLine(file, 1, 'is no export of a queue, or of a newer Postern')
  if (head.lot === undefined) return null
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
export const readQueueFile = async function* (file: string): AsyncGenerator<Line> {
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

export const importNoteOf = (file: string): string => `${file}.imported`

export const readImportNote = (file: string): ImportNote | null => {
  const note = importNoteOf(file)
  if (!existsSync(note)) return null
  const value = parsed(readFileSync(note, 'utf8'))
  const { account, host, at } = isObject(value) ? value : {}
  return { account: String(account), host: String(host ?? 'another machine'), at: String(at ?? 'some time') }
}

/** False where the folder takes no files. */
export const writeImportNote = (file: string, account: string): boolean => {
  const note: ImportNote = { account, host: hostname(), at: toRfc3339(systemClock.now()) }
  try {
    writeWhole(importNoteOf(file), `${JSON.stringify(note)}\n`)
    syncFolder(dirname(file))
    return true
  } catch {
    return false
  }
}
