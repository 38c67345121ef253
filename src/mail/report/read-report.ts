/**
 * NAME      read-report - a mail that came back, read
 *   In the order of trust: complaints; the status part among the top-level parts; status fields in broken or
 *   single-part mail; then X-Failed-Recipients and the text, and these only where the header shows a
 *   machine. Auto-replies, receipts (RFC 8098) and what people forward are told apart and name nobody; but a
 *   receipt may be a rejection. Cost is linear and bounded (1 MB); nothing throws, wherever the mail is cut.
 *   A file with several mails (mbox) gives one report of them all.
 *   RFC 5965 feedback reports, RFC 6591 authentication failures, and the older form of Outlook.com that
 *   sends the message without a feedback part. Only the type tells a complaint (abuse, fraud) from a report
 *   that must suppress nobody (opt-out, auth-failure, not-spam); it is passed on as it stands.
 *   Fields lie by being vague: Exim and OpenSMTPD always write x.0.0, and the true code stands in
 *   Diagnostic-Code or only in the text. A specific Status is believed; a vague one gives way to the code of
 *   the remote server. The Action is believed over the Status, but for a `delayed` whose words say that the
 *   sender has given up (OpenSMTPD: "Envelope expired").
 */

import { codesIn, isVague } from '../reply.js'
import type { CategoryRule } from './category.js'
import { judge } from './classify.js'
import {
  findAddresses,
  header,
  isReturned,
  type Mail,
  type MimePart,
  readHeaders,
  readMail,
  sameAddress,
  textOf,
  toBinary,
  uniqueBy,
  words,
} from './mime.js'
import {
  addressees,
  type BounceNotice,
  headedIn,
  isAutoReply,
  isAway,
  isForwarded,
  isMachine,
  isNotice,
  isRobot,
  isStark,
  type Mention,
  namesIn,
  onlyOne,
  type SaidByNotice,
  saidAbout,
  saidIn,
} from './notice.js'
import { EXPIRED_DELAY, REJECTED, REJECTING } from './phrases.js'
import {
  type Action,
  actionOf,
  addressOf,
  commentOf,
  decodeXtext,
  diagnosticOf,
  distinct,
  type FieldGroups,
  hostOf,
  kindOf,
  type Report,
  type ReportFields,
  type ReportRecipient,
  readGroups,
  statusOf,
  UNSAID,
  withoutComments,
} from './report.js'

interface Feedback {
  readonly type: string
  readonly addresses: readonly string[]
  readonly envid: string | null
  readonly mailFrom: string | null
  readonly reportingMta: string | null
}

const all = (headers: ReadonlyMap<string, readonly string[]>, name: string): string[] =>
  (headers.get(name) ?? []).flatMap((value) => findAddresses(value).map((found) => found.address))

const differentOnes = (list: readonly string[]): string[] => [...new Set(list)].slice(0, 100)

const fromPart = (part: MimePart, returned: MimePart | undefined): Feedback => {
  const { headers } = readHeaders(`${textOf(part).trimStart()}\n`)
  const type = (/^[\w-]+/.exec(header(headers, 'feedback-type'))?.[0] ?? 'abuse').toLowerCase()
  const inner = returned === undefined ? new Map<string, string[]>() : readHeaders(returned.body).headers
  const named = [
    all(headers, 'original-rcpt-to'),
    all(headers, 'removal-recipient'),
    all(inner, 'x-hmxmroriginalrecipient'),
    all(inner, 'x-apparently-to'),
    all(inner, 'to'),
  ].find((list) => list.length > 0)
  return {
    type: type === 'opt-out-list' ? 'opt-out' : type,
    addresses: differentOnes(named ?? []),
    envid: header(headers, 'original-envelope-id') || null,
    mailFrom: all(headers, 'original-mail-from')[0] ?? null,
    reportingMta: header(headers, 'reporting-mta').replace(/^dns;\s*/i, '') || null,
  }
}

/** Outlook.com's "complaint about message from", which has no feedback part. */
const fromReturned = (returned: MimePart | undefined): Feedback | null => {
  if (returned === undefined) return null
  const { headers } = readHeaders(returned.body)
  const addresses = all(headers, 'x-hmxmroriginalrecipient')
  // the address can be blacked out; then our own reference in what is returned shows what it is
  if (addresses.length === 0 && !headers.has('x-postern-ref')) return null
  return {
    type: 'abuse',
    addresses: differentOnes(addresses),
    envid: null,
    mailFrom: null,
    reportingMta: null,
  }
}

const readFeedback = (mail: Mail): Feedback | null => {
  const part = mail.parts.find((one) => one.type === 'message/feedback-report')
  const returned = mail.parts.find((one) => /^(?:message\/rfc822|text\/rfc822-headers)$/.test(one.type))
  if (part !== undefined) return fromPart(part, returned)
  const subject = header(mail.headers, 'subject')
  return /^\s*complaint about message from/i.test(subject) ? fromReturned(returned) : null
}

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

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC)

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

const makeRecipient = (known: Known, rules: readonly CategoryRule[]): ReportRecipient => {
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

const MAX_MAILS = 20
/** Of further groups only the fields are read: looking for each in the prose costs the most. */
const FULLY_READ = 100

const isAddress = (text: string | null): text is string => text?.includes('@') === true

const WORDLESS = { own: '', context: '' }

/** `mention` is given where the group itself does not tell whom it is about; `unread`: the prose is not looked at. */
const fromFields = (
  fields: ReportFields,
  said: SaidByNotice,
  alone: boolean,
  mention: Mention | 'unread' | undefined,
  rules: readonly CategoryRule[],
): ReportRecipient => {
  const finalRecipient = addressOf(fields.get('final-recipient'))
  const originalRecipient = addressOf(fields.get('original-recipient'))
  const actual = addressOf(fields.get('x-actual-recipient'))
  const only = alone && said.mentions.length === 1 ? (said.mentions[0]?.address ?? null) : null
  const known = mention === 'unread' ? undefined : mention
  const address =
    known?.address ??
    [originalRecipient, finalRecipient, actual, only].find(isAddress) ??
    finalRecipient ??
    originalRecipient
  const status = statusOf(fields.get('status'))
  const stated = withoutComments(fields.get('action') ?? '')
  const byWords = said.clear ? said.action : null
  const byStatus = status?.startsWith('5') ? 'failed' : status?.startsWith('2') ? 'delivered' : byWords
  return makeRecipient(
    {
      address,
      finalRecipient,
      originalRecipient,
      // a word that nobody knows is not replaced by a guess
      action: stated === '' ? byStatus : actionOf(stated),
      ...(stated === '' || actionOf(stated) !== null ? {} : { unknownAction: oneLine(stated).slice(0, 40) }),
      status,
      diagnostic: diagnosticOf(fields.get('diagnostic-code')) ?? commentOf(fields.get('status')),
      remoteMta: hostOf(fields.get('remote-mta')),
      ...(mention === 'unread'
        ? WORDLESS
        : known === undefined
          ? saidAbout(said, address, alone)
          : { own: known.text, context: known.text }),
    },
    rules,
  )
}

/**
 * Exim names the list in every group and its members only in the text. Then the
 * groups and the text are read side by side, if they are equally many.
 */
const membersOf = (groups: FieldGroups, said: SaidByNotice): readonly Mention[] => {
  const names = new Set(groups.recipients.map((fields) => fields.get('final-recipient')))
  const paired = groups.recipients.length > 1 && names.size === 1
  return paired && said.mentions.length === groups.recipients.length ? said.mentions : []
}

/** Lets others have the thread for a moment. */
const yieldToLoop = (): Promise<void> => new Promise((resume) => setImmediate(resume))

/** A hundred recipients may cost tens of milliseconds, so each has its turn. */
const inTurns = async <T, R>(list: readonly T[], make: (one: T, at: number) => R): Promise<R[]> => {
  const made: R[] = []
  for (const one of list) {
    if (made.length > 0) await yieldToLoop()
    made.push(make(one, made.length))
  }
  return made
}

/** Above this a mail is read in several turns. */
const LARGE = 48_000

/** A report that names nobody may have come to an address that does: what it says is kept. */
const fromMentions = (
  addresses: readonly string[],
  said: SaidByNotice,
  rules: readonly CategoryRule[],
): Promise<ReportRecipient[]> => {
  const named: readonly (string | null)[] = addresses.length === 0 && said.clear ? [null] : addresses
  return inTurns(named, (address) =>
    makeRecipient({ address, action: said.action, ...saidAbout(said, address, named.length === 1) }, rules),
  )
}

const unique = (list: readonly string[]): string[] => uniqueBy(list, (one) => one).slice(0, 100)

const failedHeader = (mail: Mail): string[] =>
  unique(
    (mail.headers.get('x-failed-recipients') ?? []).flatMap((value) =>
      findAddresses(value).map((found) => found.address),
    ),
  )

const returnedPart = (mail: Mail): MimePart | undefined =>
  mail.parts.find((part) => isReturned(part, mail.headers))

const localOf = (address: string): string => address.slice(0, address.lastIndexOf('@')).toLowerCase()

const inText = (mail: Mail, said: SaidByNotice): string[] => {
  const found = unique(said.mentions.map((one) => one.address))
  if (found.length > 0) return found
  const reporter = findAddresses(words(mail.headers, 'from'))[0]?.address ?? ''
  const names = namesIn(said.notice, reporter.slice(reporter.indexOf('@') + 1))
  const copy = returnedPart(mail)
  // who encloses a mail and says nothing of it does not report on whom it went to
  const headed = headedIn(copy === undefined || !said.clear ? said.notice.returned : textOf(copy))
  // GroupWise lists names without a domain, and may be called otherwise than the domain that it serves
  const ofName = (name: string): string =>
    headed !== null && localOf(headed) === localOf(name) ? headed : name
  if (names.length > 0) return unique(names.map(ofName))
  if (headed !== null) return [headed]
  const ours = addressees(mail.headers)
  const only = onlyOne(said.notice, [...ours, reporter])
  if (only !== null) return [only]
  const subject = findAddresses(words(mail.headers, 'subject')).map((one) => one.address)
  return subject.filter((address) => !ours.some((own) => sameAddress(own, address))).slice(0, 1)
}

/** Whom the mail is about where no status part says it. */
const inWords = (mail: Mail, said: SaidByNotice): string[] => {
  const failed = failedHeader(mail)
  return failed.length > 0 ? failed : inText(mail, said)
}

const groupsOf = (mail: Mail): FieldGroups | null => {
  const parts = mail.parts.filter((part) =>
    /^(?:message|text)\/(?:x-|global-)?delivery-status$/.test(part.type),
  )
  if (parts.length === 0) return null
  const groups = parts.map((part) => readGroups(textOf(part)))
  const message = new Map(groups.flatMap((one) => [...one.message]).reverse())
  return { message, recipients: groups.flatMap((one) => one.recipients) }
}

/**
 * Dovecot and Sieve write a final rejection as a receipt (RFC 8098, RFC 5429 §2.1.2): a machine deleted
 * the mail, and says that it was rejected. What a person or a rule deleted unread is no failure.
 */
const rejection = (
  mail: Mail,
  { message, recipients }: FieldGroups,
  notice: BounceNotice,
): FieldGroups | null => {
  const rejected = recipients.filter((one) => REJECTING.test(one.get('disposition') ?? ''))
  if (!isMachine(mail.headers) || !REJECTED.test(notice.flat) || rejected.length === 0) return null
  return { message, recipients: rejected.map((one) => new Map([...one, ['action', 'failed']])) }
}

type Reading = Pick<
  Report,
  'kind' | 'source' | 'recipients' | 'reportingMta' | 'envid' | 'returnPathHints'
> & {
  readonly feedbackType?: string
}

const silent = (kind: Report['kind']): Reading => ({
  kind,
  source: null,
  recipients: [],
  reportingMta: null,
  envid: null,
  returnPathHints: [],
})

const complaint = (mail: Mail): Reading | null => {
  const feedback = readFeedback(mail)
  if (feedback === null) return null
  const recipients = feedback.addresses.map((address) => ({ ...UNSAID, address, originalRecipient: address }))
  return {
    kind: 'arf',
    feedbackType: feedback.type,
    source: 'feedback-part',
    recipients,
    reportingMta: feedback.reportingMta,
    envid: feedback.envid,
    returnPathHints: feedback.mailFrom === null ? [] : [feedback.mailFrom],
  }
}

/** Several Final-Recipients under one Original-Recipient are members of a list: each speaks for itself, not for the list. */
const membersApart = (recipients: readonly ReportRecipient[]): ReportRecipient[] => {
  const members = new Map<string | null, Set<string | null>>()
  for (const { originalRecipient: list, finalRecipient } of recipients)
    members.set(list, (members.get(list) ?? new Set()).add(finalRecipient))
  return recipients.map((one) => {
    const { originalRecipient: list, finalRecipient } = one
    const several = list !== null && (members.get(list)?.size ?? 0) > 1
    return several && isAddress(finalRecipient) ? { ...one, address: finalRecipient } : one
  })
}

/** A report that names nobody still says whether it is about a delay. */
const kindOr = (recipients: readonly ReportRecipient[], said: SaidByNotice): Report['kind'] =>
  recipients.length > 0 ? kindOf(recipients) : said.action === 'delayed' ? 'delay' : 'bounce'

const fromGroups = async (
  mail: Mail,
  groups: FieldGroups,
  said: SaidByNotice,
  source: 'status-part' | 'raw',
  rules: readonly CategoryRule[],
): Promise<Reading> => {
  const members = membersOf(groups, said)
  const told = members.length > 0 ? groups.recipients : distinct(groups.recipients)
  const stated = await inTurns(told, (fields, at) =>
    fromFields(
      fields,
      said,
      told.length === 1,
      members[at] ?? (at < FULLY_READ ? undefined : 'unread'),
      rules,
    ),
  )
  const recipients =
    stated.length > 0 ? membersApart(stated) : await fromMentions(inWords(mail, said), said, rules)
  const envid = groups.message.get('original-envelope-id')
  return {
    kind: kindOr(recipients, said),
    source,
    recipients,
    reportingMta: hostOf(groups.message.get('reporting-mta')),
    envid: envid === undefined ? null : decodeXtext(envid.replace(/^<|>$/g, '')),
    returnPathHints: ['x-postfix-sender', 'x-original-sender'].flatMap((name) =>
      findAddresses(groups.message.get(name) ?? '').map((found) => found.address),
    ),
  }
}

const readOne = async (mail: Mail, isLarge: boolean, rules: readonly CategoryRule[]): Promise<Reading> => {
  const feedback = complaint(mail)
  if (feedback !== null) return feedback
  if (isLarge) await yieldToLoop()
  const said = saidIn(mail)
  if (isLarge) await yieldToLoop()
  const receipt = mail.parts.find(({ type }) => /^message\/(?:global-)?disposition-notification$/.test(type))
  if (receipt !== undefined) {
    const rejected = rejection(mail, readGroups(textOf(receipt)), said.notice)
    return rejected === null ? silent('none') : fromGroups(mail, rejected, said, 'status-part', rules)
  }
  const groups = groupsOf(mail)
  // an answer in somebody's own name is no report, however it quotes one
  const answer =
    groups === null &&
    (isAway(mail.headers) || (!isRobot(mail.headers) && isAutoReply(mail.headers) && !isStark(said.notice)))
  const notice = !answer && isNotice(mail, said.notice)
  if (groups !== null && (notice || isMachine(mail.headers) || !isForwarded(mail.headers)))
    return fromGroups(mail, groups, said, 'status-part', rules)
  if (!notice) return silent(isAutoReply(mail.headers) ? 'autoreply' : 'none')
  const loose = readGroups(said.notice.text)
  if (loose.recipients.length > 0) return fromGroups(mail, loose, said, 'raw', rules)
  const recipients = await fromMentions(inWords(mail, said), said, rules)
  return {
    ...silent(kindOr(recipients, said)),
    source: failedHeader(mail).length > 0 ? 'header' : 'text',
    recipients,
  }
}

/** What the returned header tells of our mail: only from the top level, never from the report's own header. */
const aboutOriginal = (mail: Mail): Pick<Report, 'originalMessageId' | 'refs' | 'returnPathHints'> => {
  const part = returnedPart(mail)
  const { headers } =
    part === undefined ? { headers: new Map<string, string[]>() } : readHeaders(textOf(part))
  const id = /<[^<>\s]{1,250}>/.exec(header(headers, 'message-id'))?.[0]
  const back = /<[^<>\s]{1,250}>/.exec(
    header(mail.headers, 'in-reply-to') || header(mail.headers, 'references'),
  )
  return {
    originalMessageId: id ?? back?.[0] ?? null,
    refs: (headers.get('x-postern-ref') ?? []).slice(0, 100).map((ref) => ref.slice(0, 200)),
    returnPathHints: findAddresses(header(headers, 'return-path')).map((found) => found.address),
  }
}

const readText = async (text: string, rules: readonly CategoryRule[]): Promise<Report> => {
  const mail = readMail(text)
  const reading = await readOne(mail, text.length > LARGE, rules)
  const about = aboutOriginal(mail)
  // Who answers or forwards may enclose our tokens; that is no report.
  const reports = reading.kind !== 'none' && reading.kind !== 'autoreply'
  return {
    ...reading,
    messageId: /<[^<>\s]{1,250}>/.exec(header(mail.headers, 'message-id'))?.[0] ?? null,
    originalMessageId: about.originalMessageId,
    refs: reports ? about.refs : [],
    returnPathHints: reports ? unique([...reading.returnPathHints, ...about.returnPathHints]) : [],
  }
}

const MBOX = /\n(?=From \S{1,300} {1,3}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d)/

const mailsIn = (text: string): string[] => (text.startsWith('From ') ? text.split(MBOX, MAX_MAILS) : [text])

/** Reads a bounce, delay notice, delivery report, complaint or auto-reply. Never throws. */
export const readReport = async (raw: Uint8Array, rules: readonly CategoryRule[] = []): Promise<Report> => {
  const [text, ...others] = mailsIn(toBinary(raw))
  const first = await readText(text ?? '', rules)
  if (others.length === 0) return first
  const recipients = [...first.recipients]
  for (const other of others) recipients.push(...(await readText(other, rules)).recipients)
  return { ...first, kind: recipients.length > 0 ? kindOf(recipients) : first.kind, recipients }
}
