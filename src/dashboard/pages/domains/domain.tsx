/**
 * NAME      domain - one sending domain: what DNS should say, and what it says
 * DESCRIPTION
 *   Name and value of each record stand apart, since the forms of DNS providers ask for them apart. What DNS says is
 *   known after a check, which is a button: looking at a page asks nobody outside.
 */

import { Verb } from '../../parts/form.js'
import { Code, Facts, Head, ManagedNote, Note, Reply, Section } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { Time } from '../../parts/text.js'
import type { Page, View, Visit } from '../../visit.js'
import { Reports, type Summary } from './reports.js'
import { type DnsRecord, type Domain, stateOf } from './state.js'

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
  return {
    title: row.name,
    body: (
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
      </>
    ),
  }
}

const pathOf = (visit: Visit): string => `/v1/domains/${encodeURIComponent(visit.params.name ?? '')}`

export const domainPage: Page = {
  path: '/domains/{name}',
  view: async (visit) => viewOf(visit, await visit.ask<Domain>('GET', pathOf(visit))),
  does: { check: 'checkDomain', rotate: 'rotateDomain', delete: 'deleteDomain' },
  actions: {
    async check(visit) {
      const row = await visit.ask<Domain>('POST', `${pathOf(visit)}/check`, { body: {} })
      return { view: await viewOf(visit, row) }
    },
    async rotate(visit) {
      const row = await visit.ask<Domain>('POST', `${pathOf(visit)}/rotate`, { body: {} })
      return {
        to: visit.link(`/domains/${row.name}`),
        notice: 'New keys are made. Publish their records beside the old ones, then check.',
      }
    },
    async delete(visit) {
      await visit.ask('DELETE', pathOf(visit))
      return {
        to: visit.link('/domains'),
        notice: `${visit.params.name} is deleted: its mail leaves unsigned.`,
      }
    },
  },
}
