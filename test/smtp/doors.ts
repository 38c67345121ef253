/**
 * Doors for the tests: the real ones, on free ports, over two small stages
 * kept in memory. User names, passwords and headers choose what those answer.
 */
import { generate } from 'selfsigned'
import { type Clock, systemClock } from '../../src/base/clock.js'
import { Fault, type FaultCode } from '../../src/base/fault.js'
import { newId } from '../../src/base/id.js'
import { silentLog } from '../../src/base/log.js'
import type { Config } from '../../src/config/config.js'
import { createBounceDoor } from '../../src/smtp/bounce-door.js'
import type { DoorSubmission, DoorTenants } from '../../src/smtp/rules.js'
import { createSubmissionDoor } from '../../src/smtp/submission-door.js'
import { beginningOf } from '../../src/store/pools.js'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import type { MailToPostmaster } from '../../src/submission/operator-mail.js'
import type { EnvelopedMessage } from '../../src/submission/prepare.js'
import type { Login } from '../../src/tenant/principal.js'
import { bounceWith, limitsWith, listenerWith } from '../parts/settings.js'

export const PASSWORD = 'svc_test_correcthorsebatterystaple'

const LIMITS = limitsWith({ message_size: 100_000, recipients: 5, connections: 50, idle: 5_000 })

/** Clients behind a proxy that need no password. */
const RANGE = /^10\.7\./

const workspace: WorkspaceRow = { ...beginningOf('acct_1', 0).workspace, id: 'ws_1' }

/** The user name is the id of the login, so that a test can revoke it. */
const loginAs = (id: string): Login => ({
  workspace,
  accountId: 'acct_1',
  via: 'key',
  id,
  scope: 'workspace',
  workspaceId: 'ws_1',
  mode: 'test',
  limitPerMinute: 600,
  ...{ role: null, person: null, actor: { kind: 'key', id: 'key_1', name: null } },
})

/** Mail that a door took, and what a test may change under way. */
export interface Taken {
  readonly mails: EnvelopedMessage[]
  readonly revoked: Set<string>
  /** Fingerprints of client certificates that stand for a login. */
  readonly certificates: Set<string>
  /** True when nothing can be stored. */
  full: boolean
  /** True when the workspace says that its senders are restricted; then `stranger@` is none. */
  restricted: boolean
  /** What submitMessage waits for before it answers. */
  gate: Promise<void>
  /** How many were handed in so far, stored or not. */
  waiting: number
}

export const tenantsIn = (taken: Taken): DoorTenants => {
  let failures = 0
  return {
    async authenticatePassword(user, password) {
      if (password === 'platform') {
        throw new Fault('validation.workspace_header_required', {
          detail: 'use the workspace id as username',
        })
      }
      if (password === PASSWORD) return loginAs(user)
      if (++failures > 3) throw new Fault('rate_limit.auth_failures', { retryAfter: 30 })
      throw new Fault('auth.credentials_invalid')
    },
    authenticateRange: async (ip) => (ip === '127.0.0.1' || RANGE.test(ip) ? loginAs('range') : null),
    authenticateCertificate: async (fingerprint) =>
      taken.certificates.has(fingerprint) ? loginAs('cert') : null,
    hasRange: async (ip) => RANGE.test(ip),
    stillValid: async ({ id }) => !taken.revoked.has(id),
    workspaceForSend: async () => ({ ...workspace, restrictSenders: taken.restricted }),
    sendWindow: {
      consume: async ({ id }) => ({ allowed: id !== 'limited', limit: 600, remaining: 0, reset: 0 }),
      exceeded: () => new Fault('rate_limit.exceeded', { retryAfter: 11.2 }),
    },
  }
}

export const submissionIn = (taken: Taken): DoorSubmission => ({
  accepting: () => !taken.full,
  async checkSender(_workspace, address) {
    if (address.startsWith('stranger@')) throw new Fault('email.sender_not_allowed')
  },
  async submitMessage(_login, message) {
    const text = Buffer.from(message.raw).toString('latin1')
    const wish = /^X-Test-Fault: (\S+)/m.exec(text)?.[1]
    if (wish === 'bug') throw new Error('secret internals')
    if (wish !== undefined) throw new Fault(wish as FaultCode, { detail: 'as the test wishes' })
    if (/\0|(?<!\r)\n|\r(?!\n)/.test(text)) {
      throw new Fault('validation.request_invalid', { detail: 'bare CR, bare LF or NUL in the message' })
    }
    taken.waiting++
    await taken.gate
    taken.mails.push(message)
    return { id: newId('em'), replayed: false }
  },
})

/** A proxy on this machine stands before it. */
const BEHIND = { proxy_protocol: true, trusted_proxies: ['127.0.0.1'] }

/** By the names that dialogues use. */
export const LISTENERS = {
  starttls: listenerWith({ tls: 'starttls' }),
  implicit: listenerWith({ tls: 'implicit' }),
  range: listenerWith({ tls: 'none', ip_credentials: true }),
  clear: listenerWith({ tls: 'none' }),
  legacy: listenerWith({ tls: 'starttls', legacy: true }),
  proxied: listenerWith({ tls: 'none', ip_credentials: true, ...BEHIND }),
  proxiedTls: listenerWith({ tls: 'implicit', ...BEHIND }),
} as const
export type ListenerName = keyof typeof LISTENERS

let made: Promise<{ key: string; cert: string }> | null = null

/** One self-signed certificate for `localhost`, for the whole process. */
export const certificate = (): Promise<{ key: string; cert: string }> => {
  made ??= generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  }).then(({ private: key, cert }) => ({ key, cert }))
  return made
}

export const openDoor = async (
  name: ListenerName,
  limits: Partial<Config['limits']> = {},
  clock: Clock = systemClock,
) => {
  const taken: Taken = {
    mails: [],
    revoked: new Set(),
    certificates: new Set(),
    full: false,
    restricted: false,
    gate: Promise.resolve(),
    waiting: 0,
  }
  const door = createSubmissionDoor({
    config: {
      hostname: 'mx.postern.test',
      submission: [LISTENERS[name]],
      limits: { ...LIMITS, ...limits },
    },
    certificate: await certificate(),
    tenants: tenantsIn(taken),
    submission: submissionIn(taken),
    clock,
    log: silentLog(),
  })
  await door.start()
  return { door, taken, port: door.addresses[0]?.port ?? 0 }
}

export const openBounceDoor = async (
  limits: Partial<Config['limits']> = {},
  bounce: Partial<Config['bounce']> = {},
) => {
  const reports: { address: string; raw: Buffer }[] = []
  const letters: MailToPostmaster[] = []
  const door = createBounceDoor({
    config: {
      hostname: 'mx.postern.test',
      bounce: bounceWith(bounce),
      limits: { ...LIMITS, ...limits },
    },
    certificate: await certificate(),
    toPostmaster: async (mail) => {
      if (/^Delivered-To: /m.test(Buffer.from(mail.raw).toString('latin1'))) return 'loop'
      letters.push({ ...mail, raw: Buffer.from(mail.raw) })
      return 'taken'
    },
    domainReports: {
      takesReports: () => false,
      takeReport: () => Promise.reject(new Error('no reports are taken here')),
    },
    verifyRecipient: (address) => /^(?:b[a-z0-9]+|fbl)@bounces\.test$/i.test(address),
    ingest: async (address, raw) => {
      if (/^X-Test-Fault: broken/m.test(Buffer.from(raw).toString('latin1'))) throw new Error('disk is gone')
      reports.push({ address, raw: Buffer.from(raw) })
      return { kind: address.startsWith('fbl@') ? 'none' : 'bounce', did: 'nothing' }
    },
    clock: systemClock,
    log: silentLog(),
  })
  await door.start()
  return { door, reports, letters, port: door.address.port }
}
