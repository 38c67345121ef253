/**
 * NAME      recipient - one recipient of a report, made up from what is known
 * DESCRIPTION
 *   Fields lie by being vague: Exim and OpenSMTPD always write x.0.0, and the
 *   true code stands in Diagnostic-Code or only in the text. A specific Status
 *   is believed; a vague one gives way to the code of the remote server. The
 *   Action is believed over the Status, but for a `delayed` whose words say
 *   that the sender has given up (OpenSMTPD: "Envelope expired").
 */
import { classify, type Rule } from './classify.js'
import { codesIn, isVague } from './codes.js'
import { EXPIRED_DELAY } from './notice/phrases.js'
import type { Action, ReportRecipient } from './report.js'

export interface Known {
  readonly address: string | null
  readonly finalRecipient?: string | null
  readonly originalRecipient?: string | null
  readonly action: Action
  readonly status?: string | null
  readonly diagnostic?: string | null
  readonly remoteMta?: string | null
  /** What the notice says about this recipient, to people. */
  readonly context: string
}

const MAX_DIAGNOSTIC = 1_000

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC)

const statusFrom = (
  stated: string | null,
  action: Action,
  ...others: readonly (string | null)[]
): string | null => {
  const contradicts = action === 'failed' && stated !== null && stated.startsWith('2')
  if (stated !== null && !isVague(stated) && !contradicts) return stated
  return (
    others.find((one) => one !== null && !isVague(one)) ??
    stated ??
    others.find((one) => one !== null) ??
    null
  )
}

export const makeRecipient = (known: Known, rules: readonly Rule[]): ReportRecipient => {
  const said = known.diagnostic ?? null
  const inSaid = codesIn(said ?? '')
  const inContext = codesIn(known.context)
  const gone = known.action === 'delayed' && EXPIRED_DELAY.test(`${said ?? ''}\n${known.context}`)
  const action: Action = gone ? 'failed' : known.action
  const failing = action === 'failed' || action === 'delayed'
  const status = statusFrom(
    known.status ?? null,
    action,
    failing ? inSaid.enhanced : null,
    failing ? inContext.enhanced : null,
  )
  const code = inSaid.code ?? (failing ? inContext.code : null)
  const base = {
    address: known.address,
    finalRecipient: known.finalRecipient ?? null,
    originalRecipient: known.originalRecipient ?? null,
    action,
    status,
    diagnostic: oneLine(said ?? known.context) || null,
    code,
    remoteMta: known.remoteMta ?? null,
  }
  if (action !== 'failed') return { ...base, class: null, category: null, fault: null }
  const first = classify({ code, enhanced: status, text: said ?? known.context }, rules)
  const verdict =
    first.category === 'unknown' && said !== null
      ? classify({ code, enhanced: status, text: `${said} ${known.context}` }, rules)
      : first
  return { ...base, ...verdict }
}
