/**
 * NAME      keys - API keys, and ready lines for a new secret
 *   Which there are, when each was last used, and which one somebody has in hand: the first 21 characters tell, and no
 *   more than these ever leave the browser. A secret is shown once, when its key is made, with what a developer pastes
 *   to see a first mail at the addresses and ports of this installation. What can be done to a key stands where one key
 *   is shown, found by its whole beginning: two forms in each row of a hundred were most of a page.
 */
import type { keyRecord } from '../../../resource/tenants.js'
import type { Form } from '../../form.js'
import { ActionForm, Check, Choice, Field, Filters, type Options, Send, Verb } from '../../parts/form.js'
import {
  Code,
  Empty,
  ManagedMark,
  ManagedNote,
  Note,
  PageBody,
  type Sample,
  shownOnce,
} from '../../parts/page-parts.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { exactTime, isolate, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type SitePage, titled, type View, type Visit } from '../../visit.js'
import { HistoryOf, historyOf } from '../settings/audit.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'
import { LastUse, RevokeVerb, SendsFor, slugOf, unusedSince, Whose, workspacesOf } from './whose.js'

interface Listener {
  readonly host: string
  readonly port: number
  readonly tls: 'starttls' | 'implicit' | 'none'
  readonly ip_credentials: boolean
}

/** The answer of GET /v1/installation. */
export interface Installation {
  readonly base_url: string
  readonly hostname: string
  readonly submission: readonly Listener[]
}

interface Sender {
  readonly from: string
  readonly to: string
  /** Of a platform key: the workspace that it names; else null. */
  readonly workspace: string | null
}

/** The listener that a client should rather use: with STARTTLS, then TLS from the start. */
export const bestListener = ({ submission }: Pick<Installation, 'submission'>): Listener | null => {
  for (const wanted of ['starttls', 'implicit', 'none'] as const) {
    const found = submission.find(({ tls }) => tls === wanted)
    if (found !== undefined) return found
  }
  return null
}

/** For a shell: what stands between single quotes is taken as it is. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const SWAKS_TLS = { starttls: ' --tls', implicit: ' --tls-on-connect', none: '' } as const
const PHP_TLS = {
  starttls: 'PHPMailer::ENCRYPTION_STARTTLS',
  implicit: 'PHPMailer::ENCRYPTION_SMTPS',
  none: "''",
} as const

const curl = (url: string, secret: string, { from, to, workspace }: Sender): Sample => {
  const body = JSON.stringify({ from, to, subject: 'Hello', text: 'It works.' })
  const named = workspace === null ? '' : `  -H ${quoted(`X-Workspace-Id: ${workspace}`)} \\\n`
  const text = `curl ${quoted(`${url}/v1/emails`)} \\
  -H ${quoted(`Authorization: Bearer ${secret}`)} \\
${named}  -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`
  return { name: 'curl', text }
}

const node = (url: string, secret: string, { from, to, workspace }: Sender): Sample => {
  const named = workspace === null ? '' : `    'X-Workspace-Id': ${JSON.stringify(workspace)},\n`
  const text = `const answer = await fetch(${JSON.stringify(`${url}/v1/emails`)}, {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${secret}',
${named}    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    from: ${JSON.stringify(from)},
    to: ${JSON.stringify(to)},
    subject: 'Hello',
    text: 'It works.',
  }),
})
console.log(answer.status, await answer.json())`
  return { name: 'Node', text }
}

const swaks = (
  { host, port, tls }: Listener,
  user: string,
  password: string,
  { from, to }: Sender,
): Sample => ({
  name: 'swaks',
  text: `swaks --server ${host}:${port}${SWAKS_TLS[tls]} --auth PLAIN \\
  --auth-user ${quoted(user)} --auth-password ${quoted(password)} \\
  --from ${quoted(bare(from))} --to ${quoted(to)} --header 'Subject: Hello'`,
})

const php = ({ host, port, tls }: Listener, user: string, password: string, { from, to }: Sender): Sample => {
  const said = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const text = `use PHPMailer\\PHPMailer\\PHPMailer;

$mail = new PHPMailer(true);
$mail->isSMTP();
$mail->Host = ${said(host)};
$mail->Port = ${port};
$mail->SMTPSecure = ${PHP_TLS[tls]};
$mail->SMTPAuth = true;
$mail->Username = ${said(user)};
$mail->Password = ${said(password)};
$mail->setFrom(${said(bare(from))});
$mail->addAddress(${said(to)});
$mail->Subject = 'Hello';
$mail->Body = 'It works.';
$mail->send();`
  return { name: 'PHP', text }
}

/** `Shop <a@b.test>` as `a@b.test`. */
const bare = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from

export const loginSamples = (
  at: Installation,
  user: string,
  password: string,
  sender: Sender,
): readonly Sample[] => {
  const listener = bestListener(at)
  return listener === null
    ? []
    : [swaks(listener, user, password, sender), php(listener, user, password, sender)]
}

const keySamples = (at: Installation, secret: string, sender: Sender): readonly Sample[] => [
  curl(at.base_url, secret, sender),
  node(at.base_url, secret, sender),
  // a platform key has no workspace of its own: over SMTP the user name says it
  ...loginSamples(at, sender.workspace ?? 'apikey', secret, sender),
]

type KeyRow = ReturnType<typeof keyRecord>

const DAY_MS = 86_400_000
const ENDS: readonly (readonly [days: string, text: string])[] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
]

const MAY: readonly (readonly [permission: string, text: string])[] = [
  ['full_access', 'Send, read and change'],
  ['sending_access', 'Only send'],
  ['reading_access', 'Only read'],
]

/** As the field says that means all of them. */
const ALL = '*'

const bodyOf = (form: Form, now: number) => {
  const workspace = form.text('workspace_id')
  const days = form.text('expires_at')
  const isOffered = days !== null && ENDS.some(([one]) => one === days)
  return {
    name: form.text('name') ?? '',
    mode: form.text('mode'),
    ...(workspace === ALL ? { scope: 'platform' } : { scope: 'workspace', workspace_id: workspace }),
    expires_at: isOffered ? new Date(now + Number(days) * DAY_MS).toISOString() : days,
    rate_limit_per_minute: form.number('rate_limit_per_minute'),
    permission: form.text('permission'),
    ses: form.text('ses') === 'on',
  }
}

/** A first mail that gets through: a sandbox takes those of test keys. */
export const firstMail = (
  workspaces: readonly ShownWorkspace[],
  row: Pick<KeyRow, 'mode' | 'workspace_id'>,
  person: string | null,
): Sender => {
  const home = workspaces.find(({ id }) => id === row.workspace_id)
  const some = home ?? workspaces.find(({ is_default }) => is_default)
  return {
    from: some?.default_from ?? 'Me <me@your-domain.example>',
    to: row.mode === 'test' ? 'delivered@example.com' : (person ?? 'you@example.com'),
    workspace: row.workspace_id === null ? (some?.id ?? 'default') : null,
  }
}

type MadeKey = KeyRow & { readonly secret: string; readonly ses_secret_access_key: string | null }

const sesSecrets = ({ ses_access_key_id: id, ses_secret_access_key: text }: MadeKey) =>
  id === null || text === null
    ? []
    : [
        { label: 'Access key id, for clients of Amazon SES', text: id },
        { label: 'Secret access key, shown once', text },
      ]

const keyShown = async (
  visit: Visit,
  made: MadeKey,
  says: (sendsFor: string) => string,
): Promise<{ readonly view: View }> => {
  const [at, workspaces] = await Promise.all([
    visit.ask<Installation>('GET', '/v1/installation'),
    workspacesOf(visit),
  ])
  const slug = slugOf(workspaces, made.workspace_id)
  const sender = firstMail(workspaces, made, visit.who.person?.email ?? null)
  const view = shownOnce({
    visit,
    back: ['/keys', 'API keys'],
    title: says(slug ?? 'every workspace'),
    says: 'Copy its secret now: Postern keeps only a hash of it and cannot show it again.',
    secrets: [{ label: 'Secret, shown once', text: made.secret }, ...sesSecrets(made)],
    samples: keySamples(at, made.secret, sender),
  })
  return { view }
}

const create = async (visit: Visit, form: Form) => {
  const made = await visit.ask<MadeKey>('POST', '/v1/api-keys', { body: bodyOf(form, visit.now) })
  const who = made.mode === 'test' ? 'in test mode it' : 'it'
  return keyShown(visit, made, (sendsFor) => `${made.name} is made: ${who} sends for ${sendsFor}.`)
}

const newKeyPage: SitePage = {
  path: '/keys/new',
  opens: 'createApiKey',
  async view(visit) {
    const workspaces = await workspacesOf(visit)
    return titled(
      'Make a key',
      <PageBody
        title="Make an API key"
        crumb={['/keys', 'API keys']}
        says="Its secret is shown on the next page, and never again."
      >
        <ActionForm action="create">
          <Field name="name" label="Name" required maxLength={200} hint="The program that uses it." />
          <Whose {...{ visit, workspaces }} more={[[ALL, 'Every workspace (platform)']]} />
          <Choice name="permission" label="It may" options={MAY} />
          <Choice name="expires_at" label="Ends" options={ENDS} />
          <Field
            name="rate_limit_per_minute"
            label="Sends a minute, at most"
            type="number"
            hint="Empty: as the configuration says for all keys."
          />
          <Check name="ses" label="Also for clients of Amazon SES" />
          <Send>Make the key</Send>
        </ActionForm>
      </PageBody>,
    )
  },
  actions: { create: does('createApiKey', create) },
}

type RotatedKey = MadeKey & { readonly replaces: KeyRow }

const ABOUT = { action: 'api_key' }
const PREFIX_LENGTH = 21
const WHOLE_PREFIX = /^svc_(?:live|test)_[0-9A-Za-z]{12}$/

type Wanted =
  | { readonly kind: 'all' }
  | { readonly kind: 'secret' }
  | { readonly kind: 'exact' | 'begin'; readonly prefix: string }

const wantedOf = (visit: Visit): Wanted => {
  const prefix = visit.query('prefix')?.trim() ?? ''
  if (prefix === '') return { kind: 'all' }
  if (prefix.length > PREFIX_LENGTH) {
    // the links of this page would carry it on
    visit.url.searchParams.delete('prefix')
    return { kind: 'secret' }
  }
  return { kind: WHOLE_PREFIX.test(prefix) ? 'exact' : 'begin', prefix }
}

const WhichKey = ({ visit, wanted }: { readonly visit: Visit; readonly wanted: Wanted }) => (
  <Filters
    path="/keys"
    does="Find"
    beside={
      <>
        <span class="soft small">Paste it: only its first 21 characters are taken; the rest is secret.</span>
        {wanted.kind === 'all' ? null : <a href={visit.here({ prefix: null })}>All keys</a>}
      </>
    }
  >
    <label for="prefix">
      Which key is this?
      <input
        id="prefix"
        name="prefix"
        value={'prefix' in wanted ? wanted.prefix : ''}
        maxLength={PREFIX_LENGTH}
        placeholder="svc_live_…"
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  </Filters>
)

const isOver = (row: KeyRow, now: number): boolean =>
  row.expires_at !== null && Date.parse(row.expires_at) <= now

const OVERLAPS: Options = [
  ['0', 'not at all'],
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
]

const RotateVerb = ({ id, name, prefix }: KeyRow) =>
  Verb({
    ...{ action: 'rotate', label: 'Rotate', reason: 'optional', does: 'Make the next key' },
    about: { id, name },
    children: html`<p>A new key of the same rights is made, and shown once. Until the time is over both work; then <bdi>${name}</bdi>, <code>${prefix}</code>, ends by itself.</p>`,
    choice: { name: 'overlap', label: 'The one so far works for', value: '24h', options: OVERLAPS },
  })

const KeyVerbs = ({ row }: { readonly row: KeyRow }) => (
  <>
    <RotateVerb {...row} />
    <RevokeVerb
      row={row}
      name={row.name}
      tiny={false}
      follows={html`The next request with <bdi>${row.name}</bdi> is refused, and an open SMTP session at its next mail.`}
    >
      {row.scope === 'platform' && html`<p>It is a platform key: every workspace is concerned.</p>`}
    </RevokeVerb>
  </>
)

const hrefOf = (visit: Visit, { prefix }: KeyRow): string => visit.link('/keys', { prefix })

const BeginsWith = ({ prefix, ses_access_key_id: ses }: KeyRow) =>
  ses === null
    ? html`<code class="nb">${prefix}</code>`
    : html`<code class="nb">${prefix}</code><br><span class="soft small">for SES: <code class="nb">${ses}</code></span>`

const columns = (visit: Visit, workspaces: readonly ShownWorkspace[]): readonly TableColumn<KeyRow>[] => [
  col('Name', (row) => html`<strong dir="auto">${row.name}</strong>${ManagedMark({ row })}`),
  col('Begins with', BeginsWith),
  col('Sends for', 'name', (row) => SendsFor({ visit, workspaces, row })),
  col(
    'Sends a minute',
    'num',
    (row) => row.rate_limit_per_minute ?? html`<span class="faint">as configured</span>`,
  ),
  col('Made', 'opt', (row) => Time({ at: row.created_at })),
  col('Ends', (row) =>
    isOver(row, visit.now) ? html`<span class="st wait">Expired</span>` : Time({ at: row.expires_at }),
  ),
  col('Last used', (row) => LastUse({ visit, row })),
  {
    does: 'revokeApiKey',
    head: '',
    kind: 'act',
    cell: (row) => html`<a class="b tiny" href="${hrefOf(visit, row)}">Rotate or revoke</a>`,
  },
]

const sentence = (rows: readonly KeyRow[], visit: Visit): string => {
  const [newest] = rows.flatMap(({ last_used_at }) => last_used_at ?? []).sort((a, b) => (a < b ? 1 : -1))
  const idle = rows.filter((row) => unusedSince(row, visit.now)).length
  const many = rows.length === 1 ? 'One key' : `${rows.length} keys`
  if (newest === undefined) return `${many}, none of them used yet`
  return idle === 0 ? many : `${many}; ${idle} not used for three months or more`
}

const nothingFound = (wanted: Wanted) =>
  wanted.kind === 'secret' ? (
    <Note tone="bad" icon="alarm">
      <p>
        <strong>That was more than a beginning.</strong> Nothing was looked up. A whole key stood in the
        address of this page, where browser histories and proxies keep it: find the key by its first 21
        characters, make another one, and revoke it.
      </p>
    </Note>
  ) : (
    <Empty
      title="No such key"
      says="No key begins so. It may have been revoked, or belong to another installation."
    />
  )

const noKeys = () => (
  <Empty title="No key yet" make={['/keys/new', 'Make a key', 'createApiKey']}>
    <p>A program needs a key to send. Make one here, or on the server:</p>
    <Code text={'KEY=$(postern key create --workspace default --name "my first program")'} />
  </Empty>
)

const rowsFor = async (visit: Visit, wanted: Wanted): Promise<ListPage<KeyRow> | null> => {
  if (wanted.kind === 'secret') return null
  const exact = wanted.kind === 'exact' ? wanted.prefix : null
  const list = await visit.list<ListPage<KeyRow>>('/v1/api-keys', { prefix: exact })
  if (wanted.kind !== 'begin') return list
  return { ...list, data: list.data.filter(({ prefix }) => prefix.startsWith(wanted.prefix)) }
}

const oneKey = async (visit: Visit, row: KeyRow): Promise<View> => {
  const about = { target: row.id }
  const [workspaces, history] = await Promise.all([workspacesOf(visit), historyOf(visit, about)])
  const may = visit.may('revokeApiKey')
  return titled(
    row.name,
    <PageBody
      title={<bdi>{row.name}</bdi>}
      crumb={['/keys', 'API keys']}
      says="Of its secret, Postern has no more than these first 21 characters and a hash."
      actions={may ? <KeyVerbs row={row} /> : undefined}
    >
      <ManagedNote row={row} />
      <Table look="many" caption="This key" rows={[row]} columns={columns(visit, workspaces).slice(0, -1)} />
      <HistoryOf visit={visit} about={about} history={history} />
    </PageBody>,
  )
}

const allKeys = async (visit: Visit, wanted: Wanted, list: ListPage<KeyRow> | null): Promise<View> => {
  const [workspaces, history] = await Promise.all([
    workspacesOf(visit),
    wanted.kind === 'all' ? historyOf(visit, ABOUT) : null,
  ])
  const rows = list?.data ?? []
  const isEmpty = wanted.kind === 'all' && rows.length === 0 && visit.query('cursor') === null
  return titled(
    'API keys',
    <PageBody
      title={rows.length === 0 || wanted.kind !== 'all' ? 'API keys' : `${sentence(rows, visit)}.`}
      says="A key sends for one workspace, or for all of them. Whoever has it may send; it is shown once, when it is made."
      make={isEmpty ? null : ['/keys/new', 'Make a key', 'createApiKey']}
    >
      {isEmpty ? null : <WhichKey {...{ visit, wanted }} />}
      {isEmpty ? noKeys() : null}
      {!isEmpty && rows.length === 0 ? nothingFound(wanted) : null}
      <Table
        look="many"
        caption="API keys, newest first"
        rows={rows}
        columns={columns(visit, workspaces)}
        href={(row) => hrefOf(visit, row)}
        none={null}
      />
      {list === null ? null : <Pager list={list} />}
      <HistoryOf visit={visit} about={ABOUT} history={history} />
    </PageBody>,
  )
}

const keysPage: SitePage = {
  path: '/keys',
  async view(visit) {
    const wanted = wantedOf(visit)
    const list = await rowsFor(visit, wanted)
    const [one] = list?.data ?? []
    return wanted.kind === 'exact' && one !== undefined ? oneKey(visit, one) : allKeys(visit, wanted, list)
  },
  actions: {
    revoke: does('revokeApiKey', async (visit, form) => {
      await visit.ask('DELETE', `/v1/api-keys/${encodeURIComponent(form.raw('id'))}`, {
        body: { reason: form.text('reason') },
      })
      return {
        to: visit.link('/keys'),
        notice: `${form.raw('name')} is revoked: its next request is refused.`,
      }
    }),
    rotate: does('rotateApiKey', async (visit, form) => {
      const path = `/v1/api-keys/${encodeURIComponent(form.raw('id'))}/rotate`
      const body = { overlap: form.text('overlap'), reason: form.text('reason') }
      const made = await visit.ask<RotatedKey>('POST', path, { body })
      const ends = Date.parse(made.replaces.expires_at ?? '')
      const before =
        ends <= Date.now()
          ? 'the one so far has ended'
          : `the one so far ends at ${exactTime(ends, visit.zone)}`
      return keyShown(visit, made, () => `${isolate(made.name)} has its next key; ${before}.`)
    }),
  },
}

export const keyPages: readonly SitePage[] = [keysPage, newKeyPage]
