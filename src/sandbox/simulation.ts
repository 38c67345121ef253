/**
 * NAME      simulation - which recipient makes what happen
 *   The table of the sandbox, by local part, at any domain. A `+` may add a detail: an enhanced status code where the
 *   row takes one (`bounced+5.2.2@`), else anything. A local part that no row names is delivered. Reports are sent only
 *   as far as NOTIFY asks for them (RFC 3461): no NOTIFY means failures only, NEVER means none; complaints and
 *   auto-replies come anyway. `suppressed@` never comes here: in test mode it counts as listed when it is sent. Some
 *   rows go by a second name, which says the outcome in words.
 */

/** A report that goes back to the envelope sender. */
export type SimulatedReport =
  | { readonly kind: 'delivered' }
  /** Handed to a server that reports nothing: all that will ever be known. */
  | { readonly kind: 'relayed' }
  | { readonly kind: 'delayed'; readonly status: string; readonly text: string }
  | { readonly kind: 'failed'; readonly status: string; readonly text: string }
  | { readonly kind: 'complaint' }
  | { readonly kind: 'auto-reply' }

/** Milliseconds that `later` means, and that slow@ takes. */
export const PACE_MS = 1_500

export interface SimulationStep {
  /** Soon is at once; later is after PACE_MS. */
  readonly when: 'soon' | 'later'
  readonly report: SimulatedReport
}

interface Simulation {
  readonly name: string
  /** One line for people: what a sender will see. */
  readonly shows: string
  /** Reply to RCPT TO: on every attempt, on the first one, or never (250). */
  readonly refuse: 'always' | 'first' | 'never'
  /** Basic code, enhanced code and text of that refusal. */
  readonly reply: string | null
  /** True holds the reply to the final dot back for a while. */
  readonly slow: boolean
  readonly steps: readonly SimulationStep[]
}

const DELIVERED: SimulationStep = { when: 'soon', report: { kind: 'delivered' } }

const row = (name: string, shows: string, more: Partial<Simulation> = {}): Simulation => ({
  name,
  shows,
  refuse: 'never',
  reply: null,
  slow: false,
  steps: [DELIVERED],
  ...more,
})

const failed = (status: string, text: string): SimulatedReport => ({ kind: 'failed', status, text })

export const SIMULATIONS: readonly Simulation[] = [
  row('delivered', 'queued → sent → delivered (a success DSN); so does every name not in this table'),
  row('bounced', 'bounced at once: 550 5.1.1 at RCPT; bounced+5.2.2@ answers that code', {
    refuse: 'always',
    reply: '550 5.1.1 No such user here',
    steps: [],
  }),
  row('bounced-later', 'sent, then bounced by a failure DSN; takes a code as bounced@ does', {
    steps: [{ when: 'soon', report: failed('5.1.1', 'No such user here') }],
  }),
  row('late-bounce', 'delivered, and bounced after that by a late failure DSN', {
    steps: [DELIVERED, { when: 'later', report: failed('5.2.2', 'Mailbox full') }],
  }),
  row('deferred', 'deferred by 451 4.2.0 on the first attempt, delivered on the next; takes a 4.x.y code', {
    refuse: 'first',
    reply: '451 4.2.0 Mailbox is busy, try again later',
  }),
  row('deferred+forever', 'deferred on every attempt, until the lifetime ends', {
    refuse: 'always',
    reply: '451 4.2.0 Mailbox is busy, try again later',
  }),
  row('delayed', 'sent, deferred by a delay DSN, then bounced by a failure DSN', {
    steps: [
      { when: 'soon', report: { kind: 'delayed', status: '4.4.1', text: 'Connection timed out' } },
      { when: 'later', report: failed('4.4.7', 'Delivery time expired') },
    ],
  }),
  row(
    'relayed',
    'delivered, as far as can be known: the last server that reports gave it to one that does not',
    {
      steps: [{ when: 'soon', report: { kind: 'relayed' } }],
    },
  ),
  row('slow', 'delivered, but the reply to the message takes its time', { slow: true }),
  row('complained', 'delivered, then a spam complaint (ARF)', {
    steps: [DELIVERED, { when: 'later', report: { kind: 'complaint' } }],
  }),
  row('ooto', 'delivered, then an out-of-office reply, which changes nothing', {
    steps: [DELIVERED, { when: 'soon', report: { kind: 'auto-reply' } }],
  }),
]

/** Second names, each for a row with or without a detail. */
export const ALIASES: Readonly<Record<string, string>> = {
  hard: 'bounced',
  soft: 'bounced+5.2.2',
  'hard-bounce': 'bounced',
  'soft-bounce': 'bounced+5.2.2',
  'sent-then-bounced': 'bounced-later',
  'delivered-then-bounced': 'late-bounce',
  'delayed-then-failed': 'delayed',
  complaint: 'complained',
  'out-of-office': 'ooto',
}

const CODE = /^[45]\.\d{1,3}\.\d{1,3}$/

const TEXTS: Readonly<Record<string, string>> = {
  '5.1.1': 'No such user here',
  '5.1.2': 'No such domain',
  '5.2.1': 'Mailbox disabled',
  '5.2.2': 'Mailbox full',
  '5.3.4': 'Message too big',
  '5.7.1': 'Refused by policy',
  '4.2.2': 'Mailbox full',
  '4.3.2': 'System not accepting mail',
  '4.7.1': 'Too many messages, slow down',
}

/** Basic codes that usually come with an enhanced one; else x50. */
const basicOf = (code: string): number => {
  if (code.startsWith('4')) return code === '4.2.2' || code === '4.3.1' ? 452 : 451
  if (code === '5.2.2' || code === '5.3.4') return 552
  return code.startsWith('5.7.') || code.startsWith('5.6.') ? 554 : 550
}

const withCode = (found: Simulation, code: string): Simulation => {
  const text = TEXTS[code] ?? 'As the recipient address asks'
  return {
    ...found,
    reply: found.reply === null ? null : `${basicOf(code)} ${code} ${text}`,
    steps: found.steps.map((step) =>
      step.report.kind === 'failed' ? { ...step, report: failed(code, text) } : step,
    ),
  }
}

/** The first name; a detail of its own goes before the one that the alias brings. */
const firstName = (local: string): string => {
  const plus = local.indexOf('+')
  const name = plus === -1 ? local : local.slice(0, plus)
  const first = Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined
  if (first === undefined) return local
  return plus === -1 ? first : `${first.split('+')[0]}${local.slice(plus)}`
}

export const simulationFor = (address: string): Simulation => {
  const local = firstName(address.slice(0, address.lastIndexOf('@')).toLowerCase().replaceAll('"', ''))
  const exact = SIMULATIONS.find(({ name }) => name === local)
  if (exact !== undefined) return exact
  const plus = local.indexOf('+')
  const name = plus === -1 ? local : local.slice(0, plus)
  const detail = plus === -1 ? '' : local.slice(plus + 1)
  const found = SIMULATIONS.find((other) => other.name === name) ?? SIMULATIONS[0]!
  const takes = found.refuse === 'first' ? '4' : '5'
  return CODE.test(detail) && detail.startsWith(takes) ? withCode(found, detail) : found
}
