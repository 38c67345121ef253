/**
 * NAME      recipient - one recipient of a report, made up from what is known
 * DESCRIPTION
 *   Fields lie by being vague: Exim and OpenSMTPD always write x.0.0, and the
 *   true code stands in Diagnostic-Code or only in the text. A specific Status
 *   is believed; a vague one gives way to the code of the remote server. The
 *   Action is believed over the Status, but for a `delayed` whose words say
 *   that the sender has given up (OpenSMTPD: "Envelope expired").
 */
import type { Rule } from './category.js'
import { judge } from './classify.js'
import { codesIn, isVague } from './codes.js'
import { EXPIRED_DELAY } from './notice/phrases.js'
import type { Action, ReportRecipient } from './report.js'

interface Known {
  readonly address: string | null
  readonly finalRecipient?: string | null
  readonly originalRecipient?: string | null
  /** Null when the report gives one that nobody knows. */
  readonly action: Action | null
  readonly unknownAction?: string
  readonly status?: string | null
  readonly diagnostic?: string | null
  readonly remoteMta?: string | null
  /** The lines of the notice that are this recipient's own. */
  readonly own: string
  /** All that the notice says about this recipient, to people. */
  readonly context: string
}

const MAX_DIAGNOSTIC = 1_000

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC)

/**
 * What the report states (unless it contradicts the Action), then the remote
 * server's own code, then what the text says; a specific one before a vague one.
 */
const statusFrom = (
  said: string | null,
  stated: string | null,
  told: string | null,
  action: Action | null,
): string | null => {
  if (action !== 'failed' && action !== 'delayed') return stated
  const believed = stated?.startsWith('2') ? null : stated
  const known = [believed, said, told].filter((one) => one !== null)
  return known.find((one) => !isVague(one)) ?? known[0] ?? stated
}

/** Server words begin at the code; the line before it may name the stage (Exim). */
const replyIn = (text: string): string => {
  const at = text.search(/(?<![\w.-])[45]\d\d[ -](?=[#\w<([])/)
  if (at < 0) return ''
  const start = text.lastIndexOf('\n', text.lastIndexOf('\n', at) - 1) + 1
  const end = text.indexOf('\n\n', at)
  return text.slice(
    /after (?:pipelined )?mail from/i.test(text.slice(start, at)) ? start : at,
    end < 0 ? undefined : end,
  )
}

/** The first paragraph with words in it, beside a heading that is only the address. */
const opening = (text: string): string => {
  const [first = '', second = ''] = text.trim().split(/\n\s*\n/, 2)
  return /\s/.test(first.trim()) ? first : `${first}\n${second}`
}

export const makeRecipient = (known: Known, rules: readonly Rule[]): ReportRecipient => {
  const said = known.diagnostic ?? null
  const inSaid = codesIn(said ?? '')
  const inContext = codesIn(known.context)
  const gone =
    known.action === 'delayed' && EXPIRED_DELAY.test(`${said ?? ''}\n${known.context}`.replace(/\s+/g, ' '))
  const action = gone ? 'failed' : known.action
  const failing = action === 'failed' || action === 'delayed'
  const status = statusFrom(inSaid.enhanced, known.status ?? null, inContext.enhanced, action)
  const reply = failing ? replyIn(known.context) : ''
  const code = inSaid.code ?? (failing ? inContext.code : null)
  const base = {
    address: known.address,
    finalRecipient: known.finalRecipient ?? null,
    originalRecipient: known.originalRecipient ?? null,
    action,
    ...(known.unknownAction === undefined ? {} : { unknownAction: known.unknownAction }),
    status,
    diagnostic: oneLine(said ?? (failing ? reply || opening(known.own) : '')) || null,
    code,
    remoteMta: known.remoteMta ?? null,
  }
  if (action !== 'failed') return { ...base, class: null, category: null, fault: null }
  // Sendmail writes 5.1.1 where the server's own reply, which stands after `<<<`, had no such code
  const guessed = inSaid.code !== null && /^<<< /m.test(known.context)
  return {
    ...base,
    ...judge(
      { code, enhanced: inSaid.enhanced ?? (guessed ? null : status), remote: known.remoteMta ?? null },
      [said ?? '', reply, known.own],
      known.context,
      rules,
    ),
  }
}
