/**
 * NAME      suppressions - addresses that are not written to
 *   A list belongs to a workspace, or to all of them. Without a workspace in the URL the default one is meant, and the page says
 *   so. A whole list may be pasted: addresses, one a line, or CSV as the command line reads it. What /v1 calls no address is left
 *   out and named by its line; where nothing could be taken, the text comes back. To send it again does no harm.
 *   Addresses that bounced for good at the same time wait for a decision. When an address may be written to again, what did not
 *   arrive meanwhile may be wanted: bounced mails are sent again, held ones are released, by a job of /v1 with a reason.
 */
import type { ComponentChildren } from 'preact'
import { parseRecipient } from '../../../mail/address.js'
import { type ListLine, readSuppressionList } from '../../../record/csv.js'
import type { Incident } from '../../../record/queue.js'
import type { Suppression } from '../../../resource/tenants.js'
import { AskError, type AskQuery, mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import { reasonWords } from '../../mail/verdict.js'
import { ActionForm, Choice, Field, Filters, Send, Verb, Word } from '../../parts/form.js'
import { Choices, Code, Empty, Head, Note, Section } from '../../parts/page-parts.js'
import {
  col,
  ExportLinks,
  exported,
  type ListPage,
  Pager,
  Table,
  type TableColumn,
} from '../../parts/table.js'
import { Address, figure, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type FormDone, type RawRoute, type SitePage, titled, type Visit } from '../../visit.js'
import { chosenWorkspace, within, workspacesOf } from '../access/whose.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'

const MOST = 10_000
/** What /v1 takes at once. */
const CHUNK = 100
const MOST_LINES_NAMED = 20

const counted = (n: number, one: string, many = `${one}s`): string =>
  n === 1 ? `1 ${one}` : `${figure(n)} ${many}`

const ForWhom = ({ wide }: { readonly wide: boolean }) => (
  <Choice
    name="scope"
    label="For"
    value={wide ? 'account' : 'workspace'}
    options={{ workspace: 'this workspace', account: 'every workspace' }}
  />
)

const ImportForm = ({ wide }: { readonly wide: boolean }) => (
  <ActionForm action="import">
    <Field
      name="list"
      label="Addresses or CSV"
      rows={6}
      required
      hint="One address a line, or CSV with them in the first column or under a head such as email; at most 10,000."
    />
    <Field name="reason" label="Reason" maxLength={500} hint="The same for all of them." />
    <ForWhom wide={wide} />
    <Send plain>Import</Send>
  </ActionForm>
)

const wrongItems = (error: unknown): readonly number[] =>
  error instanceof AskError
    ? (error.problem.errors ?? []).flatMap(({ field }) => {
        const item = /\[(\d+)\]/.exec(field)?.[1]
        return item === undefined ? [] : [Number(item)]
      })
    : []

interface Taken {
  /** Ids; of an address that stands twice, twice. */
  readonly ids: readonly string[]
  readonly wrong: readonly ListLine[]
}

/** A batch is taken whole or not at all, so it is sent again without what was wrong with it. */
const take = async (
  add: (emails: readonly string[]) => Promise<readonly string[]>,
  lines: readonly ListLine[],
) => {
  const wrong: ListLine[] = []
  let left = lines
  while (left.length > 0) {
    try {
      return { ids: await add(left.map(({ email }) => email)), wrong }
    } catch (error) {
      const items = new Set(wrongItems(error))
      if (items.size === 0) throw error
      wrong.push(...left.filter((_, i) => items.has(i)))
      left = left.filter((_, i) => !items.has(i))
    }
  }
  return { ids: [], wrong }
}

const notTaken = (wrong: readonly ListLine[]): string => {
  if (wrong.length === 0) return ''
  const named = wrong.slice(0, MOST_LINES_NAMED).map(({ at }) => at)
  const more = wrong.length - named.length
  const lines = `${wrong.length === 1 ? 'line' : 'lines'} ${named.join(', ')}`
  return `No single address: ${lines}${more === 0 ? '' : ` and ${figure(more)} more`}.`
}

/** What was added before something else failed stays, and the page says so. */
const halfway = (error: unknown, n: number): unknown =>
  n > 0 && error instanceof AskError
    ? new AskError({
        ...error.problem,
        detail: `${counted(n, 'address is', 'addresses are')} on the list, the rest is not: ${error.message} Send it again; what is there stays.`,
      })
    : error

const importList = async (visit: Visit, form: Form): Promise<FormDone> => {
  const lines = readSuppressionList(form.raw('list'))
  if (lines.length === 0) throw mistake('list', 'there is no address in it')
  if (lines.length > MOST) throw mistake('list', `at most 10,000 at once; these are ${figure(lines.length)}`)
  const slug = chosenWorkspace(visit, await workspacesOf(visit))
  const scope = form.text('scope')
  const addTo = (list: string) => async (emails: readonly string[]) => {
    const body = { emails, list: list === '' ? null : list, reason: form.text('reason'), scope }
    const path = '/v1/suppressions/batch/add'
    const { data } = await visit.ask<{ data: readonly { id: string }[] }>('POST', path, {
      ...within(slug),
      body,
    })
    return data.map(({ id }) => id)
  }
  // several on one line would be taken for an address and its reason, and the others lost
  const several = ({ reason }: ListLine): boolean => reason !== null && parseRecipient(reason) !== null
  const wrong = lines.filter(several)
  const single = lines.filter((line) => !several(line))
  const ids = new Set<string>()
  for (const list of new Set(single.map((line) => line.list))) {
    const lines = single.filter((line) => line.list === list)
    for (let at = 0; at < lines.length; at += CHUNK) {
      const taken: Taken = await take(addTo(list), lines.slice(at, at + CHUNK)).catch((error) => {
        throw halfway(error, ids.size)
      })
      for (const id of taken.ids) ids.add(id)
      wrong.push(...taken.wrong)
    }
  }
  wrong.sort((a, b) => a.at - b.at)
  if (ids.size === 0) throw mistake('list', notTaken(wrong))
  return {
    to: visit.link('/suppressions', { scope: scope === 'account' ? 'account' : null }),
    notice: `${counted(ids.size, 'address is', 'addresses are')} on the list. ${notTaken(wrong)}`.trim(),
  }
}

/** Those that nobody has decided; none where they may not be seen. */
export const openIncidents = async (
  visit: Visit,
  of: Parameters<Visit['part']>[1] = {},
): Promise<readonly Incident[]> => {
  const answer = await visit.part<ListPage<Incident>>('/v1/incidents', {
    ...of,
    query: { open: 'true', limit: 100 },
  })
  return 'data' in answer ? answer.data : []
}

const domainOf = ({ domain }: Incident): string => (domain === '' ? 'several domains' : domain)

const before = ({ delivered_before: n }: Incident): string =>
  n === 0 ? '' : `, and ${n} of them took mail before`

export const IncidentNote = ({
  incident,
  children,
}: {
  readonly incident: Incident
  readonly children?: ComponentChildren
}) => (
  <Note tone="wait" icon="alarm">
    <p>
      <strong>
        {incident.pending} addresses of <bdi>{domainOf(incident)}</bdi> were refused together
      </strong>{' '}
      since <Time at={incident.created_at} />
      {before(incident)}: {incident.said === '' ? 'in other words each' : <q dir="auto">{incident.said}</q>}.
      Perhaps a server is broken, and they live. They are written to until somebody decides; without a
      decision in 7 days, they are written to as before.
    </p>
    {children}
  </Note>
)

const Incidents = ({ visit, incidents }: { visit: Visit; incidents: readonly Incident[] }) => (
  <>
    {incidents.map((incident) => (
      <IncidentNote {...{ incident }}>
        {visit.may('acceptIncident') ? (
          <div class="actions">
            <Verb
              action="accept"
              label="They are dead"
              does="Suppress them"
              reason="none"
              about={{ incident: incident.id }}
            >
              {incident.pending} addresses of {domainOf(incident)} are written to no more.
            </Verb>
            <Verb
              action="dismiss"
              label="They live"
              does="Go on writing to them"
              reason="none"
              about={{ incident: incident.id }}
            >
              What was pending is forgotten. The mails that came back stay bounced.
            </Verb>
          </div>
        ) : null}
      </IncidentNote>
    ))}
  </>
)

const decide =
  (verb: 'accept' | 'dismiss', notice: string) =>
  async (visit: Visit, form: Form): Promise<FormDone> => {
    const id = encodeURIComponent(form.raw('incident'))
    await visit.ask('POST', `/v1/incidents/${id}/${verb}`, { scoped: false })
    return { to: visit.link('/suppressions'), notice }
  }

const incidentActions = {
  accept: does('acceptIncident', decide('accept', 'They are written to no more.')),
  dismiss: does('dismissIncident', decide('dismiss', 'They are written to as before.')),
}

const KINDS = [
  {
    ...{ kind: 'again', action: 'resend', sought: 'status:bounced', label: 'Send again', were: 'bounced' },
    does: 'resendEmail',
  },
  {
    ...{ kind: 'free', action: 'release', sought: 'is:held', label: 'Release', were: 'held' },
    does: 'liftHold',
  },
] as const

type Kind = (typeof KINDS)[number]

type Left = Readonly<Partial<Record<Kind['kind'], number>>>

const order = (visit: Visit, slug: string, address: string, { action, sought }: Kind, more: object) =>
  visit.ask<{ readonly id: string; readonly matched: number }>('POST', '/v1/emails/bulk', {
    ...within(slug),
    body: { action, q: `to:"${address}" ${sought}`, mode: visit.scope.mode, ...more },
  })

/** Of mail to this address; nothing for who may not act on it. */
const leftOf = async (visit: Visit, slug: string, address: string | null): Promise<Left> => {
  if (address === null || !address.includes('@') || !visit.may('liftHold')) return {}
  const found = KINDS.map(async (kind) => {
    const looking = order(visit, slug, address, kind, { reason: 'looking', dry_run: true })
    return [kind.kind, await looking.then(({ matched }) => matched).catch(() => 0)] as const
  })
  return Object.fromEntries(await Promise.all(found))
}

const LeftVerbs = ({ address, left }: { readonly address: string; readonly left: Left }) => (
  <div class="actions">
    {KINDS.filter(({ kind }) => (left[kind] ?? 0) > 0).map(({ kind, label, were }) => (
      <Verb
        action={kind}
        label={`${label}: ${figure(left[kind] ?? 0)} ${were}`}
        does={label}
        about={{ address }}
      >
        Mails to <bdi>{address}</bdi> that {kind === 'again' ? 'bounced are sent again' : 'are held go on'}.
      </Verb>
    ))}
  </div>
)

const acting =
  (kind: Kind) =>
  async (visit: Visit, form: Form): Promise<FormDone> => {
    const slug = chosenWorkspace(visit, await workspacesOf(visit))
    const { id } = await order(visit, slug, form.raw('address'), kind, { reason: form.text('reason') })
    return { to: visit.link(`/jobs/${id}`), notice: 'It goes on by itself; this page may be closed.' }
  }

const leftActions = Object.fromEntries(KINDS.map((kind) => [kind.kind, does(kind.does, acting(kind))]))

const ORIGINS = [
  [null, 'All'],
  ['bounce', 'Bounced'],
  ['soft_bounce', 'Bounced softly, often'],
  ['complaint', 'Complained'],
  ['unsubscribe', 'Unsubscribed'],
  ['manual', 'By hand'],
  ['import', 'Imported'],
] as const

const originText = (origin: string): string =>
  ORIGINS.find(([one]) => one === origin)?.[1].toLowerCase() ?? origin

const whoIs = (email: string): string =>
  email.startsWith('*@') ? `All of ${email.slice(2)} is` : `${email} is`

const isWide = (visit: Visit): boolean => visit.query('scope') === 'account'

const listQuery = (visit: Visit): AskQuery => ({
  origin: visit.query('origin'),
  list: visit.query('list'),
  scope: isWide(visit) ? 'account' : null,
})

const columns = (visit: Visit): readonly TableColumn<Suppression>[] => [
  col('Address', (row) => Address({ text: row.email })),
  col('For', 'opt', ({ list }) =>
    list === undefined
      ? 'all mail'
      : html`<a href="${visit.here({ list, address: null, cursor: null })}">${list}</a>`,
  ),
  col('Because', (row) => originText(row.origin)),
  col('Reason', 'grow', ({ origin, reason, source_id: source }) => {
    const words = reason === undefined ? null : reasonWords(reason)
    const look = origin === 'manual' || words !== null ? 'say' : 'reply clamp'
    const why = reason !== undefined && html`<span class="${look}" dir="auto">${words ?? reason}</span>`
    const told = source?.startsWith('em_')
      ? html`<a class="sub" href="${visit.link(`/emails/${source}`)}">the mail that told</a>`
      : null
    return html`${why}${told}`
  }),
  col('Since', (row) => Time({ at: row.created_at })),
  col('Ends', 'opt', (row) => Time({ at: row.expires_at })),
  {
    does: 'removeSuppression',
    head: '',
    kind: 'act',
    cell: ({ email, list }) =>
      Verb({
        ...{ action: 'remove', label: 'Remove', tiny: true },
        about: { email, ...(list !== undefined && { list }) },
        children: `${whoIs(email)} written to again. What was suppressed meanwhile was not kept: send it again from its page.`,
      }),
  },
]

const Find = ({ visit }: { readonly visit: Visit }) => (
  <div class="filters">
    <Filters
      path="/suppressions"
      does="Look"
      keep={{ workspace: visit.scope.workspace }}
      label="Suppressed addresses"
    >
      <Word
        name="address"
        label="Is this address on the list?"
        placeholder="ana@example.com, *@example.com"
      />
      <Word name="list" label="Of mailing list" placeholder="news" />
    </Filters>
    <Choices
      label="Because"
      options={ORIGINS.map(([origin, text]) => ({
        href: visit.here({ origin, address: null }),
        text,
        on: origin === visit.query('origin'),
      }))}
    />
    <Choices
      label="List"
      options={[
        { href: visit.here({ scope: null, address: null }), text: 'This workspace', on: !isWide(visit) },
        { href: visit.here({ scope: 'account', address: null }), text: 'Every workspace', on: isWide(visit) },
      ]}
    />
  </div>
)

const Add = ({ visit }: { readonly visit: Visit }) => {
  return (
    <Section title="Add addresses" id="add">
      <ActionForm action="add">
        <Field
          name="emails"
          label="Addresses"
          rows={3}
          required
          hint="One a line, or with commas; at most 100. *@example.com is a whole domain."
        />
        <Field name="reason" label="Reason" maxLength={500} hint="Stands in the list." />
        <Field
          name="list"
          label="Mailing list"
          maxLength={64}
          hint="Only mail of this list; empty: all mail."
          value={visit.query('list') ?? ''}
        />
        <ForWhom wide={isWide(visit)} />
        <Send>Write to them no more</Send>
      </ActionForm>
    </Section>
  )
}

const Many = ({ visit, slug }: { visit: Visit; slug: string }) => (
  <Section title="A whole list" says="CSV, also in the words of other providers">
    {visit.may('addSuppression') ? <ImportForm wide={isWide(visit)} /> : null}
    <p>On the server each line keeps its own reason and its end:</p>
    <div class="codes">
      <Code label="In" text={`postern import list.csv --workspace ${slug}`} />
      <Code label="Out" text={`postern suppression export --workspace ${slug} > list.csv`} />
    </div>
  </Section>
)

interface NotListedProps {
  readonly visit: Visit
  readonly address: string
  readonly slug: string
  readonly left: Left
}

const NotListed = ({ visit, address, slug, left }: NotListedProps) => (
  <Empty title={`${address} is not on the list`}>
    <p>
      {slug} writes to it. <a href={visit.link('/emails', { q: `to:${address}` })}>Mails to it</a>
    </p>
    <LeftVerbs {...{ address, left }} />
  </Empty>
)

const MOST_NAMED = 5

interface WhichListProps {
  readonly visit: Visit
  readonly workspaces: readonly ShownWorkspace[]
  readonly slug: string
}

const WhichList = ({ visit, workspaces, slug }: WhichListProps) => {
  const others = workspaces.filter((one) => one.slug !== slug)
  return (
    <>
      Each workspace has a list of its own; this is that of {slug}.{' '}
      {others.length > MOST_NAMED ? (
        'Choose another workspace on top.'
      ) : (
        <>
          The others:{' '}
          {others.map((one, n) => (
            <>
              {n === 0 ? '' : ', '}
              <a href={visit.inWorkspace(one.slug)}>{one.slug}</a>
            </>
          ))}
          .
        </>
      )}
    </>
  )
}

const entryPath = (address: string, list: string | null): string =>
  `/v1/suppressions/${encodeURIComponent(address)}${list === null ? '' : `?list=${encodeURIComponent(list)}`}`

const rowsOf = async (visit: Visit, slug: string): Promise<ListPage<Suppression> | Suppression | null> => {
  const address = visit.query('address')
  if (address !== null) return visit.find<Suppression>(entryPath(address, visit.query('list')), within(slug))
  return visit.ask<ListPage<Suppression>>('GET', '/v1/suppressions', {
    ...within(slug),
    query: { ...listQuery(visit), cursor: visit.query('cursor'), limit: 50 },
  })
}

const titleOf = (visit: Visit, slug: string, found: readonly Suppression[]): string => {
  const address = visit.query('address')
  const [one] = found
  const list = visit.query('list')
  if (address === null && list !== null)
    return found.length === 0 ? `Nobody unsubscribed from ${list}.` : `These get no mail of the list ${list}.`
  if (address === null && found.length === 0)
    return isWide(visit)
      ? 'No address is suppressed for every workspace.'
      : `No address is suppressed in ${slug}.`
  if (address === null)
    return isWide(visit) ? 'No workspace writes to these.' : `${slug} does not write to these.`
  if (one === undefined) return `${address} is not suppressed.`
  if (one.status === 'pending') return `${one.email} is not suppressed: somebody must decide.`
  const wide = one.scope === 'account' ? ' for every workspace' : ''
  const isByDomain = one.email.startsWith('*@') && !address.startsWith('*@')
  if (one.list !== undefined) return `${one.email} gets no mail of the list ${one.list}.`
  return isByDomain && address.includes('@')
    ? `${address} is suppressed${wide} with its whole domain.`
    : `${one.email} is suppressed${wide}.`
}

/** Mistakes of single addresses, as one of the field that they were typed into. */
const byLine = async <T,>(asking: Promise<T>): Promise<T> => {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof AskError) || !error.problem.errors) throw error
    const lines = wrongItems(error)
    if (lines.length === 0) throw error
    const which = lines.map((n) => n + 1).join(', ')
    throw mistake(
      'emails',
      `${lines.length === 1 ? `line ${which} is no address` : `lines ${which} are no addresses`}`,
    )
  }
}

const add = async (visit: Visit, form: Form): Promise<FormDone> => {
  const slug = chosenWorkspace(visit, await workspacesOf(visit))
  const emails = form.list('emails')
  const body = { emails, reason: form.text('reason'), list: form.text('list'), scope: form.text('scope') }
  const asking = visit.ask<{ data: readonly Suppression[] }>('POST', '/v1/suppressions/batch/add', {
    ...within(slug),
    body,
  })
  const { data } = await byLine(asking)
  const [one] = data
  return {
    to: visit.link('/suppressions', {
      scope: form.text('scope') === 'account' ? 'account' : null,
      address: data.length === 1 ? one?.email : null,
      list: one?.list ?? null,
    }),
    notice:
      data.length === 1
        ? `${whoIs(one?.email ?? '')} written to no more.`
        : `${data.length} addresses are on the list.`,
  }
}

export const suppressionsExport: RawRoute = {
  path: '/suppressions/export',
  answer: async (visit) =>
    exported(visit, '/v1/suppressions', {
      ...within(chosenWorkspace(visit, await workspacesOf(visit))),
      query: listQuery(visit),
    }),
}

export const suppressionsPage: SitePage = {
  path: '/suppressions',
  async view(visit) {
    const workspaces = await workspacesOf(visit)
    const slug = chosenWorkspace(visit, workspaces)
    const [found, incidents] = await Promise.all([rowsOf(visit, slug), openIncidents(visit, within(slug))])
    const list = found !== null && 'data' in found ? found : null
    const rows = list?.data ?? (found === null ? [] : [found as Suppression])
    const address = visit.query('address')
    const left = found === null ? await leftOf(visit, slug, address) : {}
    const says =
      visit.scope.workspace === null && workspaces.length > 1 ? (
        <WhichList {...{ visit, workspaces, slug }} />
      ) : (
        'After a hard bounce, after a complaint, by hand or by import. Live mail to them is refused at once.'
      )
    return titled(
      'Suppressions',
      <>
        <Head title={titleOf(visit, slug, rows)} says={says} />
        <Incidents {...{ visit, incidents }} />
        <Find visit={visit} />
        <section>
          {rows.length > 0 ? (
            <Table caption="Suppressed addresses, newest first" rows={rows} columns={columns(visit)} />
          ) : address === null ? (
            <Empty title="The list is empty">
              <p>An address comes here by itself when it bounces for good or its owner calls a mail spam.</p>
            </Empty>
          ) : (
            <NotListed {...{ visit, address, slug, left }} />
          )}
          {list === null ? null : (
            <footer class="foot">
              <ExportLinks path="/suppressions/export" />
              <Pager list={list} />
            </footer>
          )}
        </section>
        {visit.may('addSuppression') ? <Add {...{ visit }} /> : null}
        <Many {...{ visit, slug }} />
      </>,
    )
  },
  actions: {
    add: does('addSuppression', add),
    import: does('addSuppressions', importList),
    remove: does('removeSuppression', async (visit, form) => {
      const slug = chosenWorkspace(visit, await workspacesOf(visit))
      const email = form.raw('email')
      const list = form.text('list')
      const { still } = await visit.ask<{ readonly still?: Suppression }>('DELETE', entryPath(email, list), {
        ...within(slug),
        body: { reason: form.text('reason') },
      })
      const notice =
        still === undefined
          ? `${whoIs(email)} written to again.`
          : `${email} is off this list, but ${still.email}${still.scope === 'account' ? ', for every workspace,' : ''} still suppresses it.`
      return { to: visit.link('/suppressions', { address: email, list }), notice }
    }),
    ...incidentActions,
    ...leftActions,
  },
}
