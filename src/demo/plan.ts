/**
 * NAME      plan - what is sent in the week of the demo
 *   Two tenants, a shop and a supplier of power, and 3,000 mails of theirs: what, to whom, and how long before the end
 *   of the week. Pure, and the same each time. What becomes of a mail is in its address, as the sandbox has it. All
 *   domains are of `.example`, where nobody is.
 */
import type { WireDraft } from '../submission/draft.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const WEEK_MS = 7 * DAY
export const MAILS = 3_000

export type Tenant = 'shop' | 'power'

export interface PlannedMail {
  readonly tenant: Tenant
  readonly draft: WireDraft
}

interface DemoStep {
  /** Milliseconds before the end of the week. */
  readonly before: number
  readonly mails: readonly PlannedMail[]
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export const seeded = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const FIRST =
  'Ada Amir Ana Aoife Bo Carla Chen Dara Elif Emil Eva Femi Finn Greta Hana Hugo Ida Igor Ines Jan Jonas Kaya Kim Lars Lea Lena Luca Malik Mara Marta Mei Milo Nadia Nils Nora Olga Omar Otto Paula Petra Ravi Rosa Sami Sara Sven Tara Theo Tomas Uma Vera Yara Yusuf'.split(
    ' ',
  )
const LAST =
  'Adeyemi Arslan Bauer Berg Cohen Costa Dubois Eriksen Farah Fischer Garcia Haas Ivanov Jansen Kaur Keller Kowalski Larsen Lopez Maier Moreau Nguyen Novak Okafor Olsen Park Petrov Quinn Rossi Sato Schulz Silva Svensson Tanaka Torres Usman Vogel Weber Wolf Yilmaz Zhang'.split(
    ' ',
  )
const DOMAINS: readonly (readonly [name: string, share: number])[] = [
  ['freemail.example', 34],
  ['postbox.example', 22],
  ['webmail.example', 16],
  ['inbox.example', 12],
  ['stadtwerk.example', 4],
  ['uni-hafen.example', 4],
  ['kontor.example', 4],
  ['atelier-nord.example', 2],
  ['brauhaus.example', 2],
]

interface Template {
  readonly tenant: Tenant
  readonly share: number
  readonly kind: string
  readonly from: string
  readonly subject: (n: number, name: string) => string
  readonly says: string
}

const SHOP = 'Nordwind Shop <orders@nordwind.example>'
const ACCOUNTS = 'Nordwind Accounts <accounts@nordwind.example>'
const POWER = 'Lumen Power <billing@lumen.example>'

const TEMPLATES: readonly Template[] = [
  {
    ...{ tenant: 'shop', share: 26, kind: 'order', from: SHOP },
    subject: (n) => `Your order NW-${n} is confirmed`,
    says: 'Thank you. We pack it today and write again when it leaves.',
  },
  {
    ...{ tenant: 'shop', share: 20, kind: 'shipping', from: SHOP },
    subject: (n) => `NW-${n} is on its way`,
    says: 'Your parcel has left our house and arrives within two days.',
  },
  {
    ...{ tenant: 'shop', share: 12, kind: 'sign-in', from: ACCOUNTS },
    subject: (n) => `${100_000 + ((n * 7919) % 899_999)} is your sign-in code`,
    says: 'The code is good for ten minutes. Nobody of us will ever ask for it.',
  },
  {
    ...{ tenant: 'shop', share: 8, kind: 'password', from: ACCOUNTS },
    subject: () => 'Reset your password',
    says: 'Somebody asked for another password. If that was not you, do nothing.',
  },
  {
    ...{ tenant: 'shop', share: 5, kind: 'refund', from: SHOP },
    subject: (n) => `Refund for NW-${n}`,
    says: 'The money is on its way to the account that paid.',
  },
  {
    ...{ tenant: 'power', share: 16, kind: 'invoice', from: POWER },
    subject: (n) => `Invoice ${2_026_000 + n} is ready`,
    says: 'The amount is due in fourteen days. There is nothing to do for a direct debit.',
  },
  {
    ...{ tenant: 'power', share: 7, kind: 'meter', from: POWER },
    subject: () => 'Please read your meter this week',
    says: 'A photo is enough. It takes a minute.',
  },
  {
    ...{ tenant: 'power', share: 6, kind: 'reminder', from: POWER },
    subject: (n) => `Reminder for invoice ${2_026_000 + n}`,
    says: 'Perhaps it was overlooked. If it is paid already, thank you.',
  },
]

/** How many of a thousand have which local part in front; `-` is the name alone. */
const FATES: readonly (readonly [prefix: string, share: number])[] = [
  ['bounced+', 14],
  ['bounced+5.2.2', 8],
  ['bounced-later+', 6],
  ['late-bounce+', 2],
  ['deferred+', 18],
  ['deferred+4.2.2', 7],
  ['delayed+', 3],
  ['relayed+', 12],
  ['slow+', 8],
  ['complained+', 3],
  ['ooto+', 6],
]

const chosen = <T>(rows: readonly (readonly [T, number])[], at: number): T | null => {
  let sum = 0
  for (const [value, share] of rows) {
    sum += share
    if (at < sum) return value
  }
  return null
}

const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T

interface Person {
  readonly name: string
  readonly address: string
}

const someone = (random: () => number): Person => {
  const [first, last] = [pick(random, FIRST), pick(random, LAST)]
  const domain = chosen(DOMAINS, random() * 100) ?? 'freemail.example'
  const digits = random() < 0.3 ? String(Math.floor(random() * 90) + 10) : ''
  return { name: `${first} ${last}`, address: `${first}.${last}${digits}@${domain}`.toLowerCase() }
}

/** The address that has this fate: `bounced+ana@...`, or of a code alone, `bounced+5.2.2@...`. */
const fated = (prefix: string, address: string): string =>
  prefix.endsWith('+') ? `${prefix}${address}` : `${prefix}${address.slice(address.indexOf('@'))}`

const html = (name: string, says: string): string =>
  `<div style="font-family:sans-serif;max-width:32rem"><h2>Hello ${name}</h2><p>${says}</p><p>Kind regards</p></div>`

const mailOf = (template: Template, n: number, { name, address }: Person): PlannedMail => ({
  tenant: template.tenant,
  draft: {
    from: template.from,
    to: `${name} <${address}>`,
    subject: template.subject(40_000 + n, name),
    text: `Hello ${name},\n\n${template.says}\n\nKind regards\n`,
    html: html(name, template.says),
    tags: [{ name: 'kind', value: template.kind }],
  },
})

const TOTAL = TEMPLATES.reduce((sum, { share }) => sum + share, 0)
const BY_SHARE = TEMPLATES.map((one) => [one, one.share] as const)

const anyMail = (random: () => number, n: number): PlannedMail => {
  const template = chosen(BY_SHARE, random() * TOTAL) as Template
  const person = someone(random)
  const prefix = chosen(FATES, random() * 1_000)
  return mailOf(template, n, prefix === null ? person : { ...person, address: fated(prefix, person.address) })
}

/** How much is sent at this distance from the end: less at night and at the weekend. */
const rateAt = (before: number): number => {
  const hour = 15 - before / HOUR // the week ends in an afternoon
  const ofDay = 0.55 - 0.45 * Math.cos(((hour - 3) / 24) * 2 * Math.PI)
  const days = before / DAY
  return ofDay * (days > 2.6 && days < 4.6 ? 0.55 : 1)
}

/** The times of the steps: far apart first, close together at the end, so that a list of the last mails reads well. */
const times = (random: () => number): number[] => {
  const all: number[] = []
  for (let before = WEEK_MS - 10 * MINUTE; before > 8 * HOUR; before -= (0.4 + random() * 0.7) * HOUR)
    all.push(before)
  for (let before = 8 * HOUR; before > 2 * MINUTE; before -= (1.5 + random() * 7) * MINUTE) all.push(before)
  return all
}

/** Everybody at one provider whose server has lost its users for some minutes. */
const INCIDENT = { before: 20 * HOUR, domain: 'stadtwerk.example', addresses: 26 }
/** The bills of a month, at one time. */
const RUN = { before: 3 * DAY + 5 * HOUR, mails: 240, steps: 8 }

const incident = (random: () => number): DemoStep[] =>
  Array.from({ length: 2 }, (_, i) => ({
    before: INCIDENT.before - i * 2 * MINUTE,
    mails: Array.from({ length: INCIDENT.addresses / 2 }, (_, j) => {
      const { name, address } = someone(random)
      const local = `bounced+${address.slice(0, address.indexOf('@'))}.${i}${j}`
      return mailOf(TEMPLATES[6] as Template, j, { name, address: `${local}@${INCIDENT.domain}` })
    }),
  }))

const run = (random: () => number): DemoStep[] =>
  Array.from({ length: RUN.steps }, (_, i) => ({
    before: RUN.before - i * MINUTE,
    mails: Array.from({ length: RUN.mails / RUN.steps }, (_, j) =>
      mailOf(TEMPLATES[5] as Template, i * 100 + j, someone(random)),
    ),
  }))

/** Some that are not at an end when the week is over. */
const open = (random: () => number): DemoStep[] =>
  [30, 22, 9, 3].map((hours, i) => {
    const { name, address } = someone(random)
    const full = `deferred+forever@${address.slice(address.indexOf('@') + 1)}`
    return {
      before: hours * HOUR + 7 * MINUTE,
      mails: [mailOf(TEMPLATES[i] as Template, 900 + i, { name, address: full })],
    }
  })

/** Once more to addresses that bounced: they are suppressed by then. */
const AGAIN = { before: 2 * DAY, mails: 6 }

const again = (steps: readonly DemoStep[]): DemoStep[] => {
  const dead = steps
    .filter(({ before }) => before > AGAIN.before + HOUR)
    .flatMap(({ mails }) => mails)
    .filter(({ draft }) => String(draft.to).includes('<bounced+') && !String(draft.to).includes('<bounced+5'))
    .slice(0, AGAIN.mails)
  return dead.map((mail, i) => ({ before: AGAIN.before - i * 70 * MINUTE, mails: [mail] }))
}

export const planWeek = (): readonly DemoStep[] => {
  const random = seeded(20_261_127)
  const special = [...incident(random), ...run(random), ...open(random)]
  const count = special.reduce((sum, { mails }) => sum + mails.length, AGAIN.mails)
  const at = times(random)
  // the weight of a step is the time that it stands for
  const weights = at.map((before, i) => rateAt(before) * (before - (at[i + 1] ?? 0)))
  const all = weights.reduce((sum, one) => sum + one, 0)
  let made = 0
  let wanted = 0
  const usual = at.map((before, i): DemoStep => {
    wanted += ((weights[i] ?? 0) / all) * (MAILS - count)
    const mails: PlannedMail[] = []
    while (made < Math.round(wanted)) mails.push(anyMail(random, made++))
    return { before, mails }
  })
  return [...usual, ...again(usual), ...special]
    .filter(({ mails }) => mails.length > 0)
    .sort((a, b) => b.before - a.before)
}

/** What is sent when the demo runs: a provider that wants fewer mails. */
export const slowed = (): readonly PlannedMail[] => {
  const random = seeded(7)
  return Array.from({ length: 12 }, (_, i) => {
    const { name } = someone(random)
    return mailOf(TEMPLATES[1] as Template, 2_900 + i, { name, address: 'deferred+4.7.1@webmail.example' })
  })
}
