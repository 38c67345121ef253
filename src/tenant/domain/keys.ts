/**
 * NAME      keys - the DKIM keys of a sending domain
 * DESCRIPTION
 *   Keys come in pairs, RSA-2048 and Ed25519 (RFC 8463), each under a selector of
 *   its own: receivers that know only RSA ignore the other signature. Private
 *   halves are sealed with the pepper.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { seal } from '../../base/secret.js'
import { dkimRecord, loadDkimKey } from '../../mail/dkim.js'
import type { DkimKeyRow } from '../../store/port/tenants.js'

/** The purpose under which DKIM keys are sealed; relay/ unseals with the same. */
export const DKIM_SEAL = 'dkim-key'

type Algorithm = DkimKeyRow['algorithm']

const make = promisify(generateKeyPair)

/** Beside the event loop: an RSA key takes a tenth of a second and more. */
const generate = async (algorithm: Algorithm): Promise<KeyObject> =>
  (algorithm === 'rsa' ? await make('rsa', { modulusLength: 2048 }) : await make('ed25519')).privateKey

/** `pn20261121r`, and `pn20261121br` when that day has seen a rotation already. */
const selectorFor = (algorithm: Algorithm, now: number, taken: ReadonlySet<string>): string => {
  const day = new Date(now).toISOString().slice(0, 10).replaceAll('-', '')
  for (let n = 0; ; n++) {
    const turn = n === 0 ? '' : n < 26 ? String.fromCharCode(97 + n) : `${n}x`
    const selector = `pn${day}${turn}${algorithm === 'rsa' ? 'r' : 'e'}`
    if (!taken.has(selector)) return selector
  }
}

/** A private key that is published already, under its selector. */
export interface Brought {
  readonly selector: string
  readonly pem: string
}

/** RFC 6376, section 3.1: labels as in a domain. */
const SELECTOR = /^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

export const isSelector = (text: string): boolean => SELECTOR.test(text)

/** A key that somebody brings; throws where DKIM can not use it, and never says it. */
export const broughtKey = (pepper: Uint8Array, { selector, pem }: Brought, now: number): DkimKeyRow => {
  const key = loadDkimKey(pem)
  return {
    selector: selector.toLowerCase(),
    algorithm: key.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'rsa',
    sealed: seal(pepper, DKIM_SEAL, key.export({ type: 'pkcs8', format: 'pem' }) as string),
    record: dkimRecord(key),
    ...{ state: 'active', createdAt: now, retiredAt: null },
  }
}

/** A fresh pair, its selectors unlike those of `old`. */
export const makeKeys = async (
  pepper: Uint8Array,
  state: DkimKeyRow['state'],
  old: readonly DkimKeyRow[],
  now: number,
): Promise<readonly DkimKeyRow[]> => {
  const taken = new Set(old.map(({ selector }) => selector))
  const fresh = async (algorithm: Algorithm): Promise<DkimKeyRow> => {
    const key = await generate(algorithm)
    const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
    return {
      selector: selectorFor(algorithm, now, taken),
      algorithm,
      sealed: seal(pepper, DKIM_SEAL, pem),
      record: dkimRecord(key),
      state,
      createdAt: now,
      retiredAt: null,
    }
  }
  return Promise.all([fresh('rsa'), fresh('ed25519')])
}
