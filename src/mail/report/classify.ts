/**
 * NAME      classify - why a recipient was refused
 * DESCRIPTION
 *   From a basic code, an enhanced code and a text to one of some twenty
 *   categories, each with its severity and whose fault it is. `hard` means that
 *   this address or domain is dead; everything else is `soft`. A false hard
 *   silences a living address, so the table in rules.ts looks for every other
 *   explanation first, and what nothing explains is soft.
 *   Addresses and web links are cut before the text is read: `spam@` in an
 *   address is not a reason.
 */
import { CATEGORIES, type Category, type Fault, type Rule, type Severity, type Verdict } from './category.js'
import type { Codes } from './codes.js'
import { CODED, STRONG, WEAK } from './rules.js'
import { BY_POLICY, FOR_NOW, OUR_SIDE } from './words.js'

export { CATEGORIES, type Category, type Fault, type Rule, type Severity, type Verdict }

/** A code, and the server that gave it, as far as known. */
export interface Refusal extends Codes {
  readonly remote?: string | null
}

export interface Reason extends Refusal {
  readonly text: string
}

const MAX_TEXT = 2_000
/** AsyncOS puts its own guess before the server's words: `5.1.0 - Unknown address error 550-'…'`. */
const GUESS = /\b\d\.\d\.\d - [A-Za-z ]{3,60}(?=\d{3}[ -]')/g
/** Google's links name the reason, and the text around them is sometimes empty. */
const GOOGLE_REASON = /https?:\/\/support\.google\.com\/mail\/\?p=(\w{1,40})/g

const readyText = (text: string): string =>
  text
    .slice(0, MAX_TEXT)
    .replace(GUESS, ' ')
    .replace(GOOGLE_REASON, ' google:$1 ')
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/[^\s<>@"':;,=()[\]]{1,128}@[^\s<>@"',;]{1,255}/g, ' ')
    .replace(/\s+/g, ' ')
    .toLowerCase()

const coded = (enhanced: string | null, wanted: readonly string[]): boolean =>
  enhanced !== null && wanted.some((one) => (one.endsWith('.') ? enhanced.startsWith(one) : enhanced === one))

const holds = (rule: Rule, codes: Refusal, text: string): boolean =>
  (rule.enhanced === undefined || coded(codes.enhanced, rule.enhanced)) &&
  (rule.code === undefined || (codes.code !== null && rule.code.includes(codes.code))) &&
  (rule.text === undefined || rule.text.test(text)) &&
  (rule.also === undefined || rule.also.test(text)) &&
  (rule.unless === undefined || !rule.unless.test(text)) &&
  (rule.remote === undefined || rule.remote.test(codes.remote ?? ''))

/** A false hard silences a living address: what also speaks of us, of policy or of trouble for now is soft. */
const doubted = (category: Category, codes: Refusal, texts: readonly string[]): Category => {
  if (CATEGORIES[category].severity !== 'hard') return category
  const says = (pattern: RegExp): boolean => texts.some((text) => pattern.test(text))
  if (says(FOR_NOW)) return 'system'
  if (says(OUR_SIDE)) return 'sender_rejected'
  return category !== 'moved' && says(BY_POLICY) && !/^5\.1\./.test(codes.enhanced ?? '')
    ? 'policy'
    : category
}

/**
 * Judges by several texts, the surest first: the server's reply, the lines about
 * this recipient. `around` is asked for a named cause only when all else is silent.
 */
export const judge = (
  codes: Refusal,
  texts: readonly string[],
  around = '',
  extra: readonly Rule[] = [],
): Verdict => {
  const ready = texts.map(readyText)
  const ask = (rules: readonly Rule[], among: readonly string[]): Category | undefined => {
    for (const text of among) {
      const rule = rules.find((one) => holds(one, codes, text))
      if (rule !== undefined) return rule.category
    }
    return undefined
  }
  const site = ask(extra, ready)
  const found =
    site ??
    ask(STRONG, ready) ??
    ask(CODED, ['']) ??
    ask(WEAK, ready) ??
    (around === '' ? undefined : ask(STRONG, [readyText(around)])) ??
    'unknown'
  const category = site === undefined ? doubted(found, codes, ready) : found
  const { severity, fault } = CATEGORIES[category]
  return { class: severity, category, fault }
}

/** Judges one reply. Extra rules come first, so a site can correct the table. */
export const classify = (reason: Reason, extra: readonly Rule[] = []): Verdict =>
  judge(reason, [reason.text], '', extra)

/** Whether a failure means that we must not write to this address again. */
export const suppresses = (failed: {
  readonly action: string | null
  readonly class: Severity | null
  readonly fault: Fault | null
}): boolean => failed.action === 'failed' && failed.class === 'hard' && failed.fault === 'recipient'
