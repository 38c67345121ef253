/**
 * A receiver of webhooks in a process of its own, whose answers a test chooses path
 * by path. It can be killed, and come back at the same port.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'

export type Behaviour =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly kind: 'hang' | 'reset' | 'reset_in_answer' }

export interface Got {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ToReceiver {
  readonly n: number
  readonly path: string
  readonly how: Behaviour
}

export type FromReceiver =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'set'; readonly n: number }
  | { readonly kind: 'got'; readonly post: Got; readonly ok: boolean }

export interface RemoteReceiver {
  url(path: string): string
  /** How this path answers from now on; 200 is what it answers before. */
  set(path: string, how: Behaviour): Promise<void>
  /** Every post to a path so far, whatever it was answered. */
  got(path: string): readonly Got[]
  idsOf(path: string): string[]
  /** Of those that were answered with success. */
  takenAt(path: string): string[]
  kill(): Promise<void>
  /** After a kill: at the same port, answering 200. */
  revive(): Promise<void>
}

const PROCESS = join(import.meta.dirname, 'remote-receiver-process.js')

export const remoteReceiver = async (t: Test): Promise<RemoteReceiver> => {
  const posts: { readonly post: Got; readonly ok: boolean }[] = []
  const waiting = new Map<number, () => void>()
  let child: ChildProcess | null = null
  let port = 0
  let n = 0

  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      child = fork(PROCESS, [String(port)], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      child.once('error', reject)
      child.on('message', (message: FromReceiver) => {
        if (message.kind === 'got') posts.push(message)
        else if (message.kind === 'set') waiting.get(message.n)?.()
        else {
          port = message.port
          resolve()
        }
      })
    })

  const kill = async (): Promise<void> => {
    if (child === null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    child = null
  }

  const idOf = ({ headers }: Got): string => headers['webhook-id'] ?? ''
  await start()
  t.teardown(kill)
  const got = (path: string): readonly Got[] =>
    posts.flatMap(({ post }) => (post.path === path ? [post] : []))
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    set: (path, how) =>
      new Promise((resolve) => {
        waiting.set(++n, resolve)
        child?.send({ n, path, how } satisfies ToReceiver)
      }),
    got,
    idsOf: (path) => got(path).map(idOf),
    takenAt: (path) => posts.flatMap(({ post, ok }) => (ok && post.path === path ? [idOf(post)] : [])),
    kill,
    revive: start,
  }
}
