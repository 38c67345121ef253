/**
 * NAME      you - what somebody keeps for himself
 */
import { mistake } from '../../ask.js'
import type { Page } from '../../page.js'
import { ActionForm, Choice, Field, Send } from '../../parts/form.js'
import { Empty, Head, Section } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { Views } from '../look.js'

const ZONES = (): readonly (readonly [zone: string, text: string])[] => [
  ['', 'As the browser has it'],
  ['UTC', 'UTC'],
  ...Intl.supportedValuesOf('timeZone').map((zone) => [zone, zone.replaceAll('_', ' ')] as const),
]

interface YouProps {
  readonly visit: Visit
}

type Person = NonNullable<Visit['who']['person']>

const Settings = ({ person }: YouProps & { readonly person: Person }) => {
  return (
    <ActionForm action="settings">
      <Field name="name" label="Name" maxLength={200} value={person.name} autocomplete="name" />
      <Choice name="time_zone" label="Time zone" value={person.time_zone} options={ZONES()} />
      <Send>Keep it</Send>
    </ActionForm>
  )
}

const Password = ({ visit, hasOne }: YouProps & { readonly hasOne: boolean }) => {
  const isReset = visit.can('reset_password')
  if (!hasOne && !isReset)
    return <p class="soft">You sign in without one. An owner can give you a setup link to choose one.</p>
  return (
    <ActionForm action="password">
      {isReset ? null : (
        <Field
          name="current_password"
          label="Your password now"
          type="password"
          required
          autocomplete="current-password"
        />
      )}
      <Field
        name="password"
        label="A new one"
        type="password"
        required
        autocomplete="new-password"
        hint="12 characters or more. All your other sessions end."
      />
      <Field
        name="again"
        label="The new one once more"
        type="password"
        required
        autocomplete="new-password"
      />
      <Send plain>Change the password</Send>
    </ActionForm>
  )
}

const nobody = (
  <Empty whole title="This session is of nobody in particular">
    <p>It came from a setup link or a terminal, and keeps nothing.</p>
    <p>
      <a class="b main" href="/settings/people">
        Make your own account
      </a>
    </p>
  </Empty>
)

export const youPage: Page = {
  path: '/settings/you',
  async view(visit) {
    const { person, role } = visit.who
    const path = `/v1/users/${person?.id ?? ''}`
    const hasOne = person !== null && (await visit.ask<{ has_password: boolean }>('GET', path)).has_password
    return {
      title: 'Your settings',
      body:
        person === null ? (
          nobody
        ) : (
          <>
            <Head
              title={person.name ?? person.email}
              says={`${person.email}, ${role ?? 'no role'}`}
              actions={
                <a class="b" href={`/settings/sessions?user=${person.id}`}>
                  Where you are signed in
                </a>
              }
            />
            <div class="two">
              <Section title="Shown to you">
                <Settings {...{ visit, person }} />
              </Section>
              <Section title="Password">
                <Password {...{ visit, hasOne }} />
                {hasOne ? (
                  <p>
                    <a href="/settings/second-factor">Second factor and recovery codes</a>
                  </p>
                ) : null}
              </Section>
            </div>
            <Section title="Saved views" says="pinned in the rail">
              <Views visit={visit} />
            </Section>
          </>
        ),
    }
  },
  does: { settings: 'updateSession', password: 'updateUser' },
  actions: {
    async settings(visit, form) {
      const { person } = visit.who
      if (person !== null && form.text('name') !== (person.name ?? null))
        await visit.ask('PATCH', `/v1/users/${person.id}`, { body: { name: form.text('name') } })
      await visit.ask('PATCH', '/v1/session', { body: { time_zone: form.text('time_zone') } })
      return { to: '/settings/you', notice: 'Kept.' }
    },
    async password(visit, form) {
      if (form.raw('password') !== form.raw('again')) throw mistake('again', 'is not the same as the new one')
      await visit.ask('PATCH', `/v1/users/${visit.who.person?.id ?? ''}`, {
        body: { password: form.raw('password'), current_password: form.text('current_password') },
      })
      return { to: '/settings/you', notice: 'The password is changed. All your other sessions have ended.' }
    },
  },
}
