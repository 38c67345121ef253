/**
 * NAME      queue-carry - the queue, moved to another machine
 * DESCRIPTION
 *   `export` marks what waits as exported, in small commits, and then writes it to
 *   a file; from the mark on it is not sent from here. Mails of which something is
 *   under way or held stay, and are told. `import` looks through the whole file
 *   before it stores anything, and passes over ids that are here already, so a
 *   file may be imported twice. Both may be cut off and run again. `take-back`
 *   lets exported mail go on here, when the file was not imported anywhere.
 * FORMAT
 *   One JSON object a line: first {postern_queue: 1, schema, exported_at}, then a
 *   mail each (port-carry.ts; `raw` in base64), last {end: true, mails}. Mode 0600:
 *   it holds what people wrote.
 */
import { createReadStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock, toRfc3339 } from '../base/clock.js'
import { syncFolder } from '../base/folder.js'
import { type CarriedMail, EXPORTED } from '../store/port-carry.js'
import type { QueueScope } from '../store/port-operations.js'
import { queueMatches } from '../tenant/queue/orders.js'
import { command } from './command.js'
import { type House, withHouse } from './context.js'
import { Refusal } from './exit.js'
import { namesOf, queueGround, SCOPE, scopeFor, scopeText } from './queue-scope.js'

const FORMAT = 1
const { workspace, pool, email, all } = SCOPE
const PARTS = { workspace, pool, email, all }

interface PartArgs {
  readonly workspace: string | undefined
  readonly pool: string | undefined
  readonly email: string | undefined
  readonly all: boolean | undefined
}

const scopeOf = (house: House, verb: string, args: PartArgs): Promise<QueueScope> =>
  scopeFor(house, verb, { ...args, domain: undefined, upstream: undefined })

/** Ids of all exported mails of a scope. */
const exportedOf = async function* ({ store }: House, scope: QueueScope): AsyncGenerator<string> {
  const seen = new Set<string>()
  for (let after: string | null = ''; after !== null; ) {
    const { ids, next }: { ids: readonly string[]; next: string | null } = await store.exported(scope, after)
    for (const id of ids) {
      if (!seen.has(id)) yield id
      seen.add(id)
    }
    after = next
  }
}

interface Written {
  readonly mails: number
  /** Those of their recipients that had not settled. */
  readonly recipients: number
}

const writeMails = async (house: House, scope: QueueScope, file: string): Promise<Written> => {
  const draft = `${file}.part`
  await rm(draft, { force: true })
  const out = await open(draft, 'wx', 0o600)
  let mails = 0
  let recipients = 0
  try {
    const line = (value: object) => out.write(`${JSON.stringify(value)}\n`)
    await line({ postern_queue: FORMAT, exported_at: toRfc3339(systemClock.now()) })
    for await (const id of exportedOf(house, scope)) {
      const mail = await house.store.carried(id)
      if (mail === null) continue
      await line({ ...mail, raw: mail.raw === null ? null : Buffer.from(mail.raw).toString('base64') })
      mails++
      recipients += mail.recipients.filter(({ held }) => held === EXPORTED).length
    }
    await line({ end: true, mails })
    await out.sync()
  } finally {
    await out.close()
  }
  await rename(draft, file)
  syncFolder(dirname(file))
  return { mails, recipients }
}

export const exportQueue = command({
  usage: 'export <file>',
  summary: 'Write what waits to a file, to be sent by another machine and no more by this one',
  positionals: { file: { type: 'string', demandOption: true, describe: 'The file to make' } },
  options: PARTS,
  destroys: true,
  examples: [['$0 queue export --all queue.jsonl --yes', 'take the queue along']],
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const file = resolve(args.file)
      if (existsSync(file)) throw new Refusal(73, `${file}: exists already`)
      const scope = await scopeOf(house, 'export', args)
      const count = await queueMatches(queueGround(house), scope)
      const where = scopeText(scope, await namesOf(house))
      terminal.say(`${where}: ${count.waiting} waiting, ${count.held} held, ${count.underWay} under way`)
      if (args.dryRun) {
        terminal.data({ file, mails: 0, waiting: count.waiting, dry_run: true }, () => {
          return `would export ${count.waiting} recipients of ${where}`
        })
        return
      }
      await terminal.confirm(`export ${where}; this machine will not send it`, args.yes)
      const reason = `exported to ${file}`
      await house.store.operate({ action: 'export', scope, to: null, reason, now: systemClock.now() })
      const { mails, recipients } = await writeMails(house, scope, file)
      const left = await queueMatches(queueGround(house), scope)
      const held = left.held - recipients // what has left is held here, too
      const record = { file, mails, waiting: left.waiting, under_way: left.underWay, held, dry_run: false }
      terminal.data(record, () => `${file}  ${mails} mails`)
      const stayed = left.waiting + left.underWay + held
      if (stayed > 0)
        terminal.say(
          `${stayed} recipients stayed here: mail that is held, or under way; ` +
            'postern queue release --help, then export to another file',
        )
      if (mails === 0) return
      terminal.say(`next, on the other machine: postern queue import ${args.file}`)
      terminal.say('if that does not happen: postern queue take-back, with the same scope')
    }),
})

export const takeBack = command({
  usage: 'take-back',
  summary: 'Send exported mail from here after all; only when its file was not imported',
  options: PARTS,
  destroys: true,
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const scope = await scopeOf(house, 'take-back', args)
      const mails: string[] = []
      for await (const id of exportedOf(house, scope)) mails.push(id)
      const where = scopeText(scope, await namesOf(house))
      if (args.dryRun) {
        return terminal.data(
          { mails: mails.length, changed: 0 },
          () => `would take back ${mails.length} mails`,
        )
      }
      await terminal.confirm(`take back ${mails.length} mails of ${where}`, args.yes)
      const order = {
        action: 'take_back',
        scope,
        to: null,
        reason: 'taken back',
        now: systemClock.now(),
      } as const
      const changed = await house.store.operate(order)
      terminal.data({ mails: mails.length, changed }, () => `${mails.length} mails are due here again`)
    }),
})

const bad = (file: string, line: number, what: string): Refusal => new Refusal(65, `${file}:${line}: ${what}`)

const parsed = (text: string, file: string, line: number): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // told below
  }
  throw bad(file, line, 'is no JSON object')
}

/** Every mail of the file, with the number of its line. Throws unless the file is whole. */
const readMails = async function* (file: string): AsyncGenerator<readonly [line: number, mail: CarriedMail]> {
  let line = 0
  let mails = 0
  let ended = false
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++
    if (text === '') continue
    const value = parsed(text, file, line)
    if (line === 1) {
      if (value.postern_queue !== FORMAT) throw bad(file, 1, 'is no export of a queue, or of a newer Postern')
    } else if (value.end === true) {
      ended = value.mails === mails
    } else {
      const { id, workspace, pool, email, recipients, events, raw } = value
      const whole =
        [id, workspace, pool].every((one) => typeof one === 'string') &&
        typeof email === 'object' &&
        Array.isArray(recipients) &&
        Array.isArray(events) &&
        (raw === null || typeof raw === 'string')
      if (!whole) throw bad(file, line, 'is no mail')
      mails++
      const bytes = raw === null ? null : Buffer.from(String(raw), 'base64')
      yield [line, { ...(value as unknown as CarriedMail), raw: bytes }]
    }
  }
  if (!ended) throw bad(file, line, 'the file ends early; export again')
}

type Target = { readonly workspaceId: string; readonly poolId: string }

/** Where mails of a workspace and a pool go here; told once for each pair that is missing. */
const createTargets = (
  { store, account }: House,
  to: { workspace: string | undefined; pool: string | undefined },
) => {
  const known = new Map<string, Target>()
  return async (file: string, line: number, mail: CarriedMail): Promise<Target> => {
    const slug = to.workspace ?? mail.workspace
    const name = to.pool ?? mail.pool
    const key = `${slug} ${name}`
    const found = known.get(key)
    if (found !== undefined) return found
    const workspace = await store.workspace(account.id, slug)
    if (workspace === null)
      throw bad(file, line, `there is no workspace ${slug} here; make it, or name another with --workspace`)
    const pool = await store.pool(account.id, name)
    if (pool === null)
      throw bad(file, line, `there is no egress pool ${name} here; make it, or name another with --pool`)
    const target = { workspaceId: workspace.id, poolId: pool.id }
    known.set(key, target)
    return target
  }
}

export const importQueue = command({
  usage: 'import <file>',
  summary: 'Take over what another machine exported; mails that are here already are passed over',
  positionals: { file: { type: 'string', demandOption: true, describe: 'Made by postern queue export' } },
  options: {
    workspace: { type: 'string', describe: 'Into this workspace, whatever the file says' },
    pool: { type: 'string', describe: 'Into this egress pool, whatever the file says' },
  },
  destroys: true,
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const { store } = house
      const { file } = args
      const target = createTargets(house, args)
      let mails = 0
      let known = 0
      for await (const [line, mail] of readMails(file)) {
        await target(file, line, mail)
        known += (await store.knownEmails([mail.id])).length
        mails++
      }
      terminal.say(`${mails} mails, ${known} of them here already`)
      if (args.dryRun) {
        return terminal.data({ file, mails, imported: 0, known }, () => `would import ${mails - known} mails`)
      }
      await terminal.confirm(`import ${mails - known} mails, to be sent from here`, args.yes)
      let imported = 0
      for await (const [line, mail] of readMails(file)) {
        const result = await store.carryIn(mail, await target(file, line, mail), systemClock.now())
        if (result === 'accepted') imported++
      }
      terminal.data({ file, mails, imported, known: mails - imported }, () => `${imported} mails imported`)
    }),
})
