/**
 * NAME      job - a large body, from octets to what the store needs
 * DESCRIPTION
 *   All that is done with a send and grows with its size: parse, check,
 *   fingerprint, compose. It runs in the bodies' thread, and what goes back are
 *   the octets of the mails and their records, or what is wrong.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import { giveBack } from '../../base/host/growing.js'
import { type Composed, type ComposeGround, compose } from '../../submission/composed.js'
import { requestFingerprint } from '../../submission/idempotency.js'
import { checkDraft, type Rules } from '../../submission/validate.js'
import { check } from '../check.js'
import { readDraft } from '../drafts.js'
import { batchBody } from '../shapes/email-action.js'
import { parseJson } from '../wire/body.js'

export interface Job {
  /** Given away with the job. */
  readonly bytes: Uint8Array
  /** One email, a list of them, or just JSON, to learn whether it is any. */
  readonly what: 'one' | 'many' | 'json'
  /** What else the fingerprint covers; null where nobody asks for one. */
  readonly fingerprint: { readonly route: string; readonly variant: string } | null
  readonly rules: Rules
  readonly compose: ComposeGround
}

export type Item = Composed | { readonly errors: readonly FieldError[]; readonly omitted: number }

export interface Done {
  readonly items: readonly Item[]
  readonly fingerprint: string | null
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const readOne = async (value: unknown, { rules, compose: ground }: Job, at?: string): Promise<Item> => {
  const read = readDraft(value, rules, at)
  if ('errors' in read) return read
  const { checked, errors } = checkDraft(read, rules, at)
  if (errors !== null) return { errors, omitted: 0 }
  const composed = await compose(checked, ground)
  return { ...composed, content: bytesOf(String(composed.content)) }
}

/** Throws the Fault to answer with. */
export const perform = async (job: Job): Promise<Done> => {
  const value = parseJson(job.bytes)
  giveBack(job.bytes)
  if (job.what === 'json') return { items: [], fingerprint: null }
  const items: Item[] = []
  if (job.what === 'many') {
    const checked = check('body', batchBody, value)
    if (checked.errors !== null) throw invalid(checked.errors, checked.omitted)
    for (const [i, one] of checked.value.entries()) items.push(await readOne(one, job, `body[${i}]`))
  } else {
    const item = await readOne(value, job)
    if ('errors' in item) throw invalid(item.errors, item.omitted)
    items.push(item)
  }
  const { fingerprint: wish } = job
  const fingerprint = wish && requestFingerprint('POST', wish.route, wish.variant, value)
  return { items, fingerprint }
}

/** The octets of a result, which the thread need not keep. */
export const ownedBy = (done: Done): { readonly done: Done; readonly owned: ArrayBuffer[] } => {
  const owned: ArrayBuffer[] = []
  const own = (bytes: Uint8Array): Uint8Array => {
    // small Buffers share memory with strangers
    const alone = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
    owned.push(alone.buffer as ArrayBuffer)
    return alone
  }
  const items = done.items.map((item) =>
    'errors' in item ? item : { ...item, raw: own(item.raw), content: own(item.content as Uint8Array) },
  )
  return { done: { ...done, items }, owned }
}
