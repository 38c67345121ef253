/**
 * NAME      inside - what the open store tells: ways out of every workspace, alarms, endpoints, relays, and the running daemon
 *   Is there a way out for every workspace, and does it answer? A remedy that names an upstream anew keeps every part of
 *   its URL; secrets are files in it. Of several daemons each may leave something out (serve --only, relay.pools): what
 *   all of them leave out would wait without a word. A renewed certificate or a changed setting that the daemon has not
 *   read looks well in the files alone.
 */

import { changesIn, type Marks, marksOf } from '../../config/config.js'
import { ConfigError } from '../../config/problem.js'
import { readCertificate } from '../../keys/certificate.js'
import { collect } from '../../lifecycle/page.js'
import type { Waiting } from '../../record/queue.js'
import { USE_SMTP, USE_SMTPS } from '../../relay/dialogue/session.js'
import type { Trial } from '../../relay/trial.js'
import { serves } from '../../relay/warmup.js'
import type { KnownEndpoint } from '../../store/port/hooks.js'
import type { PoolRow, UpstreamRow } from '../../store/port/tenants.js'
import { CLOCK_AHEAD_MS } from '../../store/port/upkeep.js'
import { queryText, secretWord, upstreamText, upstreamUrl, upstreamWords } from '../../tenant/upstream.js'
import { createWaiting } from '../../tenant/waiting.js'
import type { CliContext } from '../context.js'
import { askManagement } from '../healthcheck.js'
import { settledElsewhere } from '../listening.js'
import { relayView } from '../relay-state.js'
import { ago, spanText } from '../table.js'
import { allUpstreams, tryAll } from '../upstream.js'
import { alarmSearch, heldByAlarm, releaseCommand, standingAlarms } from '../workspace.js'
import { type Check, type DoctorFacts, type Finding, fail, ok, warn } from './finding.js'

export const checkAlarms = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const holds = await store.holds(account.id)
  const rows = await collect((page) => store.workspaces(account.id, page))
  return rows.flatMap((row) => {
    const isHeld = heldByAlarm(row, holds)
    const said = standingAlarms(row)
    if (said.length === 0 && !isHeld) return []
    const detail = [...said, ...(isHeld ? ['its mail is held'] : [])].join('; ')
    const remedy = isHeld
      ? releaseCommand(row)
      : `postern email list --workspace ${row.slug} --q ${alarmSearch(row)}`
    return warn('alarm', `${row.slug}: ${detail}`, remedy)
  })
}

const relayFinding = ({ id, url, status, disabledReason, state }: KnownEndpoint): readonly Finding[] => {
  // what somebody has disabled is as they want it
  if (status === 'disabled' && disabledReason !== 'requested') {
    const why = disabledReason === 'gone' ? 'it answered 410' : 'it took nothing for five days'
    return [warn('webhook', `${url} is disabled: ${why}`, `postern webhook update ${id} --enable`)]
  }
  if (status === 'disabled' || state.health !== 'failing') return []
  const since = state.failingSince === null ? '' : `; it began ${ago(state.failingSince)}`
  return [warn('webhook', `${url} takes nothing${since}`, `postern webhook events ${id} --failed`)]
}

export const checkWebhooks = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const all = { accountId: account.id, workspaceId: null, mode: null }
  const rows = await collect((page) => store.endpoints(all, page))
  return rows.flatMap(relayFinding)
}

interface Status {
  readonly certificate: { readonly fingerprint: string; readonly expires_at: number }
  /** null: the daemon of `postern dev`. */
  readonly settings: Marks | null
}

const SOON = 21 * 86_400_000
const RELOAD = 'systemctl reload postern'

const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

const checkServed = async (
  { certificate: served }: Status,
  { config, now }: DoctorFacts,
): Promise<readonly Finding[]> => {
  try {
    const { fingerprint, expiresAt } = await readCertificate(config)
    if (fingerprint === served.fingerprint) return []
    const detail = `the daemon still serves the one until ${day(served.expires_at)}, on disk is one until ${day(expiresAt)}`
    const isUrgent = served.expires_at - now < SOON
    return [
      isUrgent ? fail('served certificate', detail, RELOAD, 78) : warn('served certificate', detail, RELOAD),
    ]
  } catch (error) {
    // what is wrong with the file is told by the check of the certificate
    if (error instanceof ConfigError) return []
    throw error
  }
}

const checkSettings = ({ settings }: Status, { written }: DoctorFacts): readonly Finding[] => {
  if (settings === null) return []
  const elsewhere = settledElsewhere(written)
  const { live, restart } = changesIn(settings, marksOf(written))
  const told = (keys: readonly string[], remedy: string): readonly Finding[] => {
    const changed = keys.filter((key) => !elsewhere.has(key)).sort()
    if (changed.length === 0) return []
    return [warn('running configuration', `not in force yet: ${changed.join(', ')}`, remedy)]
  }
  return [...told(live, RELOAD), ...told(restart, 'systemctl restart postern')]
}

export const checkRunning: Check = async (facts) => {
  if (!facts.running || facts.config.management.port === 0) return []
  let status: Status
  try {
    status = JSON.parse((await askManagement(facts.config.management, '/status')).text) as Status
  } catch {
    // that it does not answer is told by the check of the daemon
    return []
  }
  // a daemon that was there before this version was installed
  if (status.certificate === undefined)
    return [warn('running configuration', 'the daemon is of another version', 'systemctl restart postern')]
  const found = [...(await checkServed(status, facts)), ...checkSettings(status, facts)]
  return found.length > 0
    ? found
    : [ok('running configuration', 'certificate and settings are those on disk')]
}

/** Of a running daemon, which stores something each minute; otherwise the lead is the time that it was down. */
const checkLead = async (
  { store }: CliContext,
  { running, now }: DoctorFacts,
): Promise<readonly Finding[]> => {
  const lead = running ? await store.clockLead(now) : 0
  if (lead <= CLOCK_AHEAD_MS) return []
  const detail = `the clock is ${spanText(lead)} ahead of the last stored row, and lists do not follow it yet`
  return [warn('clock', detail, 'postern clock confirm, when it is right; or wait for an hour')]
}

/** The newest mail tells whether the clock has gone back. */
export const checkTimes = async (context: CliContext, facts: DoctorFacts): Promise<readonly Finding[]> => {
  const { store, account } = context

  const filter = { accountId: account.id, workspaceId: null, mode: null, status: null, to: null, tag: null }
  const [newest] = await collect(
    (page) => store.emails({ ...filter, createdAfter: null, createdBefore: null }, page),
    1,
  )
  const ahead = newest === undefined ? 0 : newest.createdAt - facts.now
  if (ahead < 60_000) return checkLead(context, facts)
  const detail = `the newest mail is from ${spanText(ahead)} in the future: the clock has gone back`
  return [fail('clock', detail, 'timedatectl set-ntp true', 75)]
}

/** What is wrong with one way out, and for whom: those whose mail waits for it, else all that would use it. */
interface Blocked {
  readonly waiting: Waiting
  readonly slugs: readonly string[]
  /** Recipients that are due and wait for it. */
  readonly due: number
}

/** The same with one more workspace. */
const joined = (before: Blocked | undefined, waiting: Waiting, slug: string, due: number): Blocked => {
  if (before === undefined || (before.due === 0 && due > 0)) return { waiting, slugs: [slug], due }
  if (before.due > 0 && due === 0) return before
  const slugs = before.slugs.includes(slug) ? before.slugs : [...before.slugs, slug]
  return { ...before, slugs, due: before.due + due }
}

const MOST_NAMED = 3

const listed = (slugs: readonly string[]): string => {
  const more = slugs.length - MOST_NAMED
  return `${slugs.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const findingOf = ({ waiting, slugs, due }: Blocked): Finding => {
  const { reason, plain, more, remedy } = waiting
  const why = `${plain}${more === null ? '' : `: ${more}`}`
  const mend = remedy ?? 'postern pool list'
  if (due === 0) return warn('workspace', `${listed(slugs)}: ${why}`, mend)
  const detail = `${due === 1 ? '1 recipient' : `${due} recipients`} of ${listed(slugs)} ${due === 1 ? 'waits' : 'wait'}: ${why}`
  return reason === 'no_upstream' ? fail('workspace', detail, mend, 69) : warn('workspace', detail, mend)
}

/** Where workspaces have no way out: a failure while their mail waits for it. */
export const checkWorkspaces = async (context: CliContext): Promise<readonly Finding[]> => {
  const { store, account, deps } = context
  const view = await relayView(context)
  const why = await createWaiting({ store, clock: deps.clock, view }, account.id)
  const workspaces = await collect((page) => store.workspaces(account.id, page))
  const slugs = new Map(workspaces.map(({ id, slug }) => [id, slug]))
  const depths = (await store.depth()).filter(({ workspaceId }) => slugs.has(workspaceId))
  const ways = [
    ...workspaces.flatMap(({ id, poolId, routes }) =>
      [poolId, ...routes.map((route) => route.poolId)].map((way) => ({
        ...{ workspaceId: id, poolId: way, due: 0 },
      })),
    ),
    ...depths.map(({ workspaceId, poolId, due, leased }) => ({ workspaceId, poolId, due: due + leased })),
  ]
  const blocked = new Map<string, Blocked>()
  for (const { workspaceId, poolId, due } of ways) {
    const waiting = await why.ofAll(workspaceId, poolId)
    if (waiting === null || (waiting.reason !== 'no_upstream' && waiting.reason !== 'paused')) continue
    const key = `${waiting.reason} ${waiting.remedy}`
    blocked.set(key, joined(blocked.get(key), waiting, slugs.get(workspaceId) ?? workspaceId, due))
  }
  return [...blocked.values()].map(findingOf)
}

/** The part of the URL that sets the login anew: where tokens are used, or nothing else is taken, by tokens. */
const loginOf = (said: string, { oauth, service }: UpstreamRow): string => {
  if (service != null) return `${secretWord(service)}=FILE`
  if (oauth?.tokenFile != null) return 'token_file=FILE'
  if (oauth?.serviceAccountFile != null)
    return queryText({ service_account_file: 'FILE', scope: oauth.scope })
  if (oauth != null)
    return queryText({
      ...{ token_url: oauth.tokenUrl ?? 'URL', client_id: oauth.clientId ?? 'ID', scope: oauth.scope },
      client_secret_file: oauth.sealedSecret !== null || oauth.sealedRefreshToken === null ? 'FILE' : null,
      refresh_token_file: oauth.sealedRefreshToken === null ? null : 'FILE',
    })
  const tokens = /offers .*(?:XOAUTH2|OAUTHBEARER)/.test(said)
  return tokens ? 'token_url=URL&client_id=ID&client_secret_file=FILE' : 'password_file=FILE'
}

/** For another host, which knows nothing of this one's settings: all that a URL can say of them; secrets come from a file. */
const settingsOf = (one: UpstreamRow): string =>
  `?${queryText(upstreamWords(one))}${one.user === null ? '' : `&${loginOf('', one)}`}`

/** The whole list of the pool again, since that is what an update takes; what a URL leaves out stays as it was. */
const updateOf = (pool: PoolRow, wrong: UpstreamRow, query: string): string => {
  const urls = pool.upstreams.map((one) => {
    return `--upstream '${upstreamUrl(one)}${one.id === wrong.id ? query : ''}'`
  })
  return ['postern pool update', pool.name, ...urls].join(' ')
}

/** What a server whose EHLO offers none answers to the command, and what our side says of it. */
const NO_STARTTLS = /STARTTLS|\b50[0-4]\b/i

const remedyFor = (
  stage: NonNullable<Trial['stage']>,
  said: string,
  pool: PoolRow,
  wrong: UpstreamRow,
): string => {
  if (/ENOTFOUND|ENODATA/.test(said))
    return `no name server knows this host; name another in: ${updateOf(pool, wrong, settingsOf(wrong))}`
  if (said.includes('EAI_AGAIN')) return 'no name server answers: look into /etc/resolv.conf'
  if (stage === 'greeting' && said === USE_SMTPS) return updateOf(pool, wrong, '?tls=implicit')
  if (stage === 'tls' && said === USE_SMTP) return updateOf(pool, wrong, '?tls=verify')
  if (/EADDRNOTAVAIL|addresses to connect from/.test(said))
    return `give this machine the address (ip address add), or name others in: ${updateOf(pool, wrong, settingsOf(wrong))}`
  if (stage === 'auth') return updateOf(pool, wrong, `?${loginOf(said, wrong)}`)
  if (stage === 'greeting') return 'look into its log: it does not take mail from here'
  if (stage === 'tls' && NO_STARTTLS.test(said))
    return `it offers no STARTTLS: switch TLS on there, or, in a network that you trust: ${updateOf(pool, wrong, '?tls=none')}`
  if (stage === 'tls') return `renew its certificate, or: ${updateOf(pool, wrong, '?tls=MODE')}`
  return `start it, open the firewall, or name another in: ${updateOf(pool, wrong, settingsOf(wrong))}`
}

/** A service sends with a return path of its own. */
const ofService = (name: string, { said, ms, upstream }: Trial, pool: PoolRow): Finding => {
  if (upstream.service === 'ses' && pool.returnPath === 'fixed')
    return ok('upstream', `${name}: ${said}, bounces come to the return path of the pool, ${ms} ms`)
  const detail = `${name}: ${said}: mail that it takes stays "sent", and its bounces are not known here`
  const remedy =
    upstream.service === 'ses'
      ? `verify the bounce domain there, then: postern pool update ${pool.name} --return-path fixed`
      : 'look for bounces there, or relay to smtp.mailgun.org by SMTP'
  return warn('upstream', detail, remedy)
}

const judge = (trial: Trial, pool: PoolRow): Finding => {
  const name = `${trial.pool}: ${upstreamText(trial.upstream)}`
  if (!trial.ok) {
    const at = trial.stage ?? 'connect'
    return fail(
      'upstream',
      `${name}: ${at} failed: ${trial.said}`,
      remedyFor(at, trial.said, pool, trial.upstream),
      at === 'auth' ? 77 : 69,
    )
  }
  if (trial.upstream.service != null) return ofService(name, trial, pool)
  if (!trial.dsn) {
    const detail = `${name} offers no DSN: mail that it takes stays "sent", never "delivered"`
    return warn('upstream', detail, 'switch DSN on there (Postfix: smtpd_discard_ehlo_keywords without dsn)')
  }
  return ok('upstream', `${name}: ${trial.said}, DSN, ${trial.ms} ms`)
}

/** Opens a session with each upstream; no mail is sent. */
export const checkUpstreams = async (context: CliContext): Promise<readonly Finding[]> => {
  const places = (await allUpstreams(context)).filter(({ upstream }) => upstream.state !== 'paused')
  const trials = await tryAll(context, places)
  return places.map(({ pool }, i) => judge(trials[i] as Trial, pool))
}

const WAITS = 'start one with relay, or name the pool in relay.pools of one: postern cluster show'

/** While daemons run; that none does is told by another check. */
export const checkRelays = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const writers = store.system === 'sqlite' ? [] : await store.writers()
  if (!writers.some(({ role }) => role === 'main')) return []
  const relays = writers.filter(({ role }) => role === 'relay')
  const pools = await collect((page) => store.pools(account.id, page))
  return pools
    .filter((pool) => pool.kind === 'relay' && !relays.some(({ pools: some }) => serves(some, pool)))
    .map(({ name }) => fail('relay', `no daemon carries the mail of pool ${name}`, WAITS, 69))
}
