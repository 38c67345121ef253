/**
 * NAME      member-form - the fields of an upstream, and what they become
 * DESCRIPTION
 *   A password goes in and never comes out: an empty login keeps the one that there is.
 */
import type { Form } from '../../form.js'
import { Check, Choice, Field, FoldedFields } from '../../parts/form.js'
import type { Pool } from './upstream.js'
import { type Member, TLS_WORDS } from './upstream.js'

const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER']

interface Props {
  readonly member: Member | null
}

const TokenFields = ({ member }: Props) => (
  <FoldedFields title="Tokens in place of a password (Microsoft 365, Gmail)">
    <p class="hint">
      {member?.has_oauth
        ? 'It signs in with tokens. Empty fields keep them; a password ends them.'
        : 'Asked for at an OAuth 2.0 token endpoint, for the user above.'}
    </p>
    <div class="row">
      <Field name="token_url" label="Token endpoint" placeholder="https://" />
      <Field name="client_id" label="Client id" autocomplete="off" />
      <Field name="scope" label="Scope" />
    </div>
    <div class="row">
      <Field name="client_secret" label="Client secret" type="password" autocomplete="new-password" />
      <Field name="refresh_token" label="Refresh token" type="password" autocomplete="new-password" />
    </div>
    <Choice
      name="auth_mechanism"
      label="Sign in by"
      value={member?.auth_mechanism ?? ''}
      options={[['', 'what is offered and fits'], ...MECHANISMS.map((one) => [one, one] as const)]}
    />
  </FoldedFields>
)

const LimitFields = ({ member }: Props) => (
  <FoldedFields title="Share, limits and certificate">
    <div class="row">
      <Field name="weight" label="Weight" value={member?.weight} placeholder="1" />
      <Field name="priority" label="Priority" value={member?.priority} placeholder="0" />
    </div>
    <p class="hint">The lowest priority that takes mail is used; weight shares it out within.</p>
    <div class="row">
      <Field
        name="max_connections"
        label="Connections, at most"
        value={member?.max_connections}
        placeholder="10"
      />
      <Field
        name="messages_per_connection"
        label="Mails per connection"
        value={member?.messages_per_connection}
        placeholder="100"
      />
      <Field name="rate" label="Mails per second" value={member?.rate} placeholder="any" />
    </div>
    <Field
      name="fingerprint"
      label="Pinned certificate (SHA-256)"
      value={member?.fingerprint}
      hint="In hex. It takes the place of chain and name."
    />
  </FoldedFields>
)

export const MemberFields = ({ member }: Props) => {
  return (
    <>
      <div class="row">
        <Field name="host" label="Host" value={member?.host} required placeholder="mta1.example.net" />
        <Field name="port" label="Port" value={member?.port} placeholder="25" />
        <Choice
          name="tls"
          label="TLS"
          value={member?.tls ?? ''}
          options={[
            ['', 'as fits: required with a login'],
            ...Object.entries(TLS_WORDS).map(([value, words]) => [value, `${value}: ${words}`] as const),
          ]}
        />
      </div>
      <div class="row">
        <Field
          name="user"
          label="User"
          autocomplete="off"
          hint={member?.has_auth ? 'Empty keeps the login that there is.' : 'Empty: it needs no login.'}
        />
        <Field
          name="pass"
          label="Password"
          type="password"
          autocomplete="new-password"
          hint="Sealed before it is stored, and shown to nobody."
        />
      </div>
      {member?.has_auth ? <Check name="no_auth" label="Sign in no more" /> : null}
      <TokenFields member={member} />
      <LimitFields member={member} />
    </>
  )
}

const TOKENS = ['token_url', 'client_id', 'client_secret', 'refresh_token', 'scope'] as const

const authOf = (form: Form) => {
  const user = form.text('user')
  if (form.has('no_auth')) return { auth: null }
  const given = TOKENS.flatMap((name) => (form.text(name) === null ? [] : [[name, form.text(name)] as const]))
  if (user === null && given.length === 0) return {}
  const pass = form.raw('pass')
  return {
    auth: {
      ...(user !== null && { user }),
      ...(pass !== '' && { pass }),
      ...(given.length > 0 && { oauth: Object.fromEntries(given) }),
    },
  }
}

export const memberOf = (form: Form) => ({
  host: form.text('host'),
  port: form.number('port'),
  tls: form.text('tls'),
  ...authOf(form),
  auth_mechanism: form.text('auth_mechanism'),
  weight: form.number('weight'),
  priority: form.number('priority'),
  max_connections: form.number('max_connections'),
  messages_per_connection: form.number('messages_per_connection'),
  rate: form.number('rate'),
  fingerprint: form.text('fingerprint'),
})

/** What names a member and changes nothing of it. */
export const kept = ({ id, host, port, state }: Pool['members'][number]) => ({ id, host, port, state })
