/**
 * NAME      domains - the domains whose mail is signed; one of them: its DNS records, and what receivers reported
 *   Name and value of each record stand apart, since the forms of DNS providers ask for them apart. What DNS says is
 *   known after a check, which is a button: looking at a page asks nobody outside. A report may come from somebody else
 *   than it says, and the page says so.
 */
import type {
  CheckedRecord,
  Domain as DomainRecord,
  DnsRecord as Published,
  reportSummaryRecord,
} from '../../../resource/domain.js'
import { ActionForm, Field, Send, Verb } from '../../parts/form.js'
import {
  Code,
  Empty,
  Facts,
  Head,
  ManagedMark,
  ManagedNote,
  Note,
  Reply,
  Section,
} from '../../parts/page-parts.js'
import { Icon, SHAPES, State } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { figure, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type SitePage, titled, type View, type Visit } from '../../visit.js'

/** What was seen is told of a check just now only. */
type DnsRecord = Published & Partial<CheckedRecord>
type Domain = Omit<DomainRecord, 'records'> & { readonly records: readonly DnsRecord[] }

interface Standing {
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly title: string
  readonly says: string
}

const needed = ({ records }: Domain) => records.filter(({ state }) => state === 'active')

const stateOf = (row: Domain): Standing => {
  const fresh = row.keys.some(({ state }) => state === 'next')
  const lost = needed(row).filter(({ seen }) => seen === 'missing' || seen === 'different').length
  const deaf = row.records.some(({ seen }) => seen === 'unknown')
  if (deaf)
    return {
      tone: 'wait',
      title: 'A name server did not answer.',
      says: 'That proves nothing: what was verified stays so. Check again later.',
    }
  if (row.verified)
    return fresh
      ? {
          tone: 'wait',
          title: 'Signed and verified; new keys wait to be published.',
          says: 'Publish the records of the new keys beside the old ones, then check: they sign once they are found.',
        }
      : { tone: 'ok', title: 'Signed and verified.', says: 'Every active key was found in DNS.' }
  if (row.checked_at === null)
    return {
      tone: 'wait',
      title: 'Signed, and not checked yet.',
      says: 'Publish the records below, then check. Until then receivers cannot verify the signatures.',
    }
  return {
    tone: 'bad',
    title: lost === 1 ? 'One record is not as it should be.' : 'Not verified: its keys are not found in DNS.',
    says: 'Receivers cannot verify the signatures. A new record may take as long as the old one was allowed to be kept.',
  }
}

type Summary = ReturnType<typeof reportSummaryRecord>
type Source = Summary['sources'][number]

const ORIGINS = {
  ours: ['ok', 'Yours'],
  signed: ['ok', 'Signed by you'],
  unknown: ['', 'Unknown'],
} as const

const share = (part: number, of: number): string =>
  of === 0 ? figure(part) : `${figure(part)} (${((part * 100) / of).toFixed(1)} %)`

const SOURCES: readonly TableColumn<Source>[] = [
  col('Source', 'grow', ({ address }) => (address === null ? 'All others' : <code>{address}</code>)),
  col('Whose', 'fit', ({ origin }) => {
    const [tone, text] = ORIGINS[origin]
    return <State tone={tone}>{text}</State>
  }),
  col('Mails', 'num', ({ messages }) => figure(messages)),
  col('Passed DKIM', 'num', ({ dkim }) => figure(dkim)),
  col('Passed SPF', 'num', ({ spf }) => figure(spf)),
  col('Failed', 'num', ({ failed, messages }) => share(failed, messages)),
]

const REPORTERS: readonly TableColumn<Summary['reporters'][number]>[] = [
  col('As reported by', 'grow', ({ reporter }) => <Reply text={reporter} />),
  col('About', 'fit', ({ kind }) => (kind === 'dmarc' ? 'mail' : 'TLS')),
  col('Reports', 'num', ({ reports }) => figure(reports)),
  col('Mails or sessions', 'num', ({ total }) => figure(total)),
  col('Failed', 'num', ({ failed, total }) => share(failed, total)),
]

const FAILURES: readonly TableColumn<Summary['tls']['failures'][number]>[] = [
  col('What failed', 'grow', ({ type }) => <Reply text={type} />),
  col('At', 'name', ({ mx }) => mx ?? ''),
  col('Sessions', 'num', ({ sessions }) => figure(sessions)),
]

/** From how much of the own mail failing on somebody should look. */
const MUCH = 0.05

const None = ({ domain }: { readonly domain: string }) => (
  <Section title="What receivers report" says="nothing yet">
    <p>
      Large receivers report once a day who sent mail with {domain} in From, and whether its connections are
      safe. The records above ask them to, at addresses that are read here.
    </p>
  </Section>
)

const Reports = ({ summary }: { readonly summary: Summary }) => {
  const { mail, own, tls, policy, reports, sources, reporters } = summary
  if (reports === 0) return <None domain={summary.domain} />
  return (
    <>
      <Section title="What receivers report" says={`${figure(reports)} reports of the last 30 days`}>
        <p class="soft">
          Nothing proves who wrote a report: this is what reporters say.
          {summary.cut ? ' There are more; the newest thousand are counted.' : ''}
        </p>
        {own.failed > own.messages * MUCH ? (
          <Note tone="bad" icon="alarm">
            <p>
              <strong>{share(own.failed, own.messages)} of your own mails failed DMARC.</strong> Look whether
              the records above are found, and whether an upstream changes what it sends.
            </p>
          </Note>
        ) : null}
        <Facts
          facts={[
            ['Mails', figure(mail.messages)],
            ['Passed', share(mail.passed, mail.messages)],
            ['Failed', share(mail.failed, mail.messages)],
            ['Your own', `${figure(own.messages)}, failed ${share(own.failed, own.messages)}`],
            ['Quarantined, rejected', `${figure(mail.quarantined)}, ${figure(mail.rejected)}`],
            ['Policy as found', policy === null ? 'none' : <Reply text={policy} />],
            ['TLS', `${figure(tls.sessions)} sessions, failed ${share(tls.failed, tls.sessions)}`],
          ]}
        />
      </Section>
      {sources.length > 0 ? (
        <Section title="Who sent mail of the domain" says="by address">
          <Table columns={SOURCES} rows={sources} caption="Sources of mail" />
        </Section>
      ) : null}
      <Section title="Who reported">
        <Table columns={REPORTERS} rows={reporters} caption="Who reported" />
      </Section>
      {tls.failures.length > 0 ? (
        <Section title="Connections that failed">
          <Table columns={FAILURES} rows={tls.failures} caption="Connections that failed" />
        </Section>
      ) : null}
    </>
  )
}

const SEEN = {
  ok: ['ok', 'Found'],
  missing: ['bad', 'Missing'],
  different: ['bad', 'Different'],
  unknown: ['wait', 'No answer'],
} as const

const KEY_STATES = {
  active: 'signs now',
  next: 'signs once it is found in DNS',
  retired: 'signs no more; stays while its mail is under way',
} as const

/** With the records that only ask for reports. */
type Shown = Omit<DnsRecord, 'purpose'> & { readonly purpose: DnsRecord['purpose'] | 'reports' }

/** The record for DMARC also says where reports go; the others stand behind it. */
const shownOf = (row: Domain, { publish }: Summary): readonly Shown[] => {
  const asks = (name: string) => publish.find((one) => one.name === name)
  return [
    ...row.records.map((record) => ({ ...record, value: asks(record.name)?.value ?? record.value })),
    ...publish
      .filter(({ name }) => row.records.every((record) => record.name !== name))
      .map((record) => ({ ...record, purpose: 'reports' as const, state: null })),
  ]
}

const aboutOf = ({ purpose, state, name }: Shown): string =>
  purpose === 'dmarc'
    ? 'DMARC: what receivers do with mail that fails, and where they report it. Advised; p=none only watches.'
    : purpose === 'reports'
      ? name.startsWith('_smtp.')
        ? 'Asks for reports about TLS, where the domain also receives mail. Advised.'
        : 'Says that reports about the domain may come here. Wanted with the record for DMARC above.'
      : `DKIM key: ${state === null ? '' : KEY_STATES[state]}.`

const Seen = ({ record }: { readonly record: Shown }) => {
  if (record.seen === undefined) return null
  const missingIsFine = record.state === null || record.state === 'retired'
  const [tone, text] = SEEN[record.seen]
  return <State tone={missingIsFine && record.seen === 'missing' ? '' : tone}>{text}</State>
}

const Record = ({ record }: { readonly record: Shown }) => (
  <article class="record">
    <h3>
      {record.type} <code>{record.name}</code> <Seen record={record} />
    </h3>
    <p class="soft">{aboutOf(record)}</p>
    <div class="codes">
      <Code label="Name" text={record.name} />
      <Code label="Value" text={record.value} />
    </div>
    {record.found == null ? null : (
      <p>
        DNS says instead:
        <Reply text={record.found} />
      </p>
    )}
  </article>
)

interface Installation {
  readonly hostname: string
  readonly bounce_domain: string
}

/** SPF is about the return path, whose domain is the installation's; only the upstreams' owner knows their addresses. */
const Others = ({ name, at }: { readonly name: string; readonly at: Installation }) => (
  <Section title="SPF and the return path" says={`of ${at.bounce_domain}, once for all domains`}>
    <p>
      Bounces come back to <code>{at.bounce_domain}</code>, which stands in the return path of each mail, and
      SPF is checked there. Its SPF record names the addresses from which your upstreams send: put yours in
      the place of the example. <code>postern doctor</code> on the server looks whether both are there. For
      DMARC of {name} the signature above is enough.
    </p>
    <div class="codes">
      <Code label="TXT, name" text={at.bounce_domain} />
      <Code label="TXT, value, with your addresses" text="v=spf1 ip4:203.0.113.24 -all" />
      <Code label="MX, name" text={at.bounce_domain} />
      <Code label="MX, value" text={`10 ${at.hostname}.`} />
    </div>
  </Section>
)

const Acts = ({ row }: { row: Domain }) => (
  <>
    <Verb
      action="check"
      label={row.checked_at === null ? 'Check' : 'Check again'}
      reason="none"
      does="Check now"
    >
      Asks DNS for each record. Keys that wait begin to sign when all of them are found.
    </Verb>
    <Verb action="rotate" label="New keys" reason="none" does="Make new keys">
      Makes new keys beside the present ones. They sign once a check finds them in DNS; until then nothing
      changes.
    </Verb>
    <Verb action="delete" label="Delete" reason="none" harm>
      Mail of {row.name} leaves unsigned from now on, and its keys are gone for good.
    </Verb>
  </>
)

const viewOf = async (visit: Visit, row: Domain): Promise<View> => {
  const [at, reports] = await Promise.all([
    visit.ask<Installation>('GET', '/v1/installation'),
    visit.ask<Summary>('GET', `/v1/domains/${row.id}/reports/summary`),
  ])
  const { tone, title, says } = stateOf(row)
  return titled(
    row.name,
    <>
      <Head
        crumb={['/domains', 'Domains', row.name]}
        title={title}
        says={`${row.name}: ${says}`}
        actions={visit.may('rotateDomain') ? <Acts {...{ row }} /> : undefined}
      />
      {tone === 'bad' ? (
        <Note tone="bad" icon="alarm">
          <p>
            <strong>Mail of {row.name} is signed with keys that nobody finds.</strong> Publish the records
            below.
          </p>
        </Note>
      ) : null}
      <ManagedNote row={row} />
      <Section title="Records to publish" says="as they should stand in DNS">
        {shownOf(row, reports).map((record) => (
          <Record record={record} />
        ))}
      </Section>
      <Others name={row.name} at={at} />
      <Reports summary={reports} />
      <Section title="Facts">
        <Facts
          facts={[
            ['Verified', <Time at={row.verified_at} none="no" />],
            ['Checked', <Time at={row.checked_at} />],
            ['For', row.workspace_id === null ? 'every workspace' : <code>{row.workspace_id}</code>],
            ['Id', <code>{row.id}</code>],
          ]}
        />
      </Section>
    </>,
  )
}

const pathOf = (visit: Visit): string => `/v1/domains/${encodeURIComponent(visit.params.name ?? '')}`

const domainPage: SitePage = {
  path: '/domains/{name}',
  view: async (visit) => viewOf(visit, await visit.ask<Domain>('GET', pathOf(visit))),
  actions: {
    check: does('checkDomain', async (visit) => {
      const row = await visit.ask<Domain>('POST', `${pathOf(visit)}/check`, { body: {} })
      return { view: await viewOf(visit, row) }
    }),
    rotate: does('rotateDomain', async (visit) => {
      const row = await visit.ask<Domain>('POST', `${pathOf(visit)}/rotate`, { body: {} })
      return {
        to: visit.link(`/domains/${row.name}`),
        notice: 'New keys are made. Publish their records beside the old ones, then check.',
      }
    }),
    delete: does('deleteDomain', async (visit) => {
      await visit.ask('DELETE', pathOf(visit))
      return {
        to: visit.link('/domains'),
        notice: `${visit.params.name} is deleted: its mail leaves unsigned.`,
      }
    }),
  },
}

const titleOf = (rows: readonly Domain[]): string => {
  const open = rows.filter(({ verified }) => !verified).length
  if (rows.length === 0) return 'No domain is signed yet.'
  if (open === 0)
    return rows.length === 1
      ? 'The domain is signed and verified.'
      : `All ${rows.length} domains are verified.`
  return open === 1 ? 'One domain is not verified.' : `${open} domains are not verified.`
}

const COLUMNS: readonly TableColumn<Domain>[] = [
  col('Domain', (row) => html`${row.name}${ManagedMark({ row })}`),
  col('State', 'grow', (row) => {
    const { tone, title } = stateOf(row)
    return html`<span class="say">${Icon({ name: SHAPES[tone], tone })} ${title}</span>`
  }),
  col('Signs with', 'opt', (row) =>
    row.keys
      .filter(({ state }) => state === 'active')
      .map(({ algorithm }) => algorithm)
      .join(' and '),
  ),
  col('Checked', (row) => Time({ at: row.checked_at })),
]

const Add = ({ visit }: { readonly visit: Visit }) => (
  <Section title="Add a domain">
    <ActionForm action="add">
      <Field
        name="name"
        label="Domain"
        required
        maxLength={255}
        placeholder="shop.example"
        hint={
          visit.scope.workspace === null
            ? 'For every workspace; choose one on top to keep it to that.'
            : `For the workspace ${visit.scope.workspace} alone.`
        }
      />
      <Send>Add it</Send>
    </ActionForm>
  </Section>
)

const domainsPage: SitePage = {
  path: '/domains',
  async view(visit) {
    const list = await visit.ask<ListPage<Domain>>('GET', '/v1/domains', {
      query: { limit: 100, cursor: visit.query('cursor') },
    })
    return titled(
      'Domains',
      <>
        <Head
          title={titleOf(list.data)}
          says="Mail whose From is of such a domain is signed with its keys (DKIM), so that receivers know it is yours."
        />
        <Table
          caption="Domains, newest first"
          rows={list.data}
          href={(row) => visit.link(`/domains/${row.name}`)}
          columns={COLUMNS}
          none={
            <Empty title="Mail leaves unsigned">
              <p>
                Name a domain below, publish the records that its page shows, and let them be checked. Or on
                the server:
              </p>
              <Code text="postern domain add shop.example" />
            </Empty>
          }
        />
        <Pager list={list} />
        {visit.may('createDomain') ? <Add visit={visit} /> : null}
      </>,
    )
  },
  actions: {
    add: does('createDomain', async (visit, form) => {
      const { name } = await visit.ask<Domain>('POST', '/v1/domains', { body: { name: form.text('name') } })
      return { to: visit.link(`/domains/${name}`), notice: `${name} is added. Now publish its records.` }
    }),
  },
}

export const domainPages: readonly SitePage[] = [domainsPage, domainPage]
