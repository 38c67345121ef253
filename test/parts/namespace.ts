/**
 * A network of its own beside this machine's: many client addresses that are not
 * loopback. It wants root and a kernel that lets us; where it cannot be had the
 * reason is an answer, to be printed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cleanEnv } from './postern.js'

export interface Namespace {
  /** This machine, as seen from there. */
  readonly host: string
  /** Addresses of clients there. */
  readonly clients: readonly string[]
  /** Runs a program there. */
  spawn(program: string, args: readonly string[]): ChildProcess
  remove(): void
}

const ip = (...words: string[]): void => {
  execFileSync('ip', words, { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** A namespace with so many client addresses, or why there is none. */
export const namespace = (clients: number): Namespace | string => {
  const id = process.pid % 60_000
  const [name, here, there] = [`postern${id}`, `pt${id}a`, `pt${id}b`]
  // private addresses, apart from those of other runs at the same time
  const net = `10.${200 + (id % 50)}.${Math.floor(id / 50) % 250}`
  const addresses = Array.from({ length: clients }, (_, i) => `${net}.${100 + i}`)
  const remove = (): void => {
    ip('netns', 'del', name)
  }
  try {
    ip('netns', 'add', name)
    ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
    ip('addr', 'add', `${net}.1/24`, 'dev', here)
    ip('link', 'set', here, 'up')
    for (const address of addresses) ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', there)
    ip('-n', name, 'link', 'set', there, 'up')
    ip('-n', name, 'link', 'set', 'lo', 'up')
  } catch (error) {
    const { stderr, message } = error as { stderr?: Buffer; message: string }
    try {
      remove()
    } catch {
      // it was never made
    }
    return `no network namespace (it wants root and ip): ${(stderr?.toString() || message).trim()}`
  }
  return {
    host: `${net}.1`,
    clients: addresses,
    spawn: (program, args) =>
      spawn('ip', ['netns', 'exec', name, program, ...args], {
        env: cleanEnv(),
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    remove,
  }
}
