/**
 * NAME      session - a credential for administration over the API
 * DESCRIPTION
 *   A session acts for the whole account, as far as its role goes, and is the only
 *   credential that may make API keys. Who can read the data folder may have one; its token alone
 *   goes to stdout.
 */
import { toRfc3339 } from '../base/clock.js'
import { ROLES, type Role } from '../config/identity.js'
import { openSession, removed } from '../record/tenants.js'
import { findPerson } from '../tenant/people.js'
import { createSession, revokeSession } from '../tenant/session.js'
import { command, type Subject } from './command.js'
import { withContext } from './context.js'
import { badInput, usage } from './exit.js'
import { each, listing } from './list.js'
import { AGO } from './table.js'
import { readSpan, spanText } from './time.js'

const create = command({
  usage: 'create',
  summary: 'Open a session of nobody in particular; its token is printed once',
  options: {
    lasts: { type: 'string', default: '12h', describe: 'For how long, such as 30m or 12h' },
    role: { choices: ROLES, default: 'owner', describe: 'What it may do: as a person of this role' },
  },
  examples: [
    [
      'TOKEN=$(postern session create --lasts 30m --role member)',
      'for scripts that manage keys over the API',
    ],
  ],
  run: async (args, terminal) => {
    const lastsMs = readSpan(args.lasts)
    if (Number.isNaN(lastsMs) || lastsMs <= 0)
      throw badInput(`--lasts: ${args.lasts} is no span such as 30m or 12h`)
    await withContext(args, async ({ deps, account }) => {
      const { row, token } = await createSession(deps, account.id, { lastsMs, role: args.role as Role })
      const record = {
        id: row.id,
        object: 'session',
        token,
        created_at: toRfc3339(row.createdAt),
        expires_at: toRfc3339(row.expiresAt),
      }
      terminal.data(record, () => token)
      terminal.say(`${row.id}: shown this once, good for ${spanText(lastsMs)}`)
    })
  },
})

const list = listing({
  path: 'session list',
  summary: 'Who is signed in, newest first',
  options: { user: { type: 'string', describe: 'Only this person, by id or address' } },
  examples: [['$0 session list --user ana@example.com', 'where Ana is signed in']],
  what: 'sessions',
  next: 'postern setup-link',
  rows: async ({ store, deps, account }, { user: ref }) => {
    const user = ref === undefined ? null : await findPerson(deps, account.id, ref)
    const person = (id: string | null) => (id === null ? null : store.user(account.id, id))
    return each(
      (page) => store.sessions(account.id, user?.id ?? null, page),
      (rows) =>
        Promise.all(
          rows.map(async (row) => ({ row, record: openSession(row, await person(row.userId), false) })),
        ),
    )
  },
  record: ({ record }) => record,
  columns: [
    ['id', ({ record }) => record.id],
    ['person', ({ record }) => record.person?.email ?? ''],
    ['role', ({ record }) => record.role],
    ['by', ({ record }) => record.provider],
    ['from', ({ record }) => record.address ?? ''],
    ['last seen', ({ row }) => row.lastSeenAt, AGO],
    ['expires', ({ record }) => record.expires_at],
  ],
})

const revoke = command({
  usage: 'revoke [id]',
  summary: 'End one session, those of a person, or all, at once',
  positionals: { id: { type: 'string', describe: 'Its id, ses_…' } },
  options: {
    user: { type: 'string', describe: 'All of this person, by id or address' },
    all: { type: 'boolean', describe: 'All there are' },
  },
  destroys: true,
  examples: [['$0 session revoke --user ana@example.com --yes', 'sign Ana out everywhere']],
  run: async (args, terminal) => {
    if ([args.id, args.user, args.all || undefined].filter((one) => one !== undefined).length !== 1) {
      throw usage('session revoke needs an id, --user or --all')
    }
    await withContext(args, async ({ store, deps, account }) => {
      const what = args.id ?? (args.user === undefined ? 'all sessions' : `the sessions of ${args.user}`)
      if (args.dryRun) return terminal.data({ would_end: what }, () => `would end ${what}`)
      await terminal.confirm(`end ${what}`, args.yes)
      if (args.id !== undefined) {
        await revokeSession(deps, account.id, args.id)
        terminal.data(removed('session', args.id), () => `ended ${args.id}`)
        return
      }
      const user = args.user === undefined ? null : await findPerson(deps, account.id, args.user)
      const changed = await store.revokeSessions(account.id, user === null ? {} : { userId: user.id })
      terminal.data({ object: 'session', deleted: true, changed }, () => `sessions ended: ${changed}`)
    })
  },
})

export const sessionSubject: Subject = { name: 'session', commands: [list, create, revoke] }
