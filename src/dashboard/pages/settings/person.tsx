/**
 * NAME      person - one person: role, ways to sign in, in or out
 */
import type { Person, PersonInFull } from '../../../record/tenants/identity.js'
import type { Page } from '../../page.js'
import { ActionForm, Choice, Field, Send, Verb } from '../../parts/form.js'
import { Facts, Head, Section } from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { setupLink } from './links.js'
import { nameOf, ROLE_OPTIONS } from './record.js'

const pathOf = (visit: Visit): string => `/v1/users/${encodeURIComponent(visit.params.id ?? '')}`
const pageOf = (visit: Visit): string => `/settings/people/${visit.params.id ?? ''}`

interface PersonProps {
  readonly row: PersonInFull
}

const factorNames = ({ factors }: PersonInFull): string => factors.map(({ name }) => name).join(', ')

const Verbs = ({ row, isOwn }: PersonProps & { readonly isOwn: boolean }) => (
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

const ChangeForm = ({ row }: PersonProps) => {
  return (
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
}

const change = async (visit: Visit, body: unknown, notice: (row: Person) => string) => {
  const row = await visit.ask<Person>('PATCH', pathOf(visit), { body })
  return { to: pageOf(visit), notice: notice(row) }
}

export const personPage: Page = {
  path: '/settings/people/{id}',
  async view(visit) {
    const row = await visit.ask<PersonInFull>('GET', pathOf(visit))
    const mayChange = visit.may('updateUser', false)
    return {
      title: nameOf(row),
      body: (
        <>
          <Head
            title={row.disabled ? `${nameOf(row)} is disabled.` : `${nameOf(row)}, ${row.role}`}
            crumb={['/settings/people', 'People']}
            actions={mayChange ? <Verbs {...{ row, isOwn: row.id === visit.who.person?.id }} /> : undefined}
          />
          <Facts
            facts={[
              ['Address', row.email],
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
        </>
      ),
    }
  },
  does: {
    change: 'updateUser',
    enable: 'changeUserRole',
    disable: 'changeUserRole',
    link: 'createUserSetupLink',
    'reset-factors': 'resetUserFactors',
  },
  actions: {
    change: (visit, form) =>
      change(
        visit,
        { name: form.text('name'), ...(form.has('role') && { role: form.text('role') }) },
        (row) => `${nameOf(row)} is changed.`,
      ),
    enable: (visit) => change(visit, { disabled: false }, (row) => `${nameOf(row)} may sign in again.`),
    disable: (visit) => change(visit, { disabled: true }, (row) => `${nameOf(row)} is out.`),
    async 'reset-factors'(visit) {
      const row = await visit.ask<Person>('DELETE', `${pathOf(visit)}/factors`)
      return { to: pageOf(visit), notice: `${nameOf(row)} has no second factor any more.` }
    },
    async link(visit) {
      const row = await visit.ask<PersonInFull>('GET', pathOf(visit))
      return setupLink(visit, row.id, nameOf(row))
    },
  },
}
