/**
 * NAME      views - the pages of signing in
 *   A card on an empty page. Each says one thing, and where to go on; none needs a script.
 */
import type { ComponentChildren, VNode } from 'preact'
import type { Assets } from '../assets/assets.js'
import { Document } from '../layout.js'
import { PasskeyForm, Submit } from '../parts/form.js'
import { ButtonLink, Facts } from '../parts/page-parts.js'
import { Icon } from '../parts/status.js'

interface Frame {
  readonly assets: Assets
  readonly baseUrl: string
}

interface DoorProps extends Frame {
  readonly title: string
  readonly hideTitle?: boolean
  readonly foot?: ComponentChildren
  readonly children: ComponentChildren
}

const Door = ({ assets, baseUrl, title, hideTitle = false, foot, children }: DoorProps) => (
  <Document title={title} assets={assets}>
    <div class="door">
      <main id="main">
        <div class="brand">
          <Icon name="gate" />
          <span>Postern</span>
        </div>
        <div class="card">
          <h1 {...(hideTitle && { class: 'hid' })}>{title}</h1>
          {children}
        </div>
        <footer>
          {new URL(baseUrl).host}
          {foot === undefined ? null : (
            <>
              <br />
              {foot}
            </>
          )}
        </footer>
      </main>
    </div>
  </Document>
)

export interface SignInNotice {
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly says: string
  /** For who runs Postern. */
  readonly check?: string
  /** What was found wrong, in the words of the check. */
  readonly failed?: string
}

const NoticeBox = ({ tone, says, check, failed }: SignInNotice) => (
  <div class={`note ${tone}`} role={tone === 'ok' ? 'status' : 'alert'}>
    {tone === 'ok' ? null : <Icon name="alarm" tone={tone} />}
    <div>
      <p>{says}</p>
      {failed === undefined ? null : (
        <p class="soft">
          What failed: <bdi>{failed}</bdi>.
        </p>
      )}
      {check === undefined ? null : <p class="soft">To mend it: {check}.</p>}
    </div>
  </div>
)

export interface ProviderLink {
  readonly href: string
  readonly label: string
}

const ProviderLinks = ({ links }: { readonly links: readonly ProviderLink[] }) => (
  <div class="idps">
    {links.map(({ href, label }, i) => (
      <a class={i === 0 ? 'b main' : 'b'} href={href}>
        Sign in with {label}
      </a>
    ))}
  </div>
)

interface FormProps {
  readonly action: string
  readonly token: string
  readonly children: ComponentChildren
}

const GuestForm = ({ action, token, children }: FormProps) => (
  <form class="form" method="post" action={action}>
    <input type="hidden" name="_form" value={token} />
    {children}
  </form>
)

interface SignInView extends Frame {
  readonly notice: SignInNotice | null
  readonly providers: readonly ProviderLink[]
  readonly hasLocal: boolean
  readonly token: string
  readonly returnTo: string
  readonly email: string
}

const SignInForm = ({
  token,
  returnTo,
  email,
  alone,
}: Omit<SignInView, keyof Frame> & { readonly alone: boolean }) => (
  <GuestForm action="/sign-in" token={token}>
    {returnTo === '/' ? null : <input type="hidden" name="return_to" value={returnTo} />}
    <label>
      Mail address
      <input type="email" name="email" value={email} autocomplete="username" required maxLength={254} />
    </label>
    <label>
      Password
      <input type="password" name="password" autocomplete="current-password" required maxLength={256} />
    </label>
    <Submit main={alone}>Sign in</Submit>
  </GuestForm>
)

export const signInPage = (view: SignInView): VNode => {
  const { providers, hasLocal, notice } = view
  const foot = (
    <>
      No account? An owner invites you, or <code>postern setup-link</code> makes the first one.
    </>
  )
  return (
    <Door assets={view.assets} baseUrl={view.baseUrl} title="Sign in to Postern" hideTitle foot={foot}>
      {notice === null ? null : <NoticeBox {...notice} />}
      {providers.length === 0 ? null : <ProviderLinks links={providers} />}
      {providers.length > 0 && hasLocal ? <div class="or">or with a local account</div> : null}
      {hasLocal ? <SignInForm {...view} alone={providers.length === 0} /> : null}
      {providers.length === 0 && !hasLocal ? (
        <p>
          Nobody can sign in here: local accounts are off and there is no provider.{' '}
          <code>postern setup-link</code> on the server lets an owner in.
        </p>
      ) : null}
    </Door>
  )
}

interface SecondView extends Frame {
  readonly notice: SignInNotice | null
  readonly token: string
  readonly email: string
  /** What a passkey of the person is asked to sign; null where there is none. */
  readonly passkey: object | null
}

/** The password was right: what else proves that it is this person. */
export const secondPage = ({ notice, token, email, passkey, ...frame }: SecondView): VNode => (
  <Door
    {...frame}
    title="One more step"
    foot="Lost your device and your recovery codes? An owner, or who runs this server, gives you a setup link."
  >
    {notice === null ? null : <NoticeBox {...notice} />}
    <p>
      Signing in as <b>{email}</b>.
    </p>
    {passkey === null ? null : (
      <PasskeyForm how="get" action="/second-factor" options={passkey}>
        <input type="hidden" name="_form" value={token} />
        <Submit main>Use a passkey</Submit>
      </PasskeyForm>
    )}
    <GuestForm action="/second-factor" token={token}>
      <label>
        Code
        <input
          type="text"
          name="code"
          autocomplete="one-time-code"
          autocapitalize="none"
          spellcheck={false}
          required
          maxLength={40}
        />
        <span class="hint">The six digits that your authenticator app shows, or a recovery code.</span>
      </label>
      <Submit main={passkey === null}>Go on</Submit>
    </GuestForm>
    <p>
      <a href="/sign-in?local">Sign in as somebody else</a>
    </p>
  </Door>
)

/** A one-use link: nothing happens before the button is pressed. */
export const setupPage = (
  view: Frame & { readonly path: string; readonly token: string; readonly person: string | null },
): VNode => (
  <Door
    assets={view.assets}
    baseUrl={view.baseUrl}
    title={view.person === null ? 'Sign in as an owner' : 'Sign in with this link'}
  >
    <p>
      {view.person === null ? (
        <>This link signs you in once, to set Postern up.</>
      ) : (
        <>
          This link signs in <b>{view.person}</b> once, to set a new password.
        </>
      )}
    </p>
    <GuestForm action={view.path} token={view.token}>
      <Submit main>Sign in</Submit>
    </GuestForm>
  </Door>
)

interface InvitationView extends Frame {
  readonly path: string
  readonly token: string
  readonly role: string
  readonly email: string
  readonly name: string
  readonly providers: readonly ProviderLink[]
  readonly hasLocal: boolean
  readonly wrong: readonly string[]
}

const InvitationForm = ({ path, token, email, name, wrong, providers }: InvitationView) => (
  <GuestForm action={path} token={token}>
    {wrong.length === 0 ? null : (
      <div class="note bad" role="alert">
        <div>
          {wrong.map((line) => (
            <p>{line}</p>
          ))}
        </div>
      </div>
    )}
    <label>
      Mail address
      <input type="email" name="email" value={email} autocomplete="username" required maxLength={254} />
    </label>
    <label>
      Name
      <input type="text" name="name" value={name} autocomplete="name" maxLength={200} />
    </label>
    <label>
      Password
      <input
        type="password"
        name="password"
        autocomplete="new-password"
        required
        minLength={12}
        maxLength={256}
      />
      <span class="hint">12 characters or more; a sentence is fine.</span>
    </label>
    <Submit main={providers.length === 0}>Create the account</Submit>
  </GuestForm>
)

export const invitationPage = (view: InvitationView): VNode => (
  <Door assets={view.assets} baseUrl={view.baseUrl} title="You are invited">
    <p>
      Your role in Postern will be <b>{view.role}</b>.
    </p>
    {view.providers.length === 0 ? null : <ProviderLinks links={view.providers} />}
    {view.providers.length > 0 && view.hasLocal ? <div class="or">or with a password here</div> : null}
    {view.hasLocal ? <InvitationForm {...view} /> : null}
  </Door>
)

export const messagePage = (
  view: Frame & {
    readonly title: string
    readonly says: ComponentChildren
    readonly check?: string
    readonly on?: { readonly href: string; readonly text: string }
  },
): VNode => (
  <Door assets={view.assets} baseUrl={view.baseUrl} title={view.title}>
    <p>{view.says}</p>
    {view.check === undefined ? null : <p class="soft">To mend it: {view.check}.</p>}
    {view.on === undefined ? null : <ButtonLink to={view.on.href}>{view.on.text}</ButtonLink>}
  </Door>
)

export interface WrongWay {
  /** The address that the browser was seen at, such as `http://10.0.0.5:8080`. */
  readonly seen: string
  readonly from: string
  readonly why: string
  readonly change: string
}

export const wrongWayPage = ({ assets, baseUrl, way }: Frame & { readonly way: WrongWay }): VNode => (
  <Door assets={assets} baseUrl={baseUrl} title="Not by this way">
    <p>{way.why}</p>
    <Facts
      facts={[
        ['Seen', <code>{way.seen}</code>],
        ['From', <code>{way.from}</code>],
        ['base_url', <code>{baseUrl}</code>],
      ]}
    />
    <p>
      {way.change.startsWith('open ')
        ? 'Please '
        : 'The line to change, or the proxy to name in http.trusted_proxies: '}
      <code>{way.change}</code>
    </p>
  </Door>
)
