/**
 * NAME      domains - the domains whose mail is signed
 */

import { ActionForm, Field, Send } from '../../parts/form.js'
import { Code, Empty, Head, ManagedMark, Section } from '../../parts/page-parts.js'
import { Icon, SHAPES } from '../../parts/status.js'
import { type Column, type List, Pager, Table } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Page, Visit } from '../../visit.js'
import { type Domain, stateOf } from './state.js'

const titleOf = (rows: readonly Domain[]): string => {
  const open = rows.filter(({ verified }) => !verified).length
  if (rows.length === 0) return 'No domain is signed yet.'
  if (open === 0)
    return rows.length === 1
      ? 'The domain is signed and verified.'
      : `All ${rows.length} domains are verified.`
  return open === 1 ? 'One domain is not verified.' : `${open} domains are not verified.`
}

const COLUMNS: readonly Column<Domain>[] = [
  { head: 'Domain', cell: (row) => html`${row.name}${ManagedMark({ row })}` },
  {
    head: 'State',
    kind: 'grow',
    cell: (row) => {
      const { tone, title } = stateOf(row)
      return html`<span class="say">${Icon({ name: SHAPES[tone], tone })} ${title}</span>`
    },
  },
  {
    head: 'Signs with',
    kind: 'opt',
    cell: (row) =>
      row.keys
        .filter(({ state }) => state === 'active')
        .map(({ algorithm }) => algorithm)
        .join(' and '),
  },
  { head: 'Checked', cell: (row) => Time({ at: row.checked_at }) },
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

export const domainsPage: Page = {
  path: '/domains',
  async view(visit) {
    const list = await visit.ask<List<Domain>>('GET', '/v1/domains', {
      query: { limit: 100, cursor: visit.query('cursor') },
    })
    return {
      title: 'Domains',
      body: (
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
        </>
      ),
    }
  },
  does: { add: 'createDomain' },
  actions: {
    async add(visit, form) {
      const { name } = await visit.ask<Domain>('POST', '/v1/domains', { body: { name: form.text('name') } })
      return { to: visit.link(`/domains/${name}`), notice: `${name} is added. Now publish its records.` }
    },
  },
}
