/**
 * NAME      access - the kinds that programs sign in with: API keys, and names and passwords of SMTP
 *   A secret comes from a file, or a new one is written to a file before its row is stored, so that after a crash the same
 *   command goes on with it.
 */
import { resolve } from 'node:path'
import { timeOrNull } from '../base/clock.js'
import { type FieldError, invalid } from '../base/fault.js'
import { keyRecord, sesVariables } from '../resource/tenants.js'
import type { CredentialRow, KeyRow } from '../store/port/tenants.js'
import {
  checkNewCredential,
  createCredential,
  isChosenSecret,
  isKeyedSecret,
  plainFingerprint,
  revokeCredential,
} from '../tenant/credential.js'
import {
  checkNewKey,
  createKey,
  isKeyOf,
  isTaken,
  newKeyText,
  revokeKey,
  sesSecretOf,
} from '../tenant/key.js'
import type { Declared } from './files.js'
import {
  ANOTHER,
  givenSecret,
  type Kind,
  outOf,
  ownerOf,
  plainOf,
  SAME,
  saidOf,
  secretField,
  secretFor,
  tried,
} from './kind.js'
import { type FileRef, markOf, outPlace, secretAt, secretIn, writeSecret } from './secrets.js'
import { type SetupDeps, slugOf, workspaceNamed } from './world.js'

const sesTextOf = (pepper: Uint8Array, row: KeyRow): string | null => {
  const secret = sesSecretOf(pepper, row)
  return secret && sesVariables(row, secret)
}

/**
 * The file for the access key of clients of SES; null where none is asked for. It is written when the key is there, since its
 * secret is made of that; one that is lost, or was never written, is written again.
 */
const sesFile = (deps: SetupDeps, { given, folder }: Declared, row: KeyRow | null) => {
  const { ses_out: path } = given
  if (typeof path !== 'string') return null
  const wrong = (message: string) => invalid([{ field: 'ses_out', kind: 'forbidden', message }])
  const place = outPlace(resolve(folder, path), deps.dataDir, 'ses_out')
  const wanted = row && sesTextOf(deps.pepper, row)
  if (row !== null && wanted === null)
    throw wrong('is for a new key: this one was made without an access key for clients of SES')
  const there = secretAt(place, 'ses_out')
  if (there !== null && there !== wanted)
    throw wrong(`${place}: holds something else, and is not written over`)
  const write = (made: KeyRow): void => writeSecret(place, sesTextOf(deps.pepper, made) ?? '')
  return { isMissing: row !== null && there === null, write }
}

export const key: Kind<KeyRow> = {
  rows: ({ keys }) => keys,
  load: ({ store }, accountId, id) => store.key(accountId, id),
  keyOf: (world, row) => ({ workspace: slugOf(world, row.workspaceId), name: row.name }),
  matches: ({ world }, one, row) =>
    row.name === one.name && row.workspaceId === (workspaceNamed(world, one.workspace)?.id ?? null),
  describe: (_context, row) => ({
    ...saidOf('key', keyRecord(row)),
    expires_at: timeOrNull(row.expiresAt),
    secret_file: SAME,
    ...(row.sesSalt !== null && { ses_out: SAME }),
  }),
  async want(context, one, row) {
    const { deps, world } = context
    const errors: FieldError[] = []
    const { given } = one
    const owner = ownerOf(world, one.workspace, errors, context.planned)
    const secret = (await tried(errors, () => givenSecret(deps, one))) ?? null
    const ses = (await tried(errors, () => sesFile(deps, one, row))) ?? null
    const expires = given.expires_at as string | undefined
    const expiresAt = expires === undefined ? null : Date.parse(expires)
    if (Number.isNaN(expiresAt))
      errors.push({
        field: 'expires_at',
        kind: 'format',
        message: 'must be a time such as 2027-01-31T00:00:00Z',
      })
    const wish = {
      name: one.name,
      mode: (given.mode as KeyRow['mode'] | undefined) ?? 'live',
      workspace: one.workspace === '' ? null : (owner?.id ?? one.workspace),
      expiresAt: Number.isNaN(expiresAt) ? null : expiresAt,
      rateLimitPerMinute: (given.rate_limit_per_minute as number | undefined) ?? null,
      permission: given.permission as KeyRow['permission'] | undefined,
      ses: ses !== null,
    }
    const checked = { ...wish, ...(secret !== null && { secret }) }
    if (row === null) errors.push(...checkNewKey(checked, deps.clock.now()))
    if (row === null && secret !== null && (await isTaken(deps, secret)))
      errors.push({ field: 'secret_file', kind: 'not_unique', message: 'is the secret of another key' })
    return {
      fields: {
        ...plainOf(one),
        ...(expires !== undefined && { expires_at: timeOrNull(wish.expiresAt) }),
        ...(ses !== null && { ses_out: ses.isMissing ? ANOTHER : SAME }),
        ...(row !== null && (await secretField(one, secret, (text) => isKeyOf(deps.pepper, row, text)))),
      },
      errors,
      alike: [...outOf(deps, one), ...(secret === null ? [] : [`secret ${markOf(deps.pepper, secret)}`])],
      make: async (acting) => {
        const text = secretFor(acting, one, () => newKeyText(wish.mode))
        const { row: made } = await createKey(acting, world.accountId, { ...wish, secret: text })
        ses?.write(made)
        return made.id
      },
      change: async () => (row !== null && ses?.isMissing ? ses.write(row) : undefined),
    }
  },
  remove: (deps, accountId, { id }) => revokeKey(deps, accountId, id),
}

const isLogin = (one: Declared): boolean =>
  one.given.cidr === undefined && one.given.certificate_fingerprint === undefined

const loginName = (one: Declared): string => (one.given.username as string | undefined) ?? one.name

/** As rows have it; what is none stays, and is told as a mistake. */
const fingerprintOf = ({ given: { certificate_fingerprint: text } }: Declared): string =>
  plainFingerprint(String(text)) ?? String(text)

export const credential: Kind<CredentialRow> = {
  rows: ({ credentials }) => credentials,
  load: ({ store }, _accountId, id) => store.credential(id),
  keyOf: (world, row) => ({
    workspace: slugOf(world, row.workspaceId),
    name: row.username ?? row.cidr ?? row.certificateFingerprint ?? row.id,
  }),
  matches: ({ world }, one, row) =>
    row.workspaceId === workspaceNamed(world, one.workspace)?.id &&
    (isLogin(one)
      ? row.username === loginName(one)
      : one.given.cidr === undefined
        ? row.certificateFingerprint === fingerprintOf(one)
        : row.cidr === one.given.cidr),
  describe: (_context, row, managed) => ({
    ...(row.username !== null && { username: row.username }),
    ...(row.cidr !== null && { cidr: row.cidr }),
    ...(row.certificateFingerprint !== null && { certificate_fingerprint: row.certificateFingerprint }),
    mode: row.mode,
    // only its keyed hash is known, where a setup made it
    ...(row.hash !== null && { secret_file: managed?.applied.secret_file ?? SAME }),
  }),
  async want(context, one, row, managed) {
    const { deps, world } = context
    const errors: FieldError[] = []
    const { given } = one
    const owner = ownerOf(world, one.workspace, errors, context.planned)
    const file = given.secret_file as FileRef | undefined
    if (isLogin(one) && file === undefined)
      errors.push({
        field: 'secret_file',
        kind: 'missing',
        message: 'a user name needs the file of its password',
      })
    const password =
      file === undefined
        ? null
        : ((await tried(errors, () => secretIn(one.folder, file, 'secret_file'))) ?? null)
    const wish = {
      workspace: owner?.id ?? one.workspace,
      mode: (given.mode as CredentialRow['mode'] | undefined) ?? 'live',
      username: isLogin(one) ? loginName(one) : ((given.username as string | undefined) ?? null),
      password,
      cidr: (given.cidr as string | undefined) ?? null,
      certificateFingerprint: (given.certificate_fingerprint as string | undefined) ?? null,
    }
    if (row === null && errors.length === 0) errors.push(...checkNewCredential(wish))
    const mark = password === null ? null : markOf(deps.pepper, password)
    const isKnown = async (): Promise<boolean> =>
      managed?.applied.secret_file === mark ||
      (managed?.applied.secret_file === undefined &&
        row !== null &&
        (isKeyedSecret(deps.pepper, row, password ?? '') || (await isChosenSecret(row.hash, password ?? ''))))
    return {
      fields: {
        ...plainOf(one),
        ...(given.certificate_fingerprint !== undefined && {
          certificate_fingerprint: fingerprintOf(one),
        }),
        ...(isLogin(one) && { username: loginName(one) }),
        ...(mark !== null && { secret_file: row !== null && !(await isKnown()) ? ANOTHER : mark }),
      },
      errors,
      alike: [
        ...(wish.username === null ? [] : [`login ${one.workspace} ${wish.username}`]),
        ...(wish.cidr === null ? [] : [`range ${one.workspace} ${wish.cidr.trim()}`]),
        ...(wish.certificateFingerprint === null ? [] : [`certificate ${fingerprintOf(one)}`]),
      ],
      make: async (acting) => (await createCredential(acting, world.accountId, wish)).id,
      change: async () => undefined,
    }
  },
  remove: (deps, accountId, { id }) => revokeCredential(deps, accountId, id),
}
