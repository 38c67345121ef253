/**
 * NAME      job - a large body, from octets to what the store needs
 *   All that is done with a send and grows with its size: parse, check, fingerprint, compose. It runs in the bodies'
 *   thread, and what goes back are the octets of the mails and their records, or what is wrong. A large message that
 *   came whole is read there, too, when somebody asks for its text.
 */
import { invalid } from '../../base/fault.js'
import { giveBack } from '../../base/memory.js'
import { type MessageContent, parseContent } from '../../mail/parse.js'
import { sendFingerprint } from '../../submission/idempotency.js'
import { prepare } from '../../submission/prepare.js'
import type { DraftRules } from '../../submission/validate.js'
import { check } from '../check.js'
import { parseSpoken, readSpoken, type Spoken } from '../dialect/reading.js'
import { type DraftItem, isMerge, readDraft, readMerge } from '../drafts.js'
import { batchBody } from '../shapes/emails.js'
import { parseJson } from '../wire/body.js'

/** A message of which somebody asks what was written in it. */
export interface ContentJob {
  /** Given away with the job. */
  readonly bytes: Uint8Array
  readonly what: 'content'
}

export interface BodyJob {
  /** Given away with the job. */
  readonly bytes: Uint8Array
  /** One email, a list or a template of them, what another provider's API takes, or just JSON, to learn whether it is any. */
  readonly what: 'one' | 'many' | 'json' | Spoken
  /** What else the fingerprint covers; null where nobody asks for one. */
  readonly fingerprint: { readonly route: string; readonly variant: string } | null
  readonly rules: DraftRules
  /** Mails that the key may send; more are not filled or composed. */
  readonly perMinute: number
}

export interface BodyDone {
  readonly items: readonly DraftItem[]
  readonly fingerprint: string | null
  /** Of another provider's words: that nothing is to be sent. */
  readonly isTrial?: boolean
  /** Of a message that was to be read. */
  readonly content?: MessageContent
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const packed = (made: DraftItem): DraftItem =>
  'errors' in made || typeof made.content !== 'string' ? made : { ...made, content: bytesOf(made.content) }

const readOne = async (value: unknown, { rules }: BodyJob, at?: string): Promise<DraftItem> => {
  const read = readDraft(value, rules, at)
  return 'errors' in read ? read : packed(await prepare(read, rules, at))
}

/** Throws the Fault to answer with. */
export const perform = async (job: BodyJob | ContentJob): Promise<BodyDone> => {
  if (job.what === 'content') {
    return { items: [], fingerprint: null, content: await parseContent(job.bytes) }
  }
  const value = typeof job.what === 'object' ? parseSpoken(job.bytes, job.what) : parseJson(job.bytes)
  giveBack(job.bytes)
  if (job.what === 'json') return { items: [], fingerprint: null }
  const items: DraftItem[] = []
  let isTrial = false
  let said = value
  if (typeof job.what === 'object') {
    const read = await readSpoken(job.what, value, job.rules, job.perMinute)
    items.push(...read.items.map(packed))
    isTrial = read.isTrial
    said = read.said
  } else if (job.what === 'many') {
    const checked = check('body', batchBody, value)
    if (checked.errors !== null) throw invalid(checked.errors, checked.omitted)
    if (isMerge(checked.value))
      items.push(...(await readMerge(checked.value, job.rules, job.perMinute)).map(packed))
    else for (const [i, one] of checked.value.entries()) items.push(await readOne(one, job, `body[${i}]`))
  } else {
    const item = await readOne(value, job)
    if ('errors' in item) throw invalid(item.errors, item.omitted)
    items.push(item)
  }
  const { fingerprint: wish } = job
  const fingerprint = wish && (await sendFingerprint(wish.route, wish.variant, said))
  return { items, fingerprint, isTrial }
}

/** The octets of a result, which the thread need not keep. */
export const ownedBy = (done: BodyDone): { readonly done: BodyDone; readonly owned: ArrayBuffer[] } => {
  const owned: ArrayBuffer[] = []
  const own = (bytes: Uint8Array): Uint8Array => {
    // small Buffers share memory with strangers
    const alone = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
    owned.push(alone.buffer as ArrayBuffer)
    return alone
  }
  const items = done.items.map((item) =>
    'errors' in item
      ? item
      : {
          ...item,
          raw: own(item.raw),
          content: item.content instanceof Uint8Array ? own(item.content) : item.content,
        },
  )
  return { done: { ...done, items }, owned }
}
