/**
 * Doors for the tests: the real ones, on free ports, over two small stages
 * kept in memory. Passwords and senders choose what the stages answer.
 */

import { generate } from 'selfsigned'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { newId } from '../../src/base/id.js'
import { silentLog } from '../../src/base/log.js'
import type { Config, SubmissionListener } from '../../src/config/config.js'
import { createBounceDoor } from '../../src/smtp/bounce-door.js'
import type { DoorSubmission, DoorTenants, Sending, SmtpMessage } from '../../src/smtp/ports.js'
import { createSubmissionDoor } from '../../src/smtp/submission-door.js'

export interface Who extends Sending {
  readonly name: string
}

export const PASSWORD = 'svc_test_correcthorsebatterystaple'

const LIMITS = { message_size: 100_000, recipients: 5, connections: 50, idle: 2_000 }

const who = (name: string): Who => ({ accountId: 'acct_1', workspaceId: 'ws_1', mode: 'test', name })

/** Mail that a door took, and what it asked for along the way. */
export interface Taken {
  readonly mails: SmtpMessage[]
  readonly revoked: Set<string>
  /** What submitMessage waits for before it answers. */
  gate: Promise<void>
}

export const tenantsIn = (taken: Taken): DoorTenants<Who> => {
  let failures = 0
  return {
    async authenticatePassword(user, password) {
      if (failures >= 3) throw new Fault('rate_limit.auth_failures', { retryAfter: 30 })
      if (password === 'platform')
        throw new Fault('validation.workspace_header_required', {
          detail: 'use the workspace id as username',
        })
      if (password !== PASSWORD) {
        failures++
        throw new Fault('auth.credentials_invalid')
      }
      return who(user)
    },
    authenticateRange: async (ip) => (ip === '127.0.0.1' ? who('range') : null),
    stillValid: (someone) => !taken.revoked.has(someone.name),
    consume(someone) {
      if (someone.name === 'limited') throw new Fault('rate_limit.exceeded', { retryAfter: 11.2 })
    },
  }
}

export const submissionIn = (taken: Taken): DoorSubmission<Who> => ({
  async submitMessage(_who, message) {
    const text = Buffer.from(message.raw).toString('latin1')
    const fault = /^X-Test-Fault: (\S+)/m.exec(text)?.[1]
    if (fault === 'bug') throw new Error('secret internals')
    if (fault !== undefined)
      throw new Fault(fault as 'validation.request_invalid', { detail: 'as the test wishes' })
    if (/\0|(?<!\r)\n|\r(?!\n)/.test(text))
      throw new Fault('validation.request_invalid', { detail: 'bare CR, bare LF or NUL in the message' })
    await taken.gate
    taken.mails.push(message)
    return { id: newId('em') }
  },
})

export const LISTENERS: readonly SubmissionListener[] = [
  { host: '127.0.0.1', port: 0, tls: 'starttls', legacy: false, ip_credentials: false },
  { host: '127.0.0.1', port: 0, tls: 'implicit', legacy: false, ip_credentials: false },
  { host: '127.0.0.1', port: 0, tls: 'none', legacy: false, ip_credentials: true },
  { host: '127.0.0.1', port: 0, tls: 'starttls', legacy: true, ip_credentials: false },
  { host: '127.0.0.1', port: 0, tls: 'none', legacy: false, ip_credentials: false },
]

let made: Promise<{ key: string; cert: string }> | null = null
export const certificate = (): Promise<{ key: string; cert: string }> => {
  made ??= generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  }).then(({ private: key, cert }) => ({ key, cert }))
  return made
}

export const openDoor = async (limits: Partial<Config['limits']> = {}, listeners = LISTENERS) => {
  const taken: Taken = { mails: [], revoked: new Set(), gate: Promise.resolve() }
  const door = createSubmissionDoor({
    config: { hostname: 'mx.postern.test', submission: listeners, limits: { ...LIMITS, ...limits } },
    certificate: await certificate(),
    tenants: tenantsIn(taken),
    submission: submissionIn(taken),
    clock: systemClock,
    log: silentLog(),
  })
  await door.start()
  return { door, taken }
}

export const openBounceDoor = async (limits: Partial<Config['limits']> = {}) => {
  const reports: { address: string; raw: Buffer }[] = []
  const door = createBounceDoor({
    config: {
      hostname: 'mx.postern.test',
      bounce: { host: '127.0.0.1', port: 0, domain: 'bounces.test' },
      limits: { ...LIMITS, ...limits },
    },
    verifyRecipient: (address) => /^b[a-z0-9]+@bounces\.test$/i.test(address),
    ingest: async (address, raw) => {
      if (/^X-Test-Fault: broken/m.test(Buffer.from(raw).toString('latin1'))) throw new Error('disk is gone')
      reports.push({ address, raw: Buffer.from(raw) })
    },
    clock: systemClock,
    log: silentLog(),
  })
  await door.start()
  return { door, reports }
}
