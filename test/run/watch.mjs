#!/usr/bin/env node
// Compiles what changes in src/ and test/, and begins anew:
//   node test/run/watch.mjs dev [ARGUMENT…]    `postern dev`, straight from dist/src
//   node test/run/watch.mjs test [WORD…]       the test files with a WORD in their path
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compile } from './compile.mjs'

const top = join(import.meta.dirname, '..', '..')
const [what, ...words] = process.argv.slice(2)
const self = fileURLToPath(import.meta.url)
/** An editor writes a file in several steps. */
const SETTLED_MS = 50

if (what === 'run') {
  // whose name the lines to paste begin with
  process.argv[1] = join(top, 'bin', 'postern')
  const { main } = await import(join(top, 'dist', 'src', 'cli', 'main.js'))
  process.exitCode = await main(words)
} else if (what === 'dev' || what === 'test') {
  const args =
    what === 'dev' ? ['--max-semi-space-size=8', self, 'run', 'dev', ...words] : [join(top, 'dist/test/run/main.js'), ...words]
  let child = null
  const begin = () => {
    child = spawn(process.execPath, args, { stdio: 'inherit' })
  }
  const end = async () => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end().then(() => process.exit(130)))

  let [isDirty, isBusy] = [true, false]
  const look = async () => {
    if (isBusy) return
    isBusy = true
    while (isDirty) {
      isDirty = false
      const began = performance.now()
      const files = await compile()
      // what does not compile leaves the one that runs
      if (files === null || (files === 0 && child !== null)) continue
      await end()
      if (child !== null) process.stderr.write(`compiled ${files} in ${Math.round(performance.now() - began)} ms: again\n`)
      begin()
    }
    isBusy = false
  }
  let settled
  for (const room of ['src', 'test'])
    watch(join(top, room), { recursive: true }, () => {
      isDirty = true
      clearTimeout(settled)
      settled = setTimeout(look, SETTLED_MS)
    })
  await look()
} else {
  process.stderr.write('usage: npm run dev [-- ARGUMENT…], or npm run test:watch [-- WORD…]\n')
  process.exitCode = 64
}
