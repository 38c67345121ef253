/**
 * How tests wait: by `eventually`, which ends and says what did not come about. A
 * sleep proves nothing on a slow machine, and a loop without an end hides what it
 * waited for. The few places that pass time for its own sake are named here.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const TEST = join(import.meta.dirname, '..', '..', '..', 'test')

const PASS_TIME: Readonly<Record<string, string>> = {
  'parts/eventually.ts': 'the one loop',
  'run/file.ts': 'a time limit',
  'http/raw.ts': 'parts of a request that arrive one after the other',
  'relay/upstream-server.ts': 'an upstream that is slow',
  'crash/load.ts': 'a client that tries again',
  'crash/cluster/database.ts': 'how long an outage lasts',
  'crash/cluster/deaths.ts': 'how long a daemon is cut off',
  'crash/cluster/takeover.ts': 'how long a daemon stands still',
  'crash/cluster/rounds.ts': 'a seed chooses when something breaks',
  'crash/full.ts': 'how long a disk is full',
  'crash/clocks.ts': 'how long an upstream is away',
  'crash/large.ts': 'small mails alone, to compare with',
  'crash/slow.ts': 'a seed chooses when it is told to end',
  'crash/rig.ts': 'a seed chooses when something breaks; a time limit',
  'crash/trouble.ts': 'a seed chooses how long trouble lasts',
  'crash/disk-full.test.ts': 'a full disk is kept full for a while',
  'crash/idempotent.test.ts': 'a lock of a minute',
  'store/postgres/cursors.test.ts': 'commits that are late',
}

const files = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.startsWith('bench/'))

const SLEEPS = /setTimeout\(\s*(resolve|wake|next|done|r)\s*,|setTimeout[^\n]* from 'node:timers\/promises'/
const ENDLESS = /while \([^\n]*\)\s*await (new Promise|soon|sleep|pause|once\b)|for \(;;\)[^\n]*await/

t.test('nobody sleeps but who must', async (t) => {
  t.ok(files.length > 100, 'the tests are where this test looks for them')
  for (const file of files) {
    const text = readFileSync(join(TEST, file), 'utf8')
    if (file in PASS_TIME) t.match(text, SLEEPS, `${file} still needs to`)
    else t.notMatch(text, SLEEPS, `${file} waits by eventually(what, condition)`)
  }
})

t.test('every wait ends', async (t) => {
  for (const file of files) {
    if (file === 'house/waiting.test.ts') continue
    t.notMatch(readFileSync(join(TEST, file), 'utf8'), ENDLESS, `${file} waits by eventually`)
  }
})
