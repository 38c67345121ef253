/**
 * NAME      deps - what the verbs about endpoints stand on
 */
import type { Clock } from '../../base/clock.js'
import type { Dialler } from '../../base/dial/dial.js'
import { seal, unseal } from '../../base/secret.js'
import type { Mode } from '../../lifecycle/page.js'
import type { EndpointRow, Hooks } from '../../store/port/hooks.js'
import type { EventLog } from '../../store/port/log.js'
import type { PostTarget } from '../post.js'

export interface HookDeps {
  readonly store: Hooks & Pick<EventLog, 'log' | 'follow' | 'logEnds' | 'isMark' | 'loggedEvent'>
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly dialler: Dialler
}

/** Whose endpoints somebody sees. */
export interface HookScope {
  readonly accountId: string
  /** null: all of the account, and those of the account as a whole. */
  readonly workspaceId: string | null
  /** null: both. */
  readonly mode: Mode | null
}

const SECRET = 'webhook signing secret'
const HEADERS = 'webhook headers'

export const sealSecret = (pepper: Uint8Array, secret: string): string => seal(pepper, SECRET, secret)

export const sealHeaders = (
  pepper: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Pick<EndpointRow, 'headers' | 'headerNames'> => {
  const entries = Object.entries(headers)
  return {
    headers: entries.length === 0 ? null : seal(pepper, HEADERS, JSON.stringify(entries)),
    headerNames: entries.map(([name]) => name),
  }
}

/** What a post needs of an endpoint, in the clear: for the moment of the post. */
export const targetOf = (pepper: Uint8Array, row: EndpointRow, now: number): PostTarget => {
  const { previousSecret, previousUntil } = row
  const isBoth = previousSecret !== null && now < (previousUntil ?? 0)
  const secrets = [row.secret, ...(isBoth ? [previousSecret] : [])]
  return {
    url: row.url,
    headers:
      row.headers === null
        ? {}
        : Object.fromEntries(JSON.parse(unseal(pepper, HEADERS, row.headers)) as [string, string][]),
    secrets: secrets.map((secret) => unseal(pepper, SECRET, secret)),
  }
}
