/**
 * NAME      people - who works here, and who is invited
 */
import type { Link, Person } from '../../../record/tenants/identity.js'
import type { Page } from '../../page.js'
import { ActionForm, Choice, Field, Send, Verb } from '../../parts/form.js'
import { Code, Head, Note, Section } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { State } from '../../parts/status.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { html } from '../../render/markup.js'
import { invite } from './links.js'
import { nameOf, ROLE_OPTIONS } from './record.js'

const columns = (): readonly Column<Person>[] => [
  { head: 'Person', kind: 'grow', cell: (row) => html`<span dir="auto">${nameOf(row)}</span>` },
  { head: 'Address', kind: 'name', cell: (row) => row.email },
  {
    head: 'Role',
    cell: (row) => (row.role_from === null ? row.role : `${row.role}, as ${row.role_from} says`),
  },
  {
    head: 'State',
    cell: (row) => (row.disabled ? State({ tone: '', icon: 'canceled', children: 'Disabled' }) : ''),
  },
  {
    head: 'Second factor',
    kind: 'opt',
    cell: (row) => (row.second_factor ? 'yes' : row.has_password ? 'no' : ''),
  },
  { head: 'Last signed in', cell: (row) => Time({ at: row.last_sign_in_at }) },
]

const Invitations = ({ rows }: { readonly rows: readonly Link[] }) => (
  <Table
    caption="Invitations, newest first"
    rows={rows}
    columns={[
      { head: 'For', kind: 'grow', cell: (row) => row.email ?? 'whoever has the link' },
      { head: 'Role', cell: (row) => row.role },
      { head: 'By', cell: (row) => row.created_by },
      {
        head: 'Ends',
        cell: (row) => (row.state === 'open' ? Time({ at: row.expires_at }) : row.state),
      },
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
const MakeYourOwn = () => {
  return (
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
}

const sentence = (rows: readonly Person[]): string => {
  const open = rows.filter(({ disabled }) => !disabled).length
  if (open === 0) return 'Nobody has an account yet.'
  return open === 1 ? 'One person may sign in.' : `${open} people may sign in.`
}

const CLI = 'postern user invite --role member'

export const peoplePage: Page = {
  path: '/settings/people',
  opens: 'listUsers',
  async view(visit) {
    const [people, invitations] = await Promise.all([
      visit.ask<List<Person>>('GET', '/v1/users', {
        query: { limit: 100, cursor: visit.query('cursor') },
      }),
      visit.ask<List<Link>>('GET', '/v1/invitations', { query: { limit: 100 } }),
    ])
    const isNobody = visit.who.person === null
    return {
      title: 'People',
      body: (
        <>
          <Head
            title={sentence(people.data)}
            says="Owners manage people, members everything else, viewers look."
            actions={
              <a class={isNobody ? 'b' : 'b main'} href="/settings/people/invite">
                Invite somebody
              </a>
            }
          />
          {isNobody ? <MakeYourOwn /> : null}
          {people.data.length === 0 ? null : (
            <Table
              caption="People, newest first"
              rows={people.data}
              columns={columns()}
              href={(row) => `/settings/people/${row.id}`}
            />
          )}
          <Pager list={people} />
          <Section title="Invitations" says="each lets one person in, once, within seven days">
            {invitations.data.length === 0 ? <Code text={CLI} /> : <Invitations rows={invitations.data} />}
          </Section>
        </>
      ),
    }
  },
  does: { own: 'createUser', 'take-back': 'revokeInvitation' },
  actions: {
    async own(visit, form) {
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
    },
    async 'take-back'(visit, form) {
      await visit.ask('DELETE', `/v1/invitations/${encodeURIComponent(form.raw('id'))}`)
      return { to: '/settings/people', notice: 'The invitation is taken back.' }
    },
  },
}

export const invitePage: Page = {
  path: '/settings/people/invite',
  opens: 'createInvitation',
  async view(visit) {
    const [workspaces, pools] = await Promise.all([
      visit.workspaces(),
      visit.ask<List<{ readonly members: readonly unknown[] }>>('GET', '/v1/egress-pools', {
        query: { limit: 100 },
      }),
    ])
    const canLeave = pools.data.some(({ members }) => members.length > 0)
    return {
      title: 'Invite somebody',
      body: (
        <>
          <Head
            title="Invite somebody"
            crumb={['/settings/people', 'People']}
            says="A link lets one person in, once, within seven days: with a password of his or her own, or through an identity provider."
          />
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
                ...(canLeave
                  ? workspaces.map(({ slug }) => [slug, `is mailed through ${slug}`] as const)
                  : []),
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
        </>
      ),
    }
  },
  does: { invite: 'createInvitation' },
  actions: { invite },
}
