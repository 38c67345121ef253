/**
 * A process that runs one test file after the other, as it is told by the runner: what all of them import is loaded and
 * warm. Each file imports `tap` and takes its `t` for the root; here that is a test of its own, whose TAP goes back when
 * it has ended. What would end the process ends the file that ran; the runner runs it again, alone.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../parts/postern.js'

export interface Order {
  readonly name: string
  readonly file: string
  readonly limitMs: number
}

export interface Answer {
  readonly tap: string
  readonly ok: boolean
  /** Of a processor, with the children of this process that ended meanwhile. */
  readonly cpuMs: number
}

let current: object | null = null
// tap asks for its root at this place before it makes one; every file gets the same, so it leads to the file's own
Object.assign(globalThis, {
  [Symbol.for('TAP private constructor')]: new Proxy(
    {},
    {
      get: (_, key) => {
        const value = current && Reflect.get(current, key)
        return typeof value === 'function' ? value.bind(current) : value
      },
    },
  ),
})
const { Test } = await import('tap')

const childrenMs = (): number => {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    return 0
  }
}
const usedMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + childrenMs()
}

const run = async ({ name, file, limitMs }: Order): Promise<Answer> => {
  const before = usedMs()
  const one = new Test({ name, timeout: limitMs, cb: () => import(pathToFileURL(file).href) })
  // files that run beside it in other processes have tests of the same names
  one.testdirName = join(ROOT, '.tap', 'fixtures', name.replace(/[^\w.-]+/g, '-'))
  current = one
  let tap = ''
  one.on('data', (chunk) => {
    tap += chunk
  })
  // as the root of a process says it
  one.on('complete', () => one.comment(one.counts.toJSON()))
  await new Promise<void>((resolve) => one.runMain(resolve))
  return { tap, ok: one.results?.ok ?? false, cpuMs: Math.round(usedMs() - before) }
}

process.on('message', async (order: Order) => {
  const answer = await run(order)
  process.send?.(answer)
})
// what a file left open must not keep it
process.on('disconnect', () => process.exit(0))
