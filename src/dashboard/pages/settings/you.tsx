/**
 * NAME      you - what a person keeps for himself, and proves beside the password
 *   Second factors are added and removed, recovery codes made anew. Where a second factor is required, its page is the
 *   only one before there is one. Only a passkey needs a script, as it does everywhere.
 */
import type { ComponentChildren } from 'preact'
import qrcode from 'qrcode-generator'
import type { Factor, PersonInFull } from '../../../resource/people.js'
import { passkeySite } from '../../../tenant/factors.js'
import { mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import {
  ActionForm,
  Choice,
  Field,
  FormMarks,
  Hidden,
  Leave,
  PasskeyForm,
  Send,
  Verb,
} from '../../parts/form.js'
import {
  ButtonLink,
  Code,
  Empty,
  MainLink,
  Note,
  PageBody,
  Section,
  shownOnce,
} from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import {
  does,
  type FormDone,
  type RefusedForm,
  type SitePage,
  titled,
  type View,
  type Visit,
} from '../../visit.js'
import { Views } from '../look.js'

const ZONES = (): readonly (readonly [zone: string, text: string])[] => [
  ['', 'As the browser has it'],
  ['UTC', 'UTC'],
  ...Intl.supportedValuesOf('timeZone').map((zone) => [zone, zone.replaceAll('_', ' ')] as const),
]

type Person = NonNullable<Visit['who']['person']>

const Settings = ({ person }: { readonly visit: Visit } & { readonly person: Person }) => (
  <ActionForm action="settings">
    <Field name="name" label="Name" maxLength={200} value={person.name} autocomplete="name" />
    <Choice name="time_zone" label="Time zone" value={person.time_zone} options={ZONES()} />
    <Send>Keep it</Send>
  </ActionForm>
)

const ChangePassword = ({ visit, hasOne }: { readonly visit: Visit } & { readonly hasOne: boolean }) => {
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

const Nobody = ({ visit }: { readonly visit: Visit }) => (
  <Empty whole title="This session is of nobody in particular">
    <p>It came from a setup link or a terminal, and keeps nothing.</p>
    {visit.may('createUser') ? (
      <p>
        <MainLink to="/settings/people">Make your own account</MainLink>
      </p>
    ) : null}
  </Empty>
)

const youPage: SitePage = {
  path: '/settings/you',
  async view(visit) {
    const { person, role } = visit.who
    const path = `/v1/users/${person?.id ?? ''}`
    const hasOne = person !== null && (await visit.ask<{ has_password: boolean }>('GET', path)).has_password
    return {
      title: 'Your settings',
      body:
        person === null ? (
          <Nobody visit={visit} />
        ) : (
          <PageBody
            title={person.name ?? person.email}
            says={`${person.email}, ${role ?? 'no role'}`}
            actions={
              <ButtonLink to={`/settings/sessions?user=${person.id}`}>Where you are signed in</ButtonLink>
            }
          >
            <div class="two">
              <Section title="Shown to you">
                <Settings {...{ visit, person }} />
              </Section>
              <Section title="Password">
                <ChangePassword {...{ visit, hasOne }} />
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
          </PageBody>
        ),
    }
  },
  actions: {
    settings: does('updateSession', async (visit, form) => {
      const { person } = visit.who
      if (person !== null && form.text('name') !== (person.name ?? null))
        await visit.ask('PATCH', `/v1/users/${person.id}`, { body: { name: form.text('name') } })
      await visit.ask('PATCH', '/v1/session', { body: { time_zone: form.text('time_zone') } })
      return { to: '/settings/you', notice: 'Kept.' }
    }),
    password: does('updateUser', async (visit, form) => {
      if (form.raw('password') !== form.raw('again')) throw mistake('again', 'is not the same as the new one')
      await visit.ask('PATCH', `/v1/users/${visit.who.person?.id ?? ''}`, {
        body: { password: form.raw('password'), current_password: form.text('current_password') },
      })
      return { to: '/settings/you', notice: 'The password is changed. All your other sessions have ended.' }
    }),
  },
}

/** Light modules around it (ISO/IEC 18004 §5.3.8). */
const QUIET = 4

const Qr = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const code = qrcode(0, 'M')
  code.addData(text)
  code.make()
  const n = code.getModuleCount()
  let path = ''
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      if (code.isDark(row, column)) path += `M${column + QUIET} ${row + QUIET}h1v1h-1z`
    }
  }
  const size = n + 2 * QUIET
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path fill="#fff" d={`M0 0h${size}v${size}h-${size}z`} />
      <path fill="#000" d={path} />
    </svg>
  )
}

const SECOND_FACTOR = '/settings/second-factor'

const KINDS: Readonly<Record<Factor['kind'], string>> = { totp: 'Authenticator app', passkey: 'Passkey' }

/** Not for half an hour after a setup link. */
const CurrentPassword = ({ visit }: { readonly visit: Visit }) =>
  visit.can('reset_password') ? null : (
    <Field
      name="current_password"
      label="Your password"
      type="password"
      required
      autocomplete="current-password"
    />
  )

interface BegunPasskey {
  readonly options: object
  readonly enrolment: string
}

interface Begun {
  readonly secret: string
  readonly uri: string
  readonly enrolment: string
}

const begunIn = (form: Form): Begun => ({
  secret: form.raw('secret'),
  uri: form.raw('uri'),
  enrolment: form.raw('enrolment'),
})

const inGroups = (secret: string): string => secret.replace(/(.{4})(?=.)/g, '$1 ')

const addView = (title: string, says: string, body: ComponentChildren): View =>
  titled(
    title,
    <PageBody {...{ title, says }} crumb={[SECOND_FACTOR, 'Second factor']}>
      {body}
    </PageBody>,
  )

const appView = (visit: Visit, begun: Begun): View =>
  addView(
    'Add an authenticator app',
    'Scan the code with the app, or type the secret into it. It is on once a code of it has come back.',
    <>
      <Qr text={begun.uri} label="QR code for an authenticator app" />
      <Code label="The secret" text={inGroups(begun.secret)} />
      <ActionForm action="confirm-app">
        <Hidden of={{ secret: begun.secret, uri: begun.uri, enrolment: begun.enrolment }} />
        <Field name="name" label="What you call it" value="Authenticator app" maxLength={100} />
        <Field
          name="code"
          label="The code that it shows now"
          required
          maxLength={20}
          autocomplete="one-time-code"
        />
        <Send beside={<Leave to={visit.link(SECOND_FACTOR)} />}>Turn it on</Send>
      </ActionForm>
    </>,
  )

const passkeyView = (visit: Visit, { options, enrolment }: BegunPasskey): View =>
  addView(
    'Add a passkey',
    'The browser asks where to keep it: on this device, on a phone or on a security key.',
    <>
      <PasskeyForm how="create" action={SECOND_FACTOR} options={options}>
        <FormMarks action="confirm-passkey" />
        <Hidden of={{ enrolment }} />
        <Field name="name" label="What you call it" value="Passkey" maxLength={100} />
        <Send beside={<Leave to={visit.link(SECOND_FACTOR)} />}>Make the passkey</Send>
      </PasskeyForm>
      <noscript>
        <p>Browsers make passkeys by a script only. An authenticator app works without.</p>
      </noscript>
    </>,
  )

const codesView = (visit: Visit, title: string, codes: readonly string[]): FormDone => ({
  view: shownOnce({
    visit,
    back: [SECOND_FACTOR, 'Second factor'],
    title,
    says: 'Keep the recovery codes where you keep passwords: each signs in once in place of your device. They are not shown again.',
    secrets: [{ label: 'Recovery codes, shown once', text: codes.join('\n') }],
  }),
})

const Factors = ({ visit, rows }: { readonly visit: Visit; readonly rows: readonly Factor[] }) => (
  <Table
    caption="Your second factors, the oldest first"
    rows={rows}
    columns={[
      { head: 'Name', kind: 'grow', cell: (row) => <bdi>{row.name}</bdi> },
      { head: 'Kind', cell: (row) => KINDS[row.kind] },
      { head: 'Added', kind: 'opt', cell: (row) => <Time at={row.created_at} /> },
      { head: 'Last used', cell: (row) => <Time at={row.last_used_at} /> },
      {
        head: '',
        kind: 'act',
        cell: (row) => (
          <Verb action="remove" label="Remove" reason="none" harm tiny about={{ id: row.id }}>
            <p>
              {rows.length === 1
                ? 'It is your only one: your password alone signs in then, and your recovery codes end.'
                : 'It opens nothing any more.'}
            </p>
            <CurrentPassword visit={visit} />
          </Verb>
        ),
      },
    ]}
  />
)

const RecoveryCodes = ({ visit, left }: { readonly visit: Visit; readonly left: number }) => (
  <Section title="Recovery codes" says={left === 1 ? 'one is left' : `${left} are left`}>
    <Verb action="codes" label="Make new ones" reason="none">
      <p>Those that you have open nothing any more.</p>
      <CurrentPassword visit={visit} />
    </Verb>
  </Section>
)

const AddApp = ({ visit }: { readonly visit: Visit }) => (
  <Section title="Add an authenticator app" says="on a phone or in a password manager; it shows six digits">
    <ActionForm action="begin-app">
      <CurrentPassword visit={visit} />
      <Send>Add an authenticator app</Send>
    </ActionForm>
  </Section>
)

const AddPasskey = ({ visit }: { readonly visit: Visit }) => {
  const site = passkeySite(visit.baseUrl)
  return (
    <Section title="Add a passkey" says="this device, a phone or a security key; nothing to type">
      {typeof site === 'string' ? (
        <p class="soft">{site}</p>
      ) : (
        <ActionForm action="begin-passkey">
          <CurrentPassword visit={visit} />
          <Send plain>Add a passkey</Send>
        </ActionForm>
      )}
    </Section>
  )
}

const sentence = ({ factors }: PersonInFull): string => {
  if (factors.length === 0) return 'Your password alone signs you in.'
  return factors.length === 1
    ? 'Signing in with your password asks for a second factor.'
    : `Signing in with your password asks for one of ${factors.length} second factors.`
}

const Own = ({ visit, row }: { readonly visit: Visit; readonly row: PersonInFull }) => (
  <PageBody
    title={sentence(row)}
    crumb={['/settings/you', 'Your settings']}
    says="A second factor is something that you have: who finds your password out cannot sign in without it."
  >
    {visit.mustEnrol ? (
      <Note tone="wait" icon="alarm">
        <p>Everybody must have a second factor here. Add one now; everything else opens then.</p>
      </Note>
    ) : null}
    {row.factors.length === 0 ? null : <Factors visit={visit} rows={row.factors} />}
    {row.factors.length === 0 ? null : <RecoveryCodes visit={visit} left={row.recovery_codes_left} />}
    <div class="two">
      <AddApp visit={visit} />
      <AddPasskey visit={visit} />
    </div>
  </PageBody>
)

const withoutPassword = (
  <Empty whole title="You have no password here">
    <p>Your identity provider asks for a second factor, where it wants one.</p>
    <p>
      <ButtonLink to="/settings/you">Your settings</ButtonLink>
    </p>
  </Empty>
)

const view = async (visit: Visit, refused: RefusedForm | null): Promise<View> => {
  if (refused?.action === 'confirm-app') return appView(visit, begunIn(refused.form))
  const { person } = visit.who
  const row =
    person === null
      ? null
      : await visit.ask<PersonInFull>('GET', `/v1/users/${encodeURIComponent(person.id)}`)
  const isLocal = row?.has_password === true
  return { title: 'Second factor', body: isLocal ? <Own {...{ visit, row }} /> : withoutPassword }
}

const password = (form: Form) => ({
  current_password: form.has('current_password') ? form.raw('current_password') : null,
})

const added = async (visit: Visit, body: object): Promise<FormDone> => {
  const made = await visit.ask<{ recovery_codes: readonly string[] | null; name: string }>(
    'POST',
    '/v1/session/factors',
    { body },
  )
  return made.recovery_codes === null
    ? { to: SECOND_FACTOR, notice: `${made.name} is on.` }
    : codesView(visit, `${made.name} is on.`, made.recovery_codes)
}

const secondFactorPage: SitePage = {
  path: SECOND_FACTOR,
  view,
  actions: {
    'begin-app': does('beginFactor', async (visit, form) => {
      const body = { kind: 'totp', ...password(form) }
      return { view: appView(visit, await visit.ask<Begun>('POST', '/v1/session/factors/begin', { body })) }
    }),
    'confirm-app': does('addFactor', (visit, form) =>
      added(visit, { enrolment: form.raw('enrolment'), name: form.text('name'), code: form.raw('code') }),
    ),
    'begin-passkey': does('beginFactor', async (visit, form) => {
      const body = { kind: 'passkey', ...password(form) }
      const begun = await visit.ask<BegunPasskey>('POST', '/v1/session/factors/begin', { body })
      return { view: passkeyView(visit, begun) }
    }),
    'confirm-passkey': does('addFactor', (visit, form) =>
      added(visit, {
        enrolment: form.raw('enrolment'),
        name: form.text('name'),
        response: form.raw('response'),
      }),
    ),
    remove: does('removeFactor', async (visit, form) => {
      const path = `/v1/session/factors/${encodeURIComponent(form.raw('id'))}`
      await visit.ask('DELETE', path, { body: password(form) })
      return { to: SECOND_FACTOR, notice: 'It is removed.' }
    }),
    codes: does('replaceRecoveryCodes', async (visit, form) => {
      const { recovery_codes: codes } = await visit.ask<{ recovery_codes: readonly string[] }>(
        'POST',
        '/v1/session/recovery-codes',
        { body: password(form) },
      )
      return codesView(visit, 'You have new recovery codes.', codes)
    }),
  },
}

export const ownPages: readonly SitePage[] = [youPage, secondFactorPage]
