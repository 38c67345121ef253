/**
 * NAME      drafts - sends as submission/ takes them: one, or one template for many
 *   A draft, or all that is wrong with it. submission/ does not judge a draft whose types are wrong, so a client would hear of a
 *   bad address only after mending a bad type. Here what is left of it is judged by itself, and both go into one answer: a bad
 *   item of a list gives way to a harmless one, so that the others keep their places.
 *   A template is judged first, by itself: what is wrong with it is wrong for all. Then each recipient is an item of the batch,
 *   with its own mistakes: an address, or values that lack or may not stand where they would.
 */
import { type FieldError, invalid } from '../base/fault.js'
import { type Draft, toDraft, type WireDraft } from '../submission/draft.js'
import { BRACES, type Merge, type MergeSource, Room, readTemplate } from '../submission/merge.js'
import { type Prepared, prepare, type Wrong } from '../submission/prepare.js'
import { checkSend, type DraftRules } from '../submission/validate.js'
import { check } from './check.js'
import { type MergeBody, type MergeRecipient, mergeRecipientShape, sendBody } from './shapes/emails.js'

type Made = (index: number) => unknown

const address = (index: number): string => `a${index}@b.invalid`
const HARMLESS: Readonly<Record<string, Made>> = {
  to: address,
  cc: address,
  bcc: address,
  reply_to: address,
  tags: (index) => ({ name: `_${index}_harmless`, value: '' }),
  attachments: () => ({ content: '' }),
}

/** Lists without holes, and items without gaps. */
const mend = (rest: object): WireDraft =>
  Object.fromEntries(
    Object.entries(rest).map(([name, value]) => {
      const harmless = HARMLESS[name]
      if (!harmless || !Array.isArray(value)) return [name, value]
      const whole = (one: unknown, index: number) => ({ ...(harmless(index) as object), ...(one as object) })
      const plain = (one: unknown, index: number) => one ?? harmless(index)
      return [name, value.map(name === 'tags' || name === 'attachments' ? whole : plain)]
    }),
  )

/** `rest` is what check() leaves of a bad body, `told` the fields that it told; `at` is where it stands. */
export const alsoWrong = (
  rest: unknown,
  told: ReadonlySet<string>,
  rules: DraftRules,
  at = 'body',
): readonly FieldError[] => {
  if (typeof rest !== 'object' || rest === null) return []
  // who sends stands in it
  const sender = told.has(`${at}.raw`) ? { from: address(0) } : {}
  const { errors } = checkSend(toDraft(mend({ ...sender, ...rest })), rules, at)
  return (errors ?? []).filter(({ field }) => !told.has(field))
}

/** A mail that is ready to be stored, or what is wrong with it. */
export type DraftItem = Prepared | Wrong

type Read = Draft | { readonly errors: readonly FieldError[]; readonly omitted: number }

export const readDraft = (value: unknown, rules: DraftRules, at = 'body'): Read => {
  const checked = check(at, sendBody, value)
  if (checked.errors === null) return toDraft(checked.value)
  const { errors, omitted, rest } = checked
  const told = new Set(errors.map(({ field }) => field))
  return { errors: [...errors, ...alsoWrong(rest, told, rules, at)], omitted }
}

type Values = ReadonlyMap<string, string>

const NOBODY = 'nobody@example.invalid'

/** The parts of a send in which variables may stand. */
const templateOf = ({ from, subject, html, text, headers, reply_to, tags }: WireDraft): MergeSource => ({
  from: from ?? null,
  subject: subject ?? null,
  html: html ?? null,
  text: text ?? null,
  headers: headers == null || Array.isArray(headers) ? {} : (headers as Record<string, string>),
  reply_to: reply_to == null ? [] : typeof reply_to === 'string' ? [reply_to] : reply_to,
  tags: tags ?? [],
})

/** Octets that each mail has beside its texts. */
export const filesIn = ({ attachments }: WireDraft): number =>
  (attachments ?? []).reduce((sum, { content }) => {
    const length =
      typeof content === 'string'
        ? content.length
        : content && 'data' in content
          ? content.data.length
          : content?.length
    return sum + (length ?? 0)
  }, 0)

/** What there is to say of a template whoever gets it. Throws validation.request_invalid. */
const readAlone = async (template: WireDraft, rules: DraftRules): Promise<Merge> => {
  const at = 'body.template'
  const parts = templateOf(template)
  const merge = await readTemplate(parts, BRACES, (part) => `${at}.${part}`)
  // one with a place in it is an address when it is filled
  const reply_to = parts.reply_to.filter((one) => one.search(BRACES.place) < 0)
  const { errors } = checkSend(toDraft({ ...template, to: NOBODY, reply_to }), rules, at)
  const wrong: readonly FieldError[] = [...('errors' in merge ? merge.errors : []), ...(errors ?? [])]
  if ('errors' in merge || wrong.length > 0) throw invalid(wrong)
  return merge
}

export const isMerge = (value: unknown): value is MergeBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One of them, if all that it says is right. */
const readRecipient = (
  one: unknown,
  at: string,
  rules: DraftRules,
  fill: (values: Values, errors: FieldError[]) => WireDraft,
) => {
  const checked = check<MergeRecipient>(at, mergeRecipientShape, one)
  if (checked.errors !== null) return { errors: checked.errors, omitted: checked.omitted }
  const { to, variables = {} } = checked.value
  const errors: FieldError[] = []
  const read = readDraft({ ...fill(new Map(Object.entries(variables)), errors), to }, rules, at)
  if (errors.length === 0) return read
  const others = 'errors' in read ? read : checkSend(read, rules, at)
  return { errors: [...errors, ...(others.errors ?? [])] }
}

/** An item for each recipient. Throws the Fault of a template that is for nobody, or of all that is too large. */
export const readMerge = async (
  { template, recipients }: MergeBody,
  rules: DraftRules,
  perMinute: number,
): Promise<readonly DraftItem[]> => {
  if (recipients.length > perMinute)
    throw invalid([{ field: 'body', kind: 'too_many', message: `must hold at most ${perMinute} emails` }])
  const merge = await readAlone(template, rules)
  const room = new Room(rules.messageSize)
  const files = filesIn(template)
  const items: DraftItem[] = []
  for (const [i, one] of recipients.entries()) {
    const at = `body.recipients[${i}]`
    const read = readRecipient(one, at, rules, (values, errors) => {
      room.take(merge.sizeWith(values) + files)
      return { ...template, ...merge.fill(values, `${at}.variables`, errors) }
    })
    items.push('errors' in read ? read : await prepare(read, rules, at))
  }
  return items
}
