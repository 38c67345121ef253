#!/usr/bin/env node
// What tests reach in src/: compiles, runs the files with a WORD in their path, and prints a table.
// What bin/postern runs as a process of its own is a bundle, and is not counted.
//   node test/run/coverage.mjs [WORD…]
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from './compile.mjs'

const top = join(import.meta.dirname, '..', '..')
const folder = join(top, '.tap', 'coverage')
const run = (args, env = {}) =>
  spawnSync(process.execPath, args, { cwd: top, env: { ...process.env, ...env }, stdio: 'inherit' }).status ?? 1

if ((await compile()) === null) process.exit(1)
rmSync(folder, { recursive: true, force: true })
const words = process.argv.slice(2)
const tests = run([join('dist', 'test', 'run', 'main.js'), ...words], { NODE_V8_COVERAGE: folder })
const tap = join('node_modules', 'tap', 'dist', 'esm', 'run.mjs')
const report = run([tap, 'report', '--coverage-report=text', '--allow-incomplete-coverage'])
process.exitCode = tests || report
