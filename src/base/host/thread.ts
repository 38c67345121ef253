/**
 * NAME      thread - starting one, wherever the program lies
 * DESCRIPTION
 *   In a checkout and in a package a thread is a file beside the one that starts
 *   it. The single executable has no files: there it is an asset of that name,
 *   and a data: URL, since only a module may wait at its top level.
 *   No flags of the main thread: a test runner's import hooks would be loaded there, too.
 * NOTES
 *   V8 doubles the nursery of a busy thread up to 32 MiB, and keeps it. Our garbage
 *   dies in a small one just as well (measured: the same time for each mail), so
 *   it must not grow: bin/postern says so, but V8 forgets it whenever a thread starts.
 */
import { basename } from 'node:path'
import { getAsset, isSea } from 'node:sea'
import { setFlagsFromString } from 'node:v8'
import { Worker, type WorkerOptions } from 'node:worker_threads'

const assetUrl = (name: string): URL =>
  new URL(`data:text/javascript;base64,${Buffer.from(getAsset(name)).toString('base64')}`)

export const startThread = (file: URL, options: WorkerOptions): Worker => {
  const worker = new Worker(isSea() ? assetUrl(basename(file.pathname)) : file, { ...options, execArgv: [] })
  worker.once('online', () => setFlagsFromString('--semi-space-growth-factor=1'))
  return worker
}
