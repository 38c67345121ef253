/**
 * NAME      people - who signs in: people, sessions, invitations and links, from the command line
 *   Whoever owns the data folder may do all of it; the first owner is made here. Passwords come from standard input or a
 *   prompt without echo, never from an argument. Another password ends all sessions of the person.
 *   A session acts for the whole account, as far as its role goes, and is the only credential that may make API keys;
 *   its token alone goes to stdout.
 *   A setup link is for one use within half an hour, as an owner or as the person named. Looking at it changes nothing:
 *   its page has a button that signs in. A link is printed on a terminal only, since other output may be kept; --out
 *   writes it to a new file of mode 0600. Elsewhere it is refused before it is made.
 */
import { writeFileSync } from 'node:fs'
import { toRfc3339 } from '../base/clock.js'
import { ROLES, type Role } from '../config/identity.js'
import { ownUrl } from '../config/load.js'
import { removed } from '../resource/member.js'
import { link as linkRecord, openSession, person, personInFull } from '../resource/people.js'
import type { LinkRow, UserRow } from '../store/port/identity.js'
import { mailInvitation } from '../submission/own-mail.js'
import { resetFactors } from '../tenant/factors.js'
import {
  changePerson,
  createLink,
  createPerson,
  createSession,
  createSetupLink,
  findPerson,
  linkUrl,
  revokeInvitation,
  revokeSession,
} from '../tenant/people.js'
import { command, type Subject, WHY } from './command.js'
import { type CliContext, cliActor, storeCommand, withContext } from './context.js'
import { badInput, Refusal, usage } from './exit.js'
import { agreed, each, listing, tellRecord } from './list.js'
import { asListening } from './listening.js'
import { AGO, type Columns, fields, readSpan, spanText, tableOf } from './table.js'
import type { Terminal } from './terminal.js'

const TO_FILE = {
  out: { type: 'string', describe: 'Write the link to this new file, mode 0600' },
} as const

/** As the record of a link names its maker. */
const CREATED_BY = `cli:${process.getuid?.() ?? 0}`

interface MadeLink {
  readonly row: LinkRow
  readonly url: string
}

const tellLink = async (
  terminal: Terminal,
  out: string | undefined,
  make: () => Promise<MadeLink>,
): Promise<void> => {
  if (out === undefined && !terminal.isTty) {
    throw new Refusal(77, 'a link is shown on a terminal only; elsewhere name a file for it: --out FILE')
  }
  if (out !== undefined) writeFileSync(out, '', { flag: 'wx', mode: 0o600 })
  const { row, url } = await make()
  const { object, id, ...rest } = linkRecord(row, Date.now())
  if (out !== undefined) writeFileSync(out, `${url}\n`)
  terminal.data({ id, object, ...rest, ...(out === undefined ? { url } : { file: out }) }, () => out ?? url)
  terminal.say(`${id}: lets in once, within ${spanText(row.expiresAt - row.createdAt)}`)
}

const COLUMNS: Columns<UserRow> = [
  ['id', 'id'],
  ['email', 'email'],
  ['name', ({ name }) => name ?? ''],
  ['role', 'role'],
  ['state', ({ disabledAt }) => (disabledAt === null ? 'enabled' : 'disabled')],
  ['second factor', ({ hasFactor }) => (hasFactor ? 'yes' : 'no')],
  ['last sign-in', 'lastSignInAt', AGO],
]

const rowsTable = tableOf(COLUMNS)

const REF = { ref: { type: 'string', demandOption: true, describe: 'Id or address' } } as const
const ROLE = { choices: ROLES, describe: 'owner manages people, member all else, viewer reads' } as const

const list = listing({
  path: 'user list',
  summary: 'All people, newest first',
  examples: [['$0 user list', '']],
  what: 'people',
  next: 'postern user create ADDRESS --role owner --ask-password',
  rows:
    ({ store, account }) =>
    (page) =>
      store.users(account.id, page),
  record: person,
  isManaged: true,
  columns: COLUMNS,
})

const show = storeCommand({
  usage: 'show <ref>',
  summary: 'One person, with the identity providers that know the person',
  positionals: REF,
  examples: [['$0 user show ana@example.com', '']],
  run: async ({ store, deps, account }, args, terminal) => {
    const row = await findPerson(deps, account.id, args.ref)
    const record = personInFull(row, await store.identities(row.id), await store.factors(row.id))
    await tellRecord({ store, account }, terminal, record, (paint) =>
      fields(paint, [
        ...Object.entries(person(row)).filter(([name]) => name !== 'object'),
        ...record.factors.map((one): [string, unknown] => [
          one.kind,
          `${one.name}, ${one.last_used_at === null ? 'never used' : `last used ${one.last_used_at}`}`,
        ]),
        ['recovery codes left', record.recovery_codes_left],
        ...record.identities.map((one): [string, unknown] => [one.provider, `${one.issuer} ${one.subject}`]),
      ]),
    )
  },
})

const create = storeCommand({
  usage: 'create <email>',
  summary: 'Make a person',
  positionals: { email: { type: 'string', demandOption: true, describe: 'The address to sign in with' } },
  options: {
    role: { ...ROLE, default: 'viewer' },
    name: { type: 'string', describe: 'As others see it' },
    'ask-password': { type: 'boolean', describe: 'Read a password from standard input, or ask for one' },
  },
  examples: [
    ['$0 user create ana@example.com --role owner --ask-password', 'asks for the password'],
    ['$0 user create bo@example.com && $0 setup-link --user bo@example.com', 'Bo chooses one'],
  ],
  run: async ({ deps, account }, args, terminal) => {
    const password = args.askPassword ? await terminal.readSecret(`password of ${args.email}: `) : null
    const wish = { email: args.email, name: args.name, role: args.role as Role, password }
    const row = await createPerson(deps, account.id, wish)
    terminal.data(personInFull(row, [], []), () => row.id)
    if (password === null) terminal.say(`next: postern setup-link --user ${row.email}`)
  },
})

const update = command({
  usage: 'update <ref>',
  summary: 'Change the role or the name of a person, or disable or enable',
  positionals: REF,
  options: {
    role: ROLE,
    name: { type: 'string', describe: 'As others see it' },
    disable: { type: 'boolean', describe: 'No sign-in any more; open sessions end now' },
    enable: { type: 'boolean', describe: 'Let sign in again' },
  },
  examples: [['$0 user update ana@example.com --role member', '']],
  run: async (args, terminal) => {
    if (args.disable && args.enable) throw usage('user update takes --disable or --enable, not both')
    const disabled = args.disable ? true : args.enable ? false : undefined
    if (args.role === undefined && args.name === undefined && disabled === undefined) {
      throw usage('user update needs --role, --name, --disable or --enable')
    }
    await withContext(args, async ({ store, deps, account }) => {
      const before = await findPerson(deps, account.id, args.ref)
      const change = { name: args.name, role: args.role as Role | undefined, disabled }
      const row = await changePerson(deps, before, change)
      const record = personInFull(row, await store.identities(row.id), await store.factors(row.id))
      await tellRecord({ store, account }, terminal, record, (paint) => rowsTable(paint, [row]))
    })
  },
})

const password = storeCommand({
  usage: 'password <ref>',
  summary: 'Set a password, from standard input or a prompt; ends all sessions of the person',
  positionals: REF,
  examples: [['$0 user password ana@example.com', 'asks for it']],
  run: async ({ store, deps, account }, args, terminal) => {
    const before = await findPerson(deps, account.id, args.ref)
    const row = await changePerson(deps, before, {
      password: await terminal.readSecret(`new password of ${before.email}: `),
    })
    await tellRecord(
      { store, account },
      terminal,
      person(row),
      () => `${row.email} has another password; all sessions have ended`,
    )
  },
})

const resetOfPerson = storeCommand({
  usage: 'reset-factors <ref>',
  summary: 'Take the second factors of a person who lost them; the password alone signs in then',
  positionals: REF,
  options: WHY,
  destroys: true,
  examples: [['$0 user reset-factors ana@example.com --yes', '']],
  run: async (context, args, terminal) => {
    const { deps, account } = context
    const before = await findPerson(deps, account.id, args.ref)
    const [what, record] = [
      `take the second factors of ${before.email}`,
      { dry_run: true, ...person(before) },
    ]
    if (!(await agreed(context, terminal, args, record, what))) return
    const row = await resetFactors(deps, account.id, before.id)
    await tellRecord(context, terminal, person(row), () =>
      before.hasFactor ? `${row.email} has no second factor any more` : `${row.email} had no second factor`,
    )
  },
})

const invite = command({
  usage: 'invite [email]',
  summary: 'Make a link that lets one person in, once, within 7 days',
  positionals: { email: { type: 'string', describe: 'Whom it is for; it binds nobody' } },
  options: {
    role: { ...ROLE, default: 'viewer' },
    ...TO_FILE,
    mail: {
      type: 'string',
      describe: 'Mail the link through this workspace, by id or slug, and show it nowhere; not for an owner',
    },
  },
  examples: [['$0 user invite ana@example.com --role member --mail default', 'Ana gets the link by mail']],
  run: async (args, terminal) => {
    if (args.mail !== undefined && args.out !== undefined)
      throw usage('the link goes into a file or into a mail, not both: --out or --mail')
    const { mail: workspace, email, role } = args
    await withContext(args, async ({ config, deps, account, store }) => {
      const wish = { kind: 'invitation', role: role as Role, email, createdBy: CREATED_BY } as const
      const make = () => createLink(deps, account.id, wish)
      const urlOf = (row: LinkRow, token: string) => linkUrl(config.base_url, row, token)
      if (workspace === undefined)
        return tellLink(terminal, args.out, async () => {
          const { row, token } = await make()
          return { row, url: urlOf(row, token) }
        })
      const unmake = ({ id }: LinkRow) => revokeInvitation(deps, account.id, id)
      const { row, email: mail } = await mailInvitation(
        { config, store, clock: deps.clock, baseUrl: config.base_url },
        { accountId: account.id, workspace, email, role, make, urlOf, unmake },
      )
      const record = { ...linkRecord(row, Date.now()), url: null, email_id: mail.id }
      terminal.data(record, () => mail.id)
      terminal.say(`${row.id}: mailed to ${row.email}; what becomes of it: postern email show ${mail.id}`)
    })
  },
})

const invitations = listing({
  path: 'user invitations',
  summary: 'All invitations, newest first; never their links',
  examples: [['$0 user invitations', '']],
  what: 'invitations',
  next: 'postern user invite ADDRESS --role member',
  rows: ({ store, account }: CliContext) =>
    each(
      (page) => store.links(account.id, 'invitation', page),
      (rows) => rows.map((row) => linkRecord(row, Date.now())),
    ),
  record: (one) => one,
  columns: [
    ['id', 'id'],
    ['for', ({ email }) => email ?? ''],
    ['role', 'role'],
    ['state', 'state'],
    ['expires', 'expires_at'],
    ['by', 'created_by'],
  ],
})

const uninvite = storeCommand({
  usage: 'uninvite <id>',
  summary: 'Take an invitation back',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, lnk_…' } },
  examples: [['$0 user uninvite lnk_01…', '']],
  run: async ({ deps, account }, args, terminal) => {
    await revokeInvitation(deps, account.id, args.id)
    terminal.data(removed('invitation', args.id), () => `took back ${args.id}`)
  },
})

export const userSubject: Subject = {
  name: 'user',
  commands: [list, show, create, update, password, resetOfPerson, invite, invitations, uninvite],
}

const createOne = command({
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

const listSessions = listing({
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
      if (!(await agreed({ store, account }, terminal, args, { would_end: what }, `end ${what}`))) return
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

export const sessionSubject: Subject = { name: 'session', commands: [listSessions, createOne, revoke] }

export const setupLinkCommand = command({
  usage: 'setup-link',
  summary: 'Make a link that opens the dashboard signed in, once, within 30 minutes',
  options: {
    user: { type: 'string', describe: 'As this person, by mail address or id; else as an owner' },
    out: { type: 'string', describe: 'Write it to this new file, mode 0600, instead of the terminal' },
  },
  examples: [['$0 setup-link --user ana@example.com', 'for somebody who forgot the password']],
  run: async (args, terminal) => {
    const { out } = args
    if (!terminal.isTty && out === undefined)
      throw usage('a link that signs in is printed on a terminal only; else name a file: --out FILE')
    await withContext(args, async ({ deps, account, config }) => {
      const createdBy = cliActor().id
      const { row, token } =
        args.user === undefined
          ? await createLink(deps, account.id, { kind: 'setup', role: 'owner', createdBy })
          : await createSetupLink(deps, account.id, args.user, createdBy)
      const base =
        config.base_url === ownUrl(config.http) ? ownUrl(asListening(config).http) : config.base_url
      const url = linkUrl(base, row, token)
      if (out === undefined) terminal.data({ id: row.id, object: 'link', url }, () => url)
      else writeFileSync(out, `${url}\n`, { mode: 0o600, flag: 'wx' })
      terminal.say(`${row.id}: good for one use within 30 minutes${out === undefined ? '' : `, in ${out}`}`)
    })
  },
})
