/**
 * NAME      people - who works here, who is invited, one person with role and ways to sign in, and where people are signed in
 */
import type { Role } from '../../../config/identity.js'
import type { Link, OpenSession, Person, PersonInFull } from '../../../resource/people.js'
import type { Form } from '../../form.js'
import { ActionForm, Choice, Field, Send, Verb } from '../../parts/form.js'
import {
  Code,
  Facts,
  ManagedMark,
  ManagedNote,
  Note,
  PageBody,
  Section,
  shownOnce,
} from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Address, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type FormDone, type SitePage, titled, type Visit } from '../../visit.js'

const HOW: Readonly<Record<string, string>> = {
  local: 'with a password',
  link: 'by a link',
  cli: 'made on the server',
}

const whose = (row: OpenSession): string => row.person?.name ?? row.person?.email ?? 'nobody in particular'

const deviceOf = (agent: string | null): string | null => {
  if (agent === null) return null
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d.]+/.exec(agent)?.[1]
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]
  if (browser === undefined) return agent.slice(0, 40)
  const name = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser
  return system === undefined ? name : `${name} on ${system}`
}

const sessionColumns = (): readonly TableColumn<OpenSession>[] => [
  col(
    'Who',
    (row) =>
      html`<strong dir="auto">${whose(row)}</strong>${row.current && html`<span class="sub">this very session</span>`}`,
  ),
  col('Role', (row) => row.role),
  col('Signed in', (row) => HOW[row.provider] ?? `through ${row.provider}`),
  col(
    'From',
    'grow',
    ({ address, user_agent: agent }) =>
      html`${address}${
        agent !== null && html`<span class="sub" title="${agent}" dir="auto">${deviceOf(agent)}</span>`
      }`,
  ),
  col('Since', 'opt', (row) => Time({ at: row.created_at })),
  col('Last seen', (row) => Time({ at: row.last_seen_at })),
  col('Ends', 'opt', (row) => Time({ at: row.expires_at })),
  col('', 'act', (row) =>
    Verb({
      ...{ action: 'end', label: 'Sign out', reason: 'none', harm: true, tiny: true },
      about: { id: row.id, current: row.current ? '1' : '' },
      children: html`<p>${row.current ? 'You are signed out here.' : `${whose(row)} must sign in again there.`}</p>`,
    }),
  ),
]

const sessionsPage: SitePage = {
  path: '/settings/sessions',
  async view(visit) {
    const user = visit.query('user')
    const list = await visit.list<ListPage<OpenSession>>('/v1/sessions', { user })
    const n = list.data.length
    const mayEndAll = user !== null || visit.who.person !== null
    return titled(
      'Sessions',
      <PageBody
        title={n === 1 ? 'One session is open.' : `${n} sessions are open.`}
        says={
          user === null ? (
            'Each is one browser that is signed in, or a token that somebody made.'
          ) : (
            <>
              Of one person. <a href="/settings/sessions">All sessions</a>
            </>
          )
        }
        actions={
          mayEndAll ? (
            <Verb
              action="end-all"
              label={user === null ? 'Sign out everywhere else' : 'Sign out everywhere'}
              reason="none"
              harm
            >
              <p>
                {user === null
                  ? 'All of your sessions end but this one.'
                  : 'All sessions of this person end, but not the one that you look with.'}
              </p>
            </Verb>
          ) : undefined
        }
      >
        <Table look="many" caption="Sessions, newest first" rows={list.data} columns={sessionColumns()} />
        <Pager list={list} />
      </PageBody>,
    )
  },
  actions: {
    end: does('revokeSession', async (visit, form) => {
      await visit.ask('DELETE', `/v1/sessions/${encodeURIComponent(form.raw('id'))}`)
      if (form.text('current') !== null) return { to: '/sign-in' }
      return { to: visit.here({}), notice: 'That session has ended.' }
    }),
    'end-all': does('revokeSessions', async (visit) => {
      const { changed } = await visit.ask<{ changed: number }>('DELETE', '/v1/sessions', {
        query: { user: visit.query('user') },
      })
      return {
        to: visit.here({}),
        notice: changed === 1 ? 'One session ended.' : `${changed} sessions ended.`,
      }
    }),
  },
}

interface MadeLink {
  readonly url: string
  readonly expires_at: string
  readonly email: string | null
}

const ROLE_OPTIONS: readonly (readonly [role: Role, means: string])[] = [
  ['viewer', 'Viewer: looks'],
  ['member', 'Member: everything but people'],
  ['owner', 'Owner: everything'],
]

const nameOf = ({ name, email }: Pick<Person, 'name' | 'email'>): string => name ?? email

const shown = (visit: Visit, made: MadeLink, title: string, says: string): FormDone => ({
  view: shownOnce({
    visit,
    back: ['/settings/people', 'People'],
    title,
    says,
    secrets: [{ label: 'Link, shown once', text: made.url }],
  }),
})

const invite = async (visit: Visit, form: Form): Promise<FormDone> => {
  const made = await visit.ask<MadeLink & { readonly email_id: string | null }>('POST', '/v1/invitations', {
    body: { email: form.text('email'), role: form.text('role'), workspace_id: form.text('workspace_id') },
  })
  if (made.email_id !== null)
    return {
      to: visit.link(`/emails/${made.email_id}`, { mode: null }),
      notice: `${made.email} is invited: this is the mail with the link.`,
    }
  const says = 'Copy the link now: it is not shown again. It lets one person in, once, within seven days.'
  return shown(visit, made, `${made.email ?? 'Somebody'} is invited.`, says)
}

const setupLink = async (visit: Visit, ref: string, name: string): Promise<FormDone> => {
  const made = await visit.ask<MadeLink>('POST', `/v1/users/${encodeURIComponent(ref)}/setup-link`)
  const says = 'Copy the link now: it is not shown again. It works once, within 30 minutes.'
  return shown(visit, made, `${name} may set another password.`, says)
}

const columns = (): readonly TableColumn<Person>[] => [
  col('Person', 'grow', (row) => html`<span dir="auto">${nameOf(row)}</span>${ManagedMark({ row })}`),
  col('Address', 'name', (row) => Address({ text: row.email })),
  col('Role', (row) => (row.role_from === null ? row.role : `${row.role}, as ${row.role_from} says`)),
  col('State', (row) => (row.disabled ? State({ tone: '', icon: 'canceled', children: 'Disabled' }) : '')),
  col('Second factor', 'opt', (row) => (row.second_factor ? 'yes' : row.has_password ? 'no' : '')),
  col('Last signed in', (row) => Time({ at: row.last_sign_in_at })),
]

const Invitations = ({ rows }: { readonly rows: readonly Link[] }) => (
  <Table
    caption="Invitations, newest first"
    rows={rows}
    columns={[
      { head: 'For', kind: 'grow', cell: (row) => row.email ?? 'whoever has the link' },
      { head: 'Role', cell: (row) => row.role },
      { head: 'By', cell: (row) => row.created_by },
      { head: 'Ends', cell: (row) => (row.state === 'open' ? Time({ at: row.expires_at }) : row.state) },
      {
        head: '',
        cell: (row) =>
          row.state === 'open' ? (
            <Verb action="take-back" label="Take back" reason="none" harm tiny about={{ id: row.id }}>
              <p>The link lets nobody in any more.</p>
            </Verb>
          ) : null,
      },
    ]}
  />
)

/** Whoever came by a link from a terminal has no account yet. */
const MakeYourOwn = () => (
  <Section title="You came by a setup link: make your own account now.">
    <ActionForm action="own">
      <Field name="email" label="Your address" type="email" required maxLength={320} />
      <Field name="name" label="Your name" maxLength={200} autocomplete="name" />
      <Field
        name="password"
        label="A password"
        type="password"
        required
        autocomplete="new-password"
        hint="12 characters or more."
      />
      <Send>Make me an owner</Send>
    </ActionForm>
    <details class="fold">
      <summary>Your identity provider knows you?</summary>
      <p>Invite yourself as an owner, sign out, and open the link: it signs in through the provider.</p>
    </details>
  </Section>
)

const sentence = (rows: readonly Person[]): string => {
  const open = rows.filter(({ disabled }) => !disabled).length
  if (open === 0) return 'Nobody has an account yet.'
  return open === 1 ? 'One person may sign in.' : `${open} people may sign in.`
}

const CLI = 'postern user invite --role member'

const peoplePage: SitePage = {
  path: '/settings/people',
  opens: 'listUsers',
  async view(visit) {
    const [people, invitations] = await Promise.all([
      visit.list<ListPage<Person>>('/v1/users'),
      visit.ask<ListPage<Link>>('GET', '/v1/invitations', { query: { limit: 100 } }),
    ])
    const isNobody = visit.who.person === null
    return titled(
      'People',
      <PageBody
        title={sentence(people.data)}
        says="Owners manage people, members everything else, viewers look."
        actions={
          <a class={isNobody ? 'b' : 'b main'} href="/settings/people/invite">
            Invite somebody
          </a>
        }
      >
        {isNobody ? <MakeYourOwn /> : null}
        <Table
          caption="People, newest first"
          rows={people.data}
          columns={columns()}
          href={(row) => `/settings/people/${row.id}`}
          none={null}
        />
        <Pager list={people} />
        <Section title="Invitations" says="each lets one person in, once, within seven days">
          {invitations.data.length === 0 ? <Code text={CLI} /> : <Invitations rows={invitations.data} />}
        </Section>
      </PageBody>,
    )
  },
  actions: {
    own: does('createUser', async (visit, form) => {
      const made = await visit.ask<Person>('POST', '/v1/users', {
        body: {
          email: form.text('email') ?? '',
          name: form.text('name'),
          role: 'owner',
          password: form.raw('password'),
        },
      })
      return {
        to: '/settings/people',
        notice: `${made.email} is an owner. Sign out, and sign in with your own account.`,
      }
    }),
    'take-back': does('revokeInvitation', async (visit, form) => {
      await visit.ask('DELETE', `/v1/invitations/${encodeURIComponent(form.raw('id'))}`)
      return { to: '/settings/people', notice: 'The invitation is taken back.' }
    }),
  },
}

const invitePage: SitePage = {
  path: '/settings/people/invite',
  opens: 'createInvitation',
  async view(visit) {
    const [workspaces, pools] = await Promise.all([
      visit.workspaces(),
      visit.ask<ListPage<{ readonly members: readonly unknown[] }>>('GET', '/v1/egress-pools', {
        query: { limit: 100 },
      }),
    ])
    const canLeave = pools.data.some(({ members }) => members.length > 0)
    return titled(
      'Invite somebody',
      <PageBody
        title="Invite somebody"
        crumb={['/settings/people', 'People']}
        says="A link lets one person in, once, within seven days: with a password of his or her own, or through an identity provider."
      >
        <ActionForm action="invite">
          <Field
            name="email"
            label="Address"
            type="email"
            maxLength={320}
            hint="For your list, and for the mail; the link binds to whoever uses it."
          />
          <Choice name="role" label="Role" value="viewer" options={ROLE_OPTIONS} />
          <Choice
            name="workspace_id"
            label="The link"
            options={[
              ['', 'is shown to me once; I hand it on'],
              ...(canLeave ? workspaces.map(({ slug }) => [slug, `is mailed through ${slug}`] as const) : []),
            ]}
            hint={
              canLeave
                ? 'Mailed from the default sender of that workspace; the link of an owner is not mailed.'
                : 'It cannot be mailed: no pool has an upstream yet.'
            }
          />
          <Send>Invite</Send>
        </ActionForm>
        <Note>
          <p>Whoever holds the link may use it, and whoever runs the servers on its way can read a mail.</p>
        </Note>
      </PageBody>,
    )
  },
  actions: { invite: does('createInvitation', invite) },
}

const pathOf = (visit: Visit): string => `/v1/users/${encodeURIComponent(visit.params.id ?? '')}`
const pageOf = (visit: Visit): string => `/settings/people/${visit.params.id ?? ''}`

const factorNames = ({ factors }: PersonInFull): string => factors.map(({ name }) => name).join(', ')

const Verbs = ({ row, isOwn }: { readonly row: PersonInFull } & { readonly isOwn: boolean }) => (
  <>
    {row.disabled ? (
      <Verb action="enable" label="Enable" reason="none">
        <p>{nameOf(row)} may sign in again.</p>
      </Verb>
    ) : (
      <>
        {row.second_factor && !isOwn ? (
          <Verb action="reset-factors" label="Reset the second factor" reason="none" harm>
            <p>
              Everything that {nameOf(row)} proves beside the password is taken, recovery codes too. Be sure
              that it is {nameOf(row)} who asks.
            </p>
          </Verb>
        ) : null}
        <Verb action="link" label="Make a setup link" reason="none">
          <p>With it {nameOf(row)} sets another password. It works once, within 30 minutes.</p>
        </Verb>
        <Verb action="disable" label="Disable" reason="none" harm>
          <p>
            {nameOf(row)} is signed out everywhere at once, and cannot sign in. What was done stands under
            this name.
          </p>
        </Verb>
      </>
    )}
  </>
)

const ChangeForm = ({ row }: { readonly row: PersonInFull }) => (
  <ActionForm action="change">
    <Field name="name" label="Name" maxLength={200} value={row.name} />
    {row.role_from === null ? (
      <Choice name="role" label="Role" value={row.role} options={ROLE_OPTIONS} />
    ) : (
      <p class="soft">
        The role is {row.role}: {row.role_from} says it at each sign-in.
      </p>
    )}
    <Send>Change</Send>
  </ActionForm>
)

const change = async (visit: Visit, body: unknown, notice: (row: Person) => string) => {
  const row = await visit.ask<Person>('PATCH', pathOf(visit), { body })
  return { to: pageOf(visit), notice: notice(row) }
}

const personPage: SitePage = {
  path: '/settings/people/{id}',
  async view(visit) {
    const row = await visit.ask<PersonInFull>('GET', pathOf(visit))
    const mayChange = visit.may('updateUser', false)
    return titled(
      nameOf(row),
      <PageBody
        title={row.disabled ? `${nameOf(row)} is disabled.` : `${nameOf(row)}, ${row.role}`}
        crumb={['/settings/people', 'People']}
        actions={mayChange ? <Verbs {...{ row, isOwn: row.id === visit.who.person?.id }} /> : undefined}
      >
        <ManagedNote row={row} />
        <Facts
          facts={[
            ['Address', <Address text={row.email} />],
            ['Password', row.has_password ? 'set' : 'none'],
            row.has_password ? ['Second factor', row.second_factor ? factorNames(row) : 'none'] : null,
            ['Last signed in', <Time at={row.last_sign_in_at} />],
            ['Made', <Time at={row.created_at} />],
            ['Sessions', <a href={`/settings/sessions?user=${row.id}`}>where signed in</a>],
            mayChange ? ['Did', <a href={`/settings/audit?actor=${row.id}`}>what the audit says</a>] : null,
          ]}
        />
        {row.identities.length === 0 ? null : (
          <Section title="Identity providers that know this person">
            <Table
              caption="Identities"
              rows={row.identities}
              columns={[
                { head: 'Provider', cell: (one) => one.provider },
                { head: 'Issuer', cell: (one) => <code>{one.issuer}</code> },
                { head: 'Subject', kind: 'grow', cell: (one) => <code>{one.subject}</code> },
                { head: 'Last used', cell: (one) => <Time at={one.last_sign_in_at} /> },
              ]}
            />
          </Section>
        )}
        {mayChange ? (
          <Section title="Change">
            <ChangeForm {...{ row }} />
          </Section>
        ) : null}
      </PageBody>,
    )
  },
  actions: {
    change: does('updateUser', (visit, form) =>
      change(
        visit,
        { name: form.text('name'), ...(form.has('role') && { role: form.text('role') }) },
        (row) => `${nameOf(row)} is changed.`,
      ),
    ),
    enable: does('changeUserRole', (visit) =>
      change(visit, { disabled: false }, (row) => `${nameOf(row)} may sign in again.`),
    ),
    disable: does('changeUserRole', (visit) =>
      change(visit, { disabled: true }, (row) => `${nameOf(row)} is out.`),
    ),
    link: does('createUserSetupLink', async (visit) => {
      const row = await visit.ask<PersonInFull>('GET', pathOf(visit))
      return setupLink(visit, row.id, nameOf(row))
    }),
    'reset-factors': does('resetUserFactors', async (visit) => {
      const row = await visit.ask<Person>('DELETE', `${pathOf(visit)}/factors`)
      return { to: pageOf(visit), notice: `${nameOf(row)} has no second factor any more.` }
    }),
  },
}

export const peoplePages: readonly SitePage[] = [peoplePage, invitePage, personPage, sessionsPage]
