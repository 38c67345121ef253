/**
 * NAME      import - many names and secrets of another provider at once
 * DESCRIPTION
 *   Stored in chunks, each in one transaction, in the order of the file. What is
 *   there already is left as it is, so a file may be given again after an
 *   interruption. Secrets that people chose are hashed as many at once as there
 *   are processors, at the full price; see secret-hash.
 */
import { availableParallelism } from 'node:os'
import { newId } from '../../base/id.js'
import type { Mode } from '../../lifecycle/page.js'
import type { CredentialRow } from '../../store/port/tenants.js'
import { checkNewCredential } from '../credential.js'
import type { TenantDeps } from '../principal.js'
import { findWorkspace } from '../workspace.js'
import { hashImported } from './secret-hash.js'

export interface ImportLine {
  /** Where it stands in the file, from 1. */
  readonly at: number
  readonly username: string
  readonly password: string
}

interface ImportOrder {
  /** Id or slug. */
  readonly workspace: string
  readonly mode: Mode
  readonly lines: readonly ImportLine[]
  /** Ends it after the last whole chunk. */
  readonly signal: AbortSignal
  /** Called after each chunk with the number of lines that are dealt with. */
  readonly progress: (done: number) => void
  readonly skipped: (line: ImportLine, why: string) => void
}

export interface Imported {
  readonly rows: readonly CredentialRow[]
  /** How many were imported before. */
  readonly there: number
  /** How many lines are no name and secret. */
  readonly wrong: number
  readonly isWhole: boolean
}

const CHUNK = 50
/** Threads of Node's pool, which is where bcrypt computes. */
const AT_ONCE = Math.min(4, availableParallelism())

/** Answers in the order of the items; without those that were not begun when it was ended. */
const inParallel = async <A, B>(
  items: readonly A[],
  signal: AbortSignal,
  work: (item: A) => Promise<B>,
): Promise<readonly B[]> => {
  const answers: B[] = []
  const queue = items.entries()
  const worker = async (): Promise<void> => {
    for (const [i, item] of queue) {
      if (signal.aborted) return
      answers[i] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return answers
}

const TAKEN = 'is already taken in this workspace'

/** `there`: it was imported; a text: why it can not be; null: it can. */
const lookAt = async (
  { store }: TenantDeps,
  workspaceId: string,
  line: ImportLine,
): Promise<{ readonly why: string; readonly is: 'there' | 'taken' | 'wrong' } | null> => {
  const [error] = checkNewCredential({ ...line, imported: true })
  if (error !== undefined) {
    return { is: 'wrong', why: `${error.field.replace('body.', '')}: ${error.message}` }
  }
  const rows = await store.credentialsByUsername(line.username)
  const row = rows.find((one) => one.workspaceId === workspaceId)
  return row === undefined ? null : { is: row.imported ? 'there' : 'taken', why: TAKEN }
}

/** Throws workspace.not_found. */
export const importCredentials = async (
  deps: TenantDeps,
  accountId: string,
  { workspace: ref, mode, lines, signal, progress, skipped }: ImportOrder,
): Promise<Imported> => {
  const { store, pepper, clock } = deps
  const workspace = await findWorkspace(deps, accountId, ref)
  const all: CredentialRow[] = []
  const count = { there: 0, taken: 0, wrong: 0 }
  const rowOf = async (line: ImportLine): Promise<CredentialRow> => {
    const id = newId('cred', clock.now())
    return {
      ...{ id, accountId, workspaceId: workspace.id, mode, username: line.username },
      ...{ hash: await hashImported(pepper, id, line.password), cidr: null, certificateFingerprint: null },
      ...{ imported: true, createdAt: clock.now(), lastUsedAt: null, lastUsedFrom: null },
    }
  }
  for (let from = 0; from < lines.length && !signal.aborted; from += CHUNK) {
    const fresh = new Map<string, ImportLine>()
    for (const line of lines.slice(from, from + CHUNK)) {
      const found = fresh.has(line.username)
        ? ({ is: 'taken', why: TAKEN } as const)
        : await lookAt(deps, workspace.id, line)
      if (found === null) fresh.set(line.username, line)
      else {
        count[found.is]++
        if (found.is !== 'there') skipped(line, found.why)
      }
    }
    const rows = await inParallel([...fresh.values()], signal, rowOf)
    if (signal.aborted) break
    const { taken } = await store.importCredentials(rows)
    for (const row of rows) {
      const line = fresh.get(row.username ?? '')
      if (!taken.includes(row.id)) all.push(row)
      else if (line !== undefined) skipped(line, TAKEN)
    }
    progress(Math.min(from + CHUNK, lines.length))
  }
  return { rows: all, there: count.there, wrong: count.wrong, isWhole: !signal.aborted }
}
